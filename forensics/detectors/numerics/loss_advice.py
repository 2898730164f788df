"""What to do about a bad value that a log shows: which state to go back to, if any was spoiled, and where to look."""

from collections.abc import Sequence

import polars as pl

from forensics.assemble.figures.figure_pairs import figure_pairs
from forensics.case import Case
from forensics.detectors.numerics.loss_lines import Row
from forensics.facts.durations.checkpoints import before_step
from forensics.facts.figures.loss_spikes import finite_lines
from forensics.facts.figures.odd_values import MADE, STATE
from forensics.facts.rows.error_words import is_library, users_code
from forensics.facts.rows.event_rows import detail
from forensics.model.commands import COMMANDS, REPLAY, Target, kernel_log
from forensics.model.finding import Claim
from forensics.model.frames import is_own_file
from forensics.model.incident import Action, Code, to_do
from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import advice
from forensics.words import losses as words
from parsers.text.vocabulary import words_of

_OF_BACKWARD = ("grad_norm", "anomaly_mode")  # what is checked between the backward pass and the update
_FAR = 1e3  # times the others
SOURCE = "docs/probe.md: a suspect step once more"
_LONG = 120  # characters of a check's line
_FIRST = 1  # programs count their steps from 0 or 1


def roll_back(case: Case, step: int | None, reason: str, who: Sequence[int] = ()) -> Action:
    """To a state before a step. Before the first of a run that loaded nothing there is none: then how it begins is to be looked at."""
    if step is None:
        return to_do("rollback", "job", reason)
    if _is_beginning(case, step) and _was_well(case, step):
        form = advice.FIRST_UPDATE_ON if who else advice.FIRST_UPDATE
        target = form(who=ranks_text(who), step=step)
        return Action(
            kind="check_code", target=target, command=None, reason=advice.FIRST_WAS_FINITE(step=step - 1),
            look=advice.LOOK_AT_FIRST, then=advice.THEN_OF_FIRST, source=SOURCE,
        )  # fmt: skip
    if _is_beginning(case, step):
        target = words.BEGINS_WITH(who=ranks_text(who)) if who else words.RUN_BEGINS_WITH
        return to_do("check_code", target, reason)
    return to_do("rollback", before_step(step), reason)


def has_loaded(case: Case) -> bool:
    """Does the run go on from an earlier state, by a line or by the steps of the attempt before?"""
    return bool((case.events["kind"] == "checkpoint_load").any() or case.steps_before.height)


def _is_beginning(case: Case, step: int) -> bool:
    saved = any(one.step < step for one in case.checkpoints.complete)
    return step <= _FIRST and not has_loaded(case) and not saved


def _was_well(case: Case, step: int) -> bool:
    """Did the step before it show finite losses, and no other ones? Then what the run began from is well."""
    before = case.tables["steps"].filter((pl.col("step") == step - 1) & pl.col("loss").is_not_null())
    return bool(before.height) and bool(before["loss"].is_finite().all())


def raised_before_update(asserts: Sequence[Row]) -> bool:
    """Did each of these checks end its process between the backward pass and the update? Then no parameter took a bad value over.
    The warning of autograd's anomaly mode stands before what it raises in the backward pass, which a cut log may not hold."""
    # One line may be read as two statements.
    raised = {(row["file"], row["line"]) for row in asserts if _is_raised(row)}
    ends = [row for row in asserts if not (row["code"] == "anomaly_mode" and row["severity"] == "warning")]
    return bool(asserts) and all(
        (row["file"], row["line"]) in raised and (row["kind"] == "exception" or _is_before(row)) for row in ends
    )


def _is_before(row: Row) -> bool:
    """Is it asked before an update takes the value over? So is what an operator gives, where each is asked, and what goes into a
    communication."""
    said = detail(row)
    by_operator = row["code"] == "operator" and said.get("compiled") is False
    return row["code"] in _OF_BACKWARD or by_operator or (row["code"] == "nan_check" and said.get("tensor") == "input")


def with_raised(asserts: Sequence[Row], events: pl.DataFrame) -> Sequence[Row]:
    """The same checks, with the exceptions that stand at their very lines: these ended their processes."""
    at = {(row["file"], row["line"]) for row in asserts}
    raised = events.filter((pl.col("kind") == "exception") & (pl.col("file").is_in(sorted({file for file, _ in at}))))
    return [*asserts, *(row for row in raised.iter_rows(named=True) if (row["file"], row["line"]) in at)]


def raised_at(asserts: Sequence[Row], events: pl.DataFrame) -> Code | None:
    """Where in the job's own code an operator gave the bad value, where the process was ended there."""
    if not asserts or any(row["code"] != "operator" for row in asserts if row["kind"] == "nan_assert"):
        return None
    codes = [users_code(row) for row in with_raised(asserts, events) if row["kind"] == "exception"]
    own = {code for code in codes if code is not None and is_own_file(code.file)}
    return own.pop() if len(own) == 1 else None


def of_batch(
    case: Case, who: Sequence[int], step: int | None, after: Action, asserts: Sequence[Row] = ()
) -> tuple[Action, ...]:
    """What ranks read whose own numbers alone were bad, though all hold the same parameters; then where to go on from. What their check
    said may tell which samples these are, and its line how they are numbered."""
    why = _empty(case, who, step) or words.OTHERS_WERE_FINITE
    names = ranks_text(who)
    batch = words.BATCH_OF(who=names) if step is None else words.BATCH_OF_AT(who=names, step=step)
    own = [row for row in asserts if row["rank"] in {*who} and row["step"] in (None, step)]
    if said := next((" ".join(str(row["text"]).split()) for row in own if row["text"]), ""):
        why = advice.SAID_BY_CHECK(said=cut_middle(said, _LONG))
    codes = {users_code(row) for row in with_raised(own, case.events) if row["kind"] == "exception"} - {None}
    at = codes.pop() if len(codes) == 1 else None
    command = None if at is None else COMMANDS["source"](Target(file=at.file, line=at.line))
    return (Action(kind="check_data", target=batch, command=command, reason=why), after)


def _empty(case: Case, who: Sequence[int], step: int | None) -> Said | None:
    """That their batch held no token, where every other one held some: a mean over nothing is no number."""
    told = case.tables["steps"].filter((pl.col("step") == pl.lit(step, pl.Int64)) & pl.col("tokens").is_not_null())
    is_own = pl.col("rank").is_in(list(who))
    own, others = told.filter(is_own)["tokens"], told.filter(~is_own)["tokens"]
    is_empty = len(own) > 0 and own.max() == 0 and len(others) > 0 and bool((others > 0).all())
    return advice.NO_TOKENS(others=others.median()) if is_empty else None


def repeated_here(case: Case, step: int | None, who: Sequence[int]) -> tuple[Action, ...]:
    """Where the program repeated that step on the same device, came to the same, and left it open whether another device does: that one is next."""
    told = case.events.filter((pl.col("code") == "first_rerun_reproducible") & pl.col("step").eq_missing(pl.lit(step)))
    rows = [row for row in told.iter_rows(named=True) if {*(row["names_ranks"] or ())} == {*who}]
    if not rows or len(who) != 1:
        return ()
    hosts = sorted({host for row in rows for host in row["names_hosts"] or ()})
    return (
        Action(
            kind="inspect_hardware", target=hosts[0] if len(hosts) == 1 else ranks_text(who),
            command=kernel_log(hosts[0], case.around) if len(hosts) == 1 else None,
            reason=advice.SAME_ON_SAME_DEVICE(who=ranks_text(who)), look=advice.LOOK_AT_RERUN, then=advice.THEN_OF_RERUN,
            source="Megatron-LM: megatron/core/rerun_state_machine.py",
        ),
    )  # fmt: skip


def far_states(case: Case, rank: int, step: int) -> list[Claim]:
    """Figures of parameters that are far from those of all others in the same step: then it is they that give the rest."""
    pairs = figure_pairs(case.tables["steps"].filter(pl.col("step") == step), "rank", "file", "line")
    found = []
    for (name,), part in pairs.filter(pl.col("value").is_finite()).partition_by("name", as_dict=True).items():
        own, others = part.filter(pl.col("rank") == rank), part.filter(pl.col("rank") != rank)["value"].abs().max()
        if STATE.isdisjoint(words_of(str(name))) or not MADE.isdisjoint(words_of(str(name))) or own.height != 1:
            continue
        value, file, line = own.select("value", "file", "line").row(0)
        if isinstance(others, float) and abs(value) > _FAR * max(others, 1.0):
            text = advice.ITS_STATE_IS(name=name, value=f"{value:.4g}", others=f"{others:.4g}")
            found.append(Claim(text, "for", (Ref(file=str(file), line=line, text=f"{name}={value:.6g}"),)))
    return found


def layer_of(module: str, who: Sequence[int], step: int | None, asserts: Sequence[Row]) -> Action:
    """A module that gave a bad value of good ones is looked at before a state is given up: what it was given, and whether another device
    comes to the same."""
    told = [detail(row) for row in asserts if row["step"] in (None, step) and row["rank"] in {*who}]
    given = next((one["given"] for one in told if str(one.get("module")) == module and "given" in one), None)
    names = ranks_text(who)
    form = advice.LAYER_AND_INPUT if step is None else advice.LAYER_AND_INPUT_AT
    target = form(module=module, who=names, step=step)
    reason = advice.FIRST_TO_SAY_SO if given is None else advice.GAVE_BAD_OF(given=given)
    return Action(
        kind="check_code", target=target, command=REPLAY, reason=reason, look=advice.LOOK_AT_REPLAY, then=advice.THEN_OF_REPLAY,
        source=SOURCE,
    )  # fmt: skip


def _is_raised(row: Row) -> bool:
    return row["kind"] == "exception" or row["code"] == "anomaly_mode" or detail(row).get("raised") is True


def are_of_evaluations(asserts: Sequence[Row]) -> bool:
    """Are the figures of evaluations all that is bad?"""
    return bool(asserts) and all(detail(row).get("scope") == "evaluation" for row in asserts)


def trained_to(streams: Sequence[Sequence[Row]], step: int | None) -> int | None:
    """The last step with a finite loss of the training, none before `step`; None where that is not shown."""
    last = max((row["step"] for rows in streams for row in finite_lines(rows) if row["step"] is not None), default=None)
    return last if last is not None and step is not None and last >= step else None


def forward_of(asserts: Sequence[Row]) -> tuple[str, Code] | None:
    """(the backward function that autograd's check names, its forward call in code of the job's own), where the log shows both."""
    for row in asserts:
        frames = detail(row).get("forward") if row["code"] == "anomaly_mode" else None
        for frame in frames if isinstance(frames, list) else ():
            if row["op"] and not is_library(str(frame["file"])):
                return row["op"], Code(file=frame["file"], line=frame["line"], function=frame["function"])
    return None
