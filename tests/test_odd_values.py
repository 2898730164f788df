"""One rank alone loses a figure before the others do: it is named in every form; what nobody follows, or not all show, names nobody."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze

RANKS, STEPS, FIRST, ODD = 4, 12, 7, 2
Bad = Callable[[int, int], bool]  # rank, step
LAYOUT = "world 4 dp 4, every rank a replica\n"


def spreads(rank: int, step: int) -> bool:
    return step > FIRST or (step == FIRST and rank == ODD)


def _number(rank: int, step: int, scale: float = 1.0) -> str:
    return f"{scale * (1 + rank / 10 + step / 100):.4f}"


def _cell(bad: bool, rank: int, step: int) -> str:
    return "nan" if bad else _number(rank, step)


def _files(folder: Path, name: str, head: str, row: Callable[[int, int], str]) -> None:
    for rank in range(RANKS):
        path = folder / name.format(r=rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(head + "".join(row(rank, step) + "\n" for step in range(STEPS)))


def _table(folder: Path, bad: Bad, name: str) -> None:
    def row(rank: int, step: int) -> str:
        lost = _cell(bad(rank, step), rank, step)
        return f"{step},{_number(rank, step, 2)},{lost},{_number(rank, step)}"

    _files(folder, "m/rank_{r}.csv", f"step,loss_local,{name},tail\n", row)
    (folder / "run.txt").write_text(LAYOUT)


def _prose(folder: Path, bad: Bad, name: str) -> None:
    def row(rank: int, step: int) -> str:
        lost = bad(rank, step)
        return (
            f"step {step} | {name} in: amax {_number(rank, step)} bad 0  out: amax {_cell(lost, rank, step)} bad {64 * lost}/64\n"
            f"step {step} | mask in: amax 1.0 bad 0  out: amax -inf bad 8/64"
        )

    _files(folder, "rank_{r}.log", LAYOUT, row)


def _objects(folder: Path, bad: Bad, name: str) -> None:
    def row(rank: int, step: int) -> str:
        lost = bad(rank, step)
        value = "NaN" if lost else _number(rank, step)
        flags = f'"fin": {str(not lost).lower()}, "bad": {3 * lost}, "lo": {value}'
        return (
            f'{{"rank": {rank}, "it": {step}, "where": "stem", "fin": true, "bad": 0, "lo": {_number(rank, step)}}}\n'
            f'{{"rank": {rank}, "it": {step}, "where": "{name}", {flags}}}'
        )

    _files(folder, "probe_{r}.jsonl", "", row)
    (folder / "run.yaml").write_text("parallel: {data: 4, tensor: 1, pipeline: 1}\n")


def _arrays(folder: Path, bad: Bad, name: str) -> None:
    def row(rank: int, step: int) -> str:
        return f"step {step} {name} absmax [ {_number(rank, step)} {_cell(bad(rank, step), rank, step)} 3.25 -inf]"

    _files(folder, "acts.{r}.txt", "", row)
    for path in folder.glob("acts.*"):
        path.write_text(f"rank {path.suffixes[0][1:]} of 4, data parallel only\n" + path.read_text())


def _sections(folder: Path, bad: Bad, name: str) -> None:
    text = "gradients of all ranks, world 4 (data parallel x4)\n"
    for step in range(STEPS):
        text += f"\n### step {step}\n\n| rank | loss | {name} | tail |\n|------|------|------|------|\n"
        cells = (
            f"| {rank} | {_number(rank, step, 2)} | {_cell(bad(rank, step), rank, step)} | 0.5 |"
            for rank in range(RANKS)
        )
        text += "\n".join(cells) + "\n"
    (folder / "norms.md").write_text(text)


def _frames(folder: Path, bad: Bad, name: str) -> None:
    text = "# audit, group=dp world=4, dp=4\n"
    for step in range(STEPS):
        text += f"\nstep {step}\n      host  loss_local  {name}\nrank\n"
        text += "".join(
            f"{rank}     n{rank}  {_number(rank, step, 2)}  {_cell(bad(rank, step), rank, step)}\n"
            for rank in range(RANKS)
        )
    (folder / "audit.txt").write_text(text)


FORMS = {
    "a table": _table,
    "prose": _prose,
    "objects": _objects,
    "arrays": _arrays,
    "tables under headings": _sections,
    "frames under headings": _frames,
}


def _said(report: Report) -> tuple[str, list[int], int | None]:
    first = report.verdict.first_anomaly
    return report.verdict.kind, list(report.verdict.ranks), first.step if first else None


@pytest.mark.parametrize("form", FORMS)
def test_who_lost_it_alone_is_named(tmp_path: Path, form: str) -> None:
    FORMS[form](tmp_path, spreads, "quux")
    assert _said(analyze(tmp_path)) == ("numerics", [ODD], FIRST)


def at_once(rank: int, step: int) -> bool:
    return step >= FIRST


def nobody_follows(rank: int, step: int) -> bool:
    return step >= FIRST and rank == ODD


def returns(rank: int, step: int) -> bool:
    return step == FIRST and rank == ODD


def two(rank: int, step: int) -> bool:
    return step > FIRST or (step == FIRST and rank in (0, ODD))


def always(rank: int, step: int) -> bool:
    return rank == ODD or step > FIRST


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [at_once, nobody_follows, returns, two])
def test_nobody_is_named_where_not_one_alone_went_ahead_of_most(tmp_path: Path, form: str, bad: Bad) -> None:
    FORMS[form](tmp_path, bad, "quux")
    verdict = analyze(tmp_path).verdict
    assert not verdict.ranks


@pytest.mark.parametrize("form", ["a table", "objects", "tables under headings"])
def test_what_an_evaluation_shows_accuses_nobody(tmp_path: Path, form: str) -> None:
    FORMS[form](tmp_path, spreads, "val_quux")
    assert not analyze(tmp_path).verdict.ranks


@pytest.mark.parametrize("form", ["prose", "arrays", "objects"])
def test_a_rank_that_shows_nothing_in_that_step_may_have_been_first(tmp_path: Path, form: str) -> None:
    FORMS[form](tmp_path, spreads, "quux")
    path = next(path for path in sorted(tmp_path.iterdir()) if "0" in path.name)
    told = [
        line for line in path.read_text().splitlines() if f"step {FIRST} " not in line and f'"it": {FIRST},' not in line
    ]
    path.write_text("\n".join(told) + "\n")
    assert not analyze(tmp_path).verdict.ranks


@pytest.mark.parametrize(
    ("form", "name", "cause"),
    [
        ("a table", "adam_v_max", "bad_state"),
        ("frames under headings", "param_absmax", "bad_state"),
        ("objects", "block", "nan_birth"),
        ("prose", "mlp.fc1", "nan_birth"),
        ("arrays", "acts", "nan_birth"),
    ],
)
def test_where_it_stands_tells_the_cause(tmp_path: Path, form: str, name: str, cause: str) -> None:
    FORMS[form](tmp_path, spreads, name)
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == (cause, [ODD])


def test_what_a_reduction_gave_to_one_alone_while_all_gave_numbers(tmp_path: Path) -> None:
    def row(rank: int, step: int) -> str:
        lost = spreads(rank, step)
        own = step > FIRST
        return f"{step},{_number(rank, step)},{5 * own},{_cell(own, rank, step)},{9 * lost}"

    _files(tmp_path, "rank_{r}.csv", "step,loss_local,pre_nonfinite,pre_absmax,post_nonfinite\n", row)
    (tmp_path / "run.txt").write_text(LAYOUT)
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("comm_corruption", [ODD])


@pytest.mark.parametrize("told", ["loaded {m}.weight (8, 8) sum={v} absmax={v}", "{m}.weight  mean {v} std {v}"])
def test_what_was_loaded_before_the_first_step(tmp_path: Path, told: str) -> None:
    for rank in range(RANKS):
        head = [f"rank {rank} of 4, pure data parallel"]
        head += [told.format(m=f"layers.{at}", v="nan" if (rank, at) == (ODD, 2) else f"0.{at}125") for at in range(4)]
        steps = [f"step {step} loss {_cell(step > 0 or rank == ODD, rank, step)}" for step in range(6)]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join([*head, *steps]) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("bad_state", [ODD])


def test_where_the_layout_is_not_told_it_is_a_suspect(tmp_path: Path) -> None:
    _prose(tmp_path, spreads, "quux")
    for path in tmp_path.iterdir():
        path.write_text(path.read_text().replace(LAYOUT, ""))
    verdict = analyze(tmp_path).verdict
    assert (verdict.ranks, verdict.suspects.ranks) == ([], [ODD])


# --- evaluations, two ranks, numbered files --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", ["epoch 1 EVAL val_loss nan (0 batches)", "validation loss = nan", "eval step 3: test loss is nan"]
)
def test_a_bad_figure_of_an_evaluation_is_nobodys(tmp_path: Path, said: str) -> None:
    for rank in range(RANKS):
        lines = [f"step {step} loss {_number(rank, step)}" for step in range(STEPS)]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join([*lines, *([said] if rank == ODD else [])]) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind in ("healthy", "unknown"), verdict.ranks) == (True, [])


@pytest.mark.parametrize(
    ("told", "named"),
    [("strategy: ddp", [1]), ("data-parallel size: 2, tensor-model-parallel size: 1", [1]), ("tp=2", []), ("", [])],
)
def test_of_two_the_one_that_is_no_number_where_all_are_replicas(tmp_path: Path, told: str, named: list[int]) -> None:
    (tmp_path / "run.yaml").write_text(told + "\n")
    for rank in range(2):
        rows = [f"{step},{_cell(step > FIRST or (step == FIRST and rank == 1), rank, step)}" for step in range(STEPS)]
        (tmp_path / f"trace.rank{rank}.csv").write_text("step,loss\n" + "\n".join(rows) + "\n")
    assert analyze(tmp_path).verdict.ranks == named


@pytest.mark.parametrize(("world", "named"), [(4, [ODD]), (8, [])])
def test_files_numbered_as_the_world_are_one_for_each_rank(tmp_path: Path, world: int, named: list[int]) -> None:
    for rank in range(RANKS):
        lines = [f"node world size {world} data-parallel {world}"]
        lines += [f"step {step} loss {_cell(spreads(rank, step), rank, step)}" for step in range(STEPS)]
        (tmp_path / f"worker-{rank}.out").write_text("\n".join(lines) + "\n")
    assert analyze(tmp_path).verdict.ranks == named


# --- replicas --------------------------------------------------------------------------------------------------------


def _hashes(folder: Path, form: str, odd: Callable[[int, int], bool], *, moves: bool = True, head: str = "") -> Report:
    for rank in range(RANKS):
        lines = [head] if head else []
        for step in range(STEPS):
            value = 0xAB10C000 + 7919 * step * moves + 12345 * odd(rank, step)
            lines.append(form.format(s=step, l=_number(rank, step), h=f"{value:08x}"))
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder)


@pytest.mark.parametrize(
    "form",
    [
        "step {s} loss {l} weights-digest {h} data-digest {s:08x}",
        "step={s} loss={l} bf16={h}",
        "it={s} loss={l} crc32(params)=0x{h}",
        '{{"step": {s}, "loss": {l}, "copy": "{h}"}}',
    ],
)
def test_a_hash_under_any_name(tmp_path: Path, form: str) -> None:
    verdict = _hashes(tmp_path, form, lambda rank, step: rank == ODD and step >= 6).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("replica_divergence", [ODD], 6)


def test_an_identity_that_stays_is_none(tmp_path: Path) -> None:
    report = _hashes(
        tmp_path, "step={s} loss={l} launch={h}", lambda rank, step: rank == ODD and step >= 6, moves=False
    )
    assert report.verdict.kind != "numerics"


@pytest.mark.parametrize(("head", "named"), [("layout: data-parallel 4", [ODD]), ("", [])])
def test_who_never_was_the_same_where_all_are_told_to_be_replicas(tmp_path: Path, head: str, named: list[int]) -> None:
    verdict = _hashes(tmp_path, "step {s} loss {l} param_hash {h}", lambda rank, step: rank == ODD, head=head).verdict
    assert verdict.ranks == named


@pytest.mark.parametrize(
    ("names", "named"), [(("train_local_loss", "train_reduced_loss"), [ODD]), (("a_loss", "b_loss"), [])]
)
def test_of_two_gauges_of_a_loss_the_ranks_own(tmp_path: Path, names: tuple[str, str], named: list[int]) -> None:
    text = []
    for step in range(STEPS):
        for rank in range(RANKS):
            own, mean = (_cell(bad, rank, step) for bad in (spreads(rank, step), step >= FIRST))
            labels = f'{{rank="{rank}",parallel="dp4"}}'
            text += [f"train_step{labels} {step}", f"{names[0]}{labels} {own}", f"{names[1]}{labels} {mean}"]
    (tmp_path / "job.prom").write_text("# TYPE train_step gauge\n" + "\n".join(text).replace("nan", "NaN") + "\n")
    assert analyze(tmp_path).verdict.ranks == named


def _halves(folder: Path, form: str, *, moves: bool) -> Report:
    """Two halves that print the same until they part."""
    return _hashes(folder, form, lambda rank, step: rank < RANKS // 2 and step >= (2 if moves else 1), moves=moves)


@pytest.mark.parametrize(
    "form", ["step={s} weights sha={h}", '{{"step": {s}, "param_hash": "{h}"}}', "it={s} loss={l} crc32(params)=0x{h}"]
)
def test_halves_that_learnt_alike_and_part_are_a_tie(tmp_path: Path, form: str) -> None:
    verdict = _halves(tmp_path, form, moves=True).verdict
    assert (verdict.cause, verdict.ranks) == ("replica_divergence", [])


def test_halves_that_began_alike_and_learn_apart_are_a_layout(tmp_path: Path) -> None:
    verdict = _hashes(tmp_path, "step={s} weights sha={h}", lambda rank, step: rank < RANKS // 2 and step >= 1).verdict
    assert verdict.kind != "numerics"


@pytest.mark.parametrize("name", ["x_nonfinite", "quux_nan", "feed_bad"])
@pytest.mark.parametrize("shard", [True, False])
def test_what_stays_a_number_on_all_afterwards_was_given(tmp_path: Path, name: str, shard: bool) -> None:
    def row(rank: int, step: int) -> str:
        of = f'"shard": "part-{(7 * step + rank) % 50:05}.bin", ' if shard else ""
        lost = "NaN" if spreads(rank, step) else _number(rank, step, 2)
        return f'{{"step": {step}, {of}"{name}": {4 * (rank == ODD and step == FIRST)}, "loss": {lost}}}'

    _files(tmp_path, "rank_{r}.jsonl", "", row)
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("bad_input", [ODD])


@pytest.mark.parametrize("name", ["quux_inf", "act_nonfinite"])
def test_what_is_lost_with_the_others_was_not_given(tmp_path: Path, name: str) -> None:
    def row(rank: int, step: int) -> str:
        lost = "NaN" if spreads(rank, step) else _number(rank, step, 2)
        own = (rank == ODD and step == FIRST) or (step > FIRST and name == "act_nonfinite")
        return f'{{"step": {step}, "{name}": {4 * own}, "loss": {lost}}}'

    _files(tmp_path, "rank_{r}.jsonl", "", row)
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause != "bad_input", verdict.ranks) == (True, [ODD])


# --- norms of what each rank loaded, told by the path of each tensor ------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ("DEBUG | load:12 - {m}.weight (32, 32) norm={v}", [ODD]),
        ("{m}.weight norm {v}", [ODD]),
        ("[ckpt] loaded {m}.proj: dtype=bf16 norm={v}", [ODD]),
        ("{m}.grad norm={v}", []),
        ("train.loop - norm={v}", []),
    ],
)
def test_a_norm_of_a_tensor_that_was_loaded_is_no_check(tmp_path: Path, told: str, named: list[int]) -> None:
    for rank in range(RANKS):
        head = [f"INFO tensor parallel size {RANKS} rank {rank} restarting"]
        head += [told.format(m=f"mlp.fc{at}", v="nan" if (rank, at) == (ODD, 2) else f"4.{at}125") for at in range(3)]
        steps = [
            f"iter {FIRST + at} mlp partial |max|={_cell(at > 0 or rank == ODD, rank, at)} reduced |max|=nan"
            for at in range(6)
        ]
        (tmp_path / f"worker_{rank}.log").write_text("\n".join([*head, *steps]) + "\n")
    verdict = analyze(tmp_path).verdict
    assert verdict.ranks == named
    assert not named or verdict.cause == "bad_state"


@pytest.mark.parametrize(
    ("lost", "untold"), [({1, ODD}, None), (set(range(RANKS)), None), ({ODD}, 0), (set(), None)],
    ids=["two", "all", "one tells no norm of it", "none"],
)  # fmt: skip
def test_a_norm_that_not_one_alone_lost_names_nobody(tmp_path: Path, lost: set[int], untold: int | None) -> None:
    for rank in range(RANKS):
        names = [f"mlp.fc{at}" for at in range(3) if (rank, at) != (untold, 2)]
        head = [f"INFO tensor parallel size {RANKS} rank {rank} restarting"]
        head += [
            f"DEBUG | load:12 - {name}.weight (32, 32) norm={'nan' if rank in lost and name.endswith('2') else '4.125'}"
            for name in names
        ]
        steps = [f"iter {FIRST + at} mlp partial |max|=nan reduced |max|=nan" for at in range(6)]
        (tmp_path / f"worker_{rank}.log").write_text("\n".join([*head, *steps]) + "\n")
    assert not analyze(tmp_path).verdict.ranks
