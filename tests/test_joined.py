"""What every node of a job has parsed on its own, put together, is what one reading of all of it says."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import parsers
from forensics.analyze import analyze
from forensics.cli import cli
from reports import json as document

SAMPLES = Path(__file__).resolve().parent.parent / "samples"


def nodes(sample: str, folder: Path) -> list[Path]:
    """The files of a sample, every second one on another node."""
    bundle = SAMPLES / sample / "bundle"
    for number, file in enumerate(sorted(path for path in bundle.rglob("*") if path.is_file())):
        target = folder / f"node{number % 2}" / file.relative_to(bundle)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return [folder / "node0", folder / "node1"]


@pytest.mark.parametrize("sample", ["data_loader_stall", "order_inversion", "rank_killed", "launcher_torchrun_killed"])
@pytest.mark.parametrize("order", [1, -1])
def test_nodes_that_parse_their_own_files(sample: str, order: int, tmp_path: Path) -> None:
    whole = tmp_path / "job"
    parts = nodes(sample, whole)
    kept = []
    for part in parts:
        kept.append(str(tmp_path / f"kept-{part.name}"))
        assert CliRunner().invoke(cli, ["parse", str(part), "--out", kept[-1], "--year", "2026"]).exit_code == 0
    found = CliRunner().invoke(cli, ["analyze", *kept[::order], "--json", "-"])
    expected = json.loads(document.render(analyze(whole)))
    expected["bundle"]["name"] = "node0, node1"
    assert json.loads(found.output) == expected


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent / "logs").mkdir(parents=True)
        (tmp_path / parent / "logs" / "rank_0.log").write_text("[rank0]: ValueError: boom\n")
    with pytest.raises(parsers.BundleError, match="2 of the bundles are called logs"):
        analyze(tmp_path / "a" / "logs", tmp_path / "b" / "logs")
    found = CliRunner().invoke(cli, ["analyze", str(tmp_path / "a" / "logs"), str(tmp_path / "b" / "logs")])
    assert found.exit_code == 3 and "called logs" in found.output
