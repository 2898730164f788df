"""What may not grow faster than the ranks: entries that are kept, members of groups, walks through the graph."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import parsers
from forensics.analyze import conclude_evidence
from forensics.facts.waits.records import groups_of, one_dump_per_rank
from forensics.graph.hang.roots import walk
from forensics.model.incident import Verdict
from forensics.verdict.judged import explain
from parsers.pytorch import flight_recorder
from parsers.schema.evidence import Evidence
from parsers.schema.merging import merge
from parsers.schema.newest import Newest
from parsers.schema.tables import Tables
from samples.simulator import KINDS, Fault, Job, Noise, simulate
from samples.simulator.faults import Kind
from tests.flight_dumps import dump, entry, pickled

DONE = {"state": "completed", "retired": True}


def cut(tables: Tables, rows: int, least: int) -> Tables:
    """The tables of a bundle of which only the newest entries of each record are kept."""
    newest = Newest(rows, least)
    newest.add(tables)
    return merge([*newest.parts, *newest.left_out()])


def kept(folder: Path, entries: list[dict[str, Any]]) -> list[int]:
    (folder / "nccl_trace_rank_0").write_bytes(pickled(dump(entries)))
    (folder / "nccl_trace_rank_1").write_bytes(pickled(dump(entries)))
    tables = cut(parsers.read(str(folder)).tables, 8, 4)
    assert [reason.split(" entries")[0] for reason in tables["unread"]["reason"]] in ([], [f"of {2 * len(entries)}"])
    each = tables["operations"].group_by("rank", maintain_order=True).agg("record")["record"].to_list()
    assert each[0] == each[1]
    return list(each[0])


KEPT = {
    "the first and the newest": (lambda at: DONE, [0, 16, 17, 18, 19]),
    "what is open, however old": (lambda at: DONE if at != 7 else {}, [0, 7, 16, 17, 18, 19]),
    "retired and never completed": (lambda at: DONE if at != 7 else {"retired": True}, [0, 7, 16, 17, 18, 19]),
    "ends of what came early": (
        lambda at: {**DONE, "pg_id": 2 if at in (3, 5, 8) else 1}, [0, 3, 8, 16, 17, 18, 19],
    ),
    "a batch of transfers as a whole": (
        lambda at: {"is_p2p": True, "p2p_seq_id": at // 3, **(
            {"profiling_name": "nccl:coalesced", **DONE} if at % 3 == 2 else {"profiling_name": f"nccl:send 0->{at % 3}"}
        )} if at < 6 else DONE, [0, 1, 2, 3, 4, 5, 6, 16, 17, 18, 19],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "records"), KEPT.values(), ids=KEPT.keys())
def test_what_is_kept(change: Any, records: list[int], tmp_path: Path) -> None:
    assert kept(tmp_path, [entry(at, **change(at)) for at in range(20)]) == records


def test_few_are_all_kept(tmp_path: Path) -> None:
    assert kept(tmp_path, [entry(at, **DONE) for at in range(4)]) == [0, 1, 2, 3]


def verdict_of(tables: Tables) -> Verdict:
    report = conclude_evidence(Evidence("simulated", tables))
    return report.incidents[report.primary].verdict


@pytest.mark.parametrize("records_alone", [True, False], ids=["records alone", "with stacks and logs"])
@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"none", "store_timeout"}))
def test_the_newest_entries_accuse_nobody_else(kind: Kind, records_alone: bool) -> None:
    """The verdict by a few of each record is the one by all, or names nobody. Records that are cut so short that the
    programs of the ranks cannot be compared are the worst case."""
    lost = 1.0 if records_alone else 0.0
    noise = Noise(lost_stacks=lost, lost_logs=lost)
    job = Job(tp=2, pp=2, dp=4 if kind == "network_fault" else 2)  # that takes two hosts
    tables = simulate(job, Fault(kind), 4, noise).evidence()
    whole = verdict_of(tables)
    for least in (2, 24):
        fewer = cut(tables, 1, least)
        assert fewer["operations"].height < tables["operations"].height
        verdict = verdict_of(fewer)
        named = (verdict.ranks, verdict.cycle, verdict.hosts)
        assert named in ((whole.ranks, whole.cycle, whole.hosts), ([], [], [])), least


def test_one_of_many_ranks_spells_out_a_long_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the others' records the group is the same; where a name stands for two memberships, each says its own."""
    monkeypatch.setattr(flight_recorder, "LONG", 2)
    for rank in range(4):
        config = {
            "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
            "1": {"name": "1", "desc": "half", "ranks": "[0, 1, 3]" if rank % 2 else "[0, 1, 2]"},
        }
        entries = [entry(at, process_group=("01"[at % 2], "default_pg" if at % 2 == 0 else "half")) for at in range(4)]
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(pickled(dump(entries, pg_config=config)))
    tables = parsers.read(str(tmp_path)).tables
    told = tables["groups"].sort("desc", "rank").select("members", "size").rows()
    assert told[:4] == [([0, 1, 2, 3], 4), (None, 4), (None, 4), (None, 4)]
    assert [members for members, _ in told[4:]] == [[0, 1, 2], [0, 1, 3]] * 2
    groups, of = groups_of(tables, one_dump_per_rank(tables)[0], frozenset(range(4)))
    world = groups.filter(pl.col("desc") == "default_pg")
    assert world["members"].to_list() == [[0, 1, 2, 3]] and world["whole"].all()
    assert sorted(of.filter(pl.col("gid") == world["gid"][0])["rank"]) == [0, 1, 2, 3]


def test_what_explains_a_wait_takes_a_walk_per_finding_and_none_per_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[int] = []

    def counted(*of: Any) -> Any:
        walks.append(1)
        return walk(*of)

    monkeypatch.setattr(explain, "walk", counted)
    incident = simulate(Job(tp=2, pp=2, dp=4), Fault("rank_absent", site="data_loading"), seed=7)
    report = conclude_evidence(Evidence("simulated", incident.evidence()))
    waits = [one for one in report.incidents[report.primary].symptoms if one.kind == "waiting"]
    assert report.verdict.ranks and len(waits) > 4
    assert len(walks) <= 2 * len(report.findings) + 1
