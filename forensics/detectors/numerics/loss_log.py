"""What the training log alone tells of NaN: losses that are NaN or vanished, assertions, and spikes of a finite loss.

A log line tells when a step went wrong and never which rank began it; assertions name reporters, who are suspects.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite, isnan
from typing import Any

import msgspec
import polars as pl

from forensics.assemble.topology import mates
from forensics.case import Case, Detector
from forensics.facts.checkpoints import before_step
from forensics.facts.event_rows import detail, refs
from forensics.facts.loss_spikes import BACK, FEW, Spike, finite_lines, normal_before, spikes
from forensics.facts.own_values import OwnLoss, own_loss
from forensics.facts.scale_falls import collapse
from forensics.graph.numerics.tensor_ops import read_rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.names import Cause, Severity
from forensics.model.ref import Ref
from forensics.model.said import Said, joined, sentence
from forensics.model.texts import ranks_text
from forensics.words import numerics as words

Row = Mapping[str, Any]
_SPIKES = 10  # that are shown
_OF_OTHERS = ("psum", "pmin", "pmax", "pmean", "ppermute", "all_", "reduce_scatter", "pbroadcast", "pgather")  # jax.lax
_LOCAL = ("grad_norm", "nan_check")  # checks of what a rank made itself, before it is given to others


class _Bad(msgspec.Struct, frozen=True):
    row: Row
    value: str
    why: Said


def detect(case: Case) -> tuple[Finding, ...]:
    """The earlier of the first NaN and the first spike, of which a restart may be the first; assertions stand for a NaN. Where
    all spikes were over before a NaN after which no loss was finite, the NaN, and the spikes as another finding."""
    streams = [rows for rows in _streams(case.tables["steps"]) if rows]
    nans = [bad for rows in streams if (bad := _first_nan(rows)) is not None]
    found = [listed for rows in streams if (listed := [*spikes(rows, case.tolerances.loss)])]
    leaps = [leap for rows in streams if (leap := _leap(case, rows)) is not None]
    if leaps and not any(_when(bad.row) < _when(leap.onset) for leap in leaps for bad in nans):
        return (_resumed_finding(case, min(leaps, key=lambda leap: _when(leap.onset))),)
    first = min(nans, key=lambda bad: _when(bad.row), default=None)
    asserts = _asserts(case.events)
    own = own_loss(case.tables, case.job_told_of, case.loss_mates) if case.is_data_parallel or case.loss_mates else None
    ahead = min((_when(row)[0] for row in (*(bad.row for bad in nans), *(one[0].onset for one in found))), default=None)
    if own is not None and own.is_finite and (ahead is None or own.step <= ahead):
        return (_outlier(case, own),)
    risen = min(found, key=lambda listed: _when(listed[0].onset), default=None)
    if risen is not None and first is not None and _when(first.row) <= _when(risen[0].onset):
        risen = None
    earlier: tuple[Finding, ...] = ()
    if risen is not None:
        if any(spike.over_step is None for listed in found for spike in listed) or not _is_the_end(
            streams, first, asserts
        ):
            return (_spike_finding(risen),)
        earlier = (_spike_finding(risen),)
    if first is None and not asserts:
        return ()
    if first is not None and first.row["step"] in _told_by_statistics(case):
        return earlier  # these say more
    owners = _owners(case, nans, own)
    finding = _nan_finding(case, owners[0] if owners else first, asserts, owners)
    if not finding.ranks and _fell_before(case, finding):
        return earlier
    heads = [rows[0] for rows in streams]
    if first is None or asserts or first.row not in heads or (saved := _bad_before(case, first.row)) is None:
        return (finding, *earlier)
    return (_inherited(case, finding, first.row, saved),)


def _fell_before(case: Case, found: Finding) -> bool:
    """Whether the loss scale fell to the end from that step or an earlier one: then it says more than the lines that went bad."""
    fall = collapse(case.tables["steps"], case.events)
    at = found.first_anomaly.step if found.first_anomaly else None
    return fall is not None and (at is None or fall.start["step"] is None or fall.start["step"] <= at)


def _is_the_end(streams: Sequence[Sequence[Row]], first: _Bad | None, asserts: Sequence[Row]) -> bool:
    """Whether no loss was finite after the first NaN, or after the last check that failed."""
    steps = [row["step"] for rows in streams for row in finite_lines(rows) if row["step"] is not None]
    at = [row["step"] for row in asserts if row["step"] is not None] if first is None else [_when(first.row)[0]]
    return bool(steps and at) and max(steps) <= max(at)


def _told_by_statistics(case: Case) -> set[int]:
    """Steps in which tensor statistics show a bad value, and the one after their end: it went by what was bad then."""
    rows = read_rows(case.tables["tensors"]).frame
    bad = set(rows.filter(pl.col("bad") & pl.col("role").is_not_null())["step"].unique().to_list())
    last = rows["step"].max()
    return bad | {last + 1} if isinstance(last, int) and last in bad else bad


def _streams(steps: pl.DataFrame) -> list[list[Row]]:
    """Training lines of one file and rank, cut where the steps begin anew."""
    train = steps.filter(pl.col("phase").fill_null("train") == "train").sort("file", "line", nulls_last=True)
    found: list[list[Row]] = []
    for part in train.partition_by("file", "rank", "local_rank", maintain_order=True):
        rows: list[Row] = []
        for row in part.iter_rows(named=True):
            if rows and None not in (row["step"], rows[-1]["step"]) and row["step"] < rows[-1]["step"]:
                found.append(rows)
                rows = []
            rows.append(row)
        found.append(rows)
    return found


def _when(row: Row) -> tuple[int, str, int]:
    return (row["step"] if row["step"] is not None else 1 << 62, row["file"] or "", row["line"] or 0)


# --- NaN -------------------------------------------------------------------------------------------------------------


def _printed(value: float) -> str:
    """NaN, Inf and -Inf as people write them."""
    return f"{value:g}".replace("nan", "NaN").replace("inf", "Inf")


def _first_nan(rows: Sequence[Row]) -> _Bad | None:
    had_loss = False
    for row in rows:
        loss, norm, skipped = row["loss"], row["grad_norm"], row["skipped"]
        if loss is not None and not isfinite(loss):
            return _Bad(row, "nan" if isnan(loss) else "inf", words.LOSS_IS(value=_printed(loss)))
        bad_norm = norm is not None and not isfinite(norm)
        # An infinite norm and a skip are how a loss scale finds its height; a NaN is none of that.
        is_skip = bool(skipped) and not (norm is not None and isnan(norm))
        if row["loss_seen"] is False and not is_skip and (bad_norm or had_loss):
            return _Bad(row, "nan", words.LOSS_AND_NORM_VANISHED if bad_norm else words.LOSS_VANISHED)
        if bad_norm and not skipped:
            form = words.NORM_IS_BESIDE_ZERO if loss == 0 else words.NORM_IS
            return _Bad(row, "nan" if isnan(norm) else "inf", form(value=_printed(norm)))
        had_loss |= loss is not None
    return None


def _bad_before(case: Case, row: Row) -> Row | None:
    """The line of the attempt before from which on all were bad until after the step that this one loaded: what was saved
    there was bad already."""
    loads = case.events.filter((pl.col("kind") == "checkpoint_load") & pl.col("step").is_not_null())
    loaded = loads["step"].unique().to_list()
    if not case.steps_before.height or len(loaded) != 1 or row["step"] is None or loaded[0] >= row["step"]:
        return None
    for part in _streams(case.steps_before):
        told = [one for one in part if one["step"] is not None]
        bad = [_first_nan([one]) is not None for one in told]
        saved = [at for at, one in enumerate(told) if one["step"] <= loaded[0]]
        if not saved or not all(bad[saved[-1] :]):
            continue
        at = saved[-1]
        while at and bad[at - 1]:
            at -= 1
        return told[at]
    return None


def _inherited(case: Case, found: Finding, row: Row, before: Row) -> Finding:
    """The same finding, of a state that was bad when it was saved."""
    loaded = case.events.filter(pl.col("kind") == "checkpoint_load").sort("file", "line")
    text = words.SAVED_WHILE_BAD(step=row["step"], before=before["step"])
    claims = (
        Claim(text, "for", (_line_ref(before),)),
        Claim(words.CHECKPOINT_LOADED, "for", refs(loaded.iter_rows(named=True), 2)),
    )
    rollback = Action(kind="rollback", target=before_step(before["step"]), command=None, reason=words.NOT_FINITE)
    return msgspec.structs.replace(
        found,
        cause="bad_state",
        ranks=(),
        suspect_ranks=(),
        undecided=("tied_explanations",),
        claims=(*found.claims, *claims),
        actions=(rollback,),
        summary=sentence(text),
    )


def _asserts(events: pl.DataFrame) -> Sequence[Row]:
    """Checks that found a NaN, scripts that gave up for one, and the anomaly mode of automatic differentiation."""
    anomaly = pl.col("text").str.contains(r"returned nan values in its \d+\w* output").fill_null(False)
    kinds = pl.col("kind").is_in(["nan_assert", "bad_loss"])
    return events.filter(kinds | anomaly).sort("step", "file", "line", nulls_last=True).to_dicts()


def _reporters(asserts: Sequence[Row]) -> dict[int, str]:
    """Rank → what its check looked at (forward_loss, grad_norm, …), of the earliest step with a report."""
    steps = [row["step"] for row in asserts if row["step"] is not None]
    first = [row for row in asserts if row["kind"] == "nan_assert" and (not steps or row["step"] in (None, min(steps)))]
    born = [row for row in first if detail(row).get("input") != "bad"]
    found: dict[int, str] = {}
    for row in born or first:
        named = row["names_ranks"] if row["names_rank_space"] in (None, "global") else None
        for rank in named or ([row["rank"]] if row["rank"] is not None else []):
            found.setdefault(rank, row["code"] or "")
    return found


def _origin(reporters: Mapping[int, str], places: Mapping[int, Mapping[str, int]]) -> tuple[set[int], Said | None]:
    """(who must hold the birth, why) by where the reporters sit in the layout.

    A bad forward loss shows on the last pipeline stage only: any stage of that replica. A bad gradient with a good loss
    came from the last reporting stage, as backward passes go from the last stage to the first. Tensor-parallel mates
    share what they sum.
    """
    if not reporters or any(rank not in places for rank in reporters):
        return set(reporters), None
    if "forward_loss" in reporters.values():
        chosen = [rank for rank, where in reporters.items() if where == "forward_loss"]
        held = {mate for rank in chosen for mate in mates(places, rank, "dp")}
        return held or set(reporters), words.LAST_STAGE_SHOWS_IT
    if set(reporters.values()) != {"grad_norm"} or any("pp" not in places[rank] for rank in reporters):
        return set(reporters), None
    last: dict[int | None, int] = {}
    for rank in reporters:
        replica = places[rank].get("dp")
        last[replica] = max(last.get(replica, 0), places[rank]["pp"])
    chosen = [rank for rank in reporters if places[rank]["pp"] == last[places[rank].get("dp")]]
    held = {mate for rank in chosen for mate in mates(places, rank, "dp", "pp")} or set(chosen)
    return held, words.STAGE_CAME_FIRST(stage=max(last.values()))


def _owners(case: Case, nans: Sequence[_Bad], own: OwnLoss | None) -> list[_Bad]:
    """The bad lines of the ranks whose own loss was bad in the first bad step, where most others' was finite there; none where
    ranks share values with all. A gradient norm is no rank's own: it may be of what all have summed, or of the part that the rank
    keeps of that."""
    step = min((bad.row["step"] for bad in nans if bad.row["step"] is not None), default=None)
    if own is None or own.step != step:
        return []
    return [bad for row in own.rows if (bad := _first_nan([row])) is not None]


def _outlier(case: Case, own: OwnLoss) -> Finding:
    """A loss that is finite and beyond all others: what made it is a value no training comes to."""
    ranks = tuple(row["rank"] for row in own.rows)
    alone = ranks if case.is_data_parallel else ()
    text = words.FAR_FROM_OTHERS(who=ranks_text(ranks), loss=f"{own.rows[0]['loss']:.4g}", step=own.step)
    claims = [Claim(text, "for", tuple(_line_ref(row) for row in own.rows[:10]))]
    claims += [Claim(words.PLAIN_DATA_PARALLEL, "for")] if alone else []
    return Finding(
        detector=DETECTOR.name,
        cause="bad_state",
        ranks=alone,
        suspect_ranks=() if alone else ranks,
        first_anomaly=FirstAnomaly(rank=alone[0] if alone else None, step=own.step, value="finite"),
        undecided=() if alone else ("tied_explanations",),
        claims=tuple(claims),
        severity="fatal",
        actions=(Action(kind="rollback", target=before_step(own.step), command=None, reason=words.FAR),),
        collect=(words.STATISTICS_AROUND_STEP,),
        time_ns=own.rows[0]["time_ns"],
        summary=sentence(text),
    )


def _is_of_all(row: Row) -> bool:
    """A value that a line shows without saying whose it is: a gradient norm is of what all have summed, and rank 0 prints the
    loss of all."""
    bare = row["kind"] == "nan_assert"
    reduced = row["code"] == "grad_norm" or (row["code"] == "loss" and row["rank"] == 0)
    return bare and (reduced or detail(row).get("scope") == "global")


def _is_of_operator(row: Row) -> bool:
    """JAX checks what each operator gives, one after the other: the first that is bad was given good values. A program compiled
    as a whole may hold what others sent, and so may a collective."""
    said = detail(row)
    name = said.get("function")
    return said.get("compiled") is False and isinstance(name, str) and not name.startswith(_OF_OTHERS)


def _lone(case: Case, asserts: Sequence[Row], reporters: Mapping[int, str], suspects: set[int]) -> tuple[int, ...]:
    """The one rank whose own value was bad: its check looks at what it gives to others, every other rank left records, and
    none of these reports anything, though the same program checks there. A layout that gives it mates leaves it a suspect."""
    received = any(detail(row).get("tensor") == "output" for row in asserts)
    told = {
        (row["file"], row["line"]) for row in asserts if row["names_ranks"]
    }  # one line may be read as two statements
    bare = (row for row in asserts if row["rank"] in reporters and (row["file"], row["line"]) not in told)
    local = len(reporters) == 1 and not received and not any(map(_is_of_all, bare))
    if local and case.is_data_parallel:
        return tuple(reporters)
    local &= set(reporters.values()) <= set(_LOCAL) or (bool(asserts) and all(_is_of_operator(row) for row in asserts))
    complete = bool(case.expected) and case.expected <= case.seen and len(case.expected) > 2
    return tuple(reporters) if local and complete and suspects == set(reporters) else ()


def _nan_finding(case: Case, first: _Bad | None, asserts: Sequence[Row], owners: Sequence[_Bad]) -> Finding:
    claims = []
    ahead = tuple(bad.row["rank"] for bad in owners)
    reporters = _reporters(asserts)
    suspects, why = _origin(reporters, case.coordinates)
    alone = (ahead if case.is_data_parallel else ()) or _lone(case, asserts, reporters, suspects)
    suspects |= set(ahead)
    for row in asserts[:20]:
        claims.append(Claim(words.CHECK_FAILED(what=row["code"] or "NaN"), "for", (_ref(row, row["text"]),)))
    lead: Row = first.row if first is not None else asserts[0]
    step = lead["step"] if lead["step"] is not None and lead["step"] >= 0 else None
    for bad in reversed(owners or ([first] if first is not None else [])):
        text = bad.why if step is None else words.IN_STEP(step=step, what=bad.why)
        claims.insert(0, Claim(text, "for", (_line_ref(bad.row),)))
    if why:
        claims.append(Claim(why, "for"))
    value = first.value if first is not None else str(detail(lead).get("value", "nan"))
    # They came through their own check, or share nothing before gradients are averaged.
    passed = bool(alone) and (case.is_data_parallel or case.expected - set(alone) <= case.waited_ranks)
    if alone and case.is_data_parallel:
        claims.append(Claim(words.PLAIN_DATA_PARALLEL, "for"))
    shown = (words.LOG_SHOWS if step is None else words.LOG_SHOWS_AT)(
        value=words.VALUE["nan" if value == "nan" else "inf"], step=step
    )
    whose = words.PRINTED_FOR if why or passed else words.PRINTED_FOR_AND_MATES
    told = sentence(shown, whose(who=ranks_text(suspects)) if suspects else "", words.LOG_ALONE)
    if ahead:
        told = sentence(
            words.OWN_LOSS(who=ranks_text(ahead), value=words.VALUE["nan" if value == "nan" else "inf"], step=step)
        )
    return Finding(
        detector=DETECTOR.name,
        cause="nan_birth" if value == "nan" else "overflow",
        ranks=alone,
        suspect_ranks=() if alone else tuple(sorted(suspects)),
        first_anomaly=FirstAnomaly(
            rank=alone[0] if alone else None, step=step, value=value, op=_operator(asserts) if first is None else None,
            module=_module(asserts, step),
        ),
        undecided=() if passed else ("tied_explanations",),
        claims=tuple(claims),
        severity="fatal",
        actions=(Action(kind="rollback", target=before_step(step) if step is not None else "job",
                        command=None, reason=words.NOT_FINITE),),
        collect=(words.STATISTICS_AROUND_STEP,),
        time_ns=lead["time_ns"],
        summary=told,
    )  # fmt: skip


def _operator(asserts: Sequence[Row]) -> str | None:
    """The operator that the anomaly mode names."""
    for row in asserts:
        text = row["text"] or ""
        if "Function '" in text and "returned nan" in text:
            return str(text.split("Function '", 1)[1].split("'", 1)[0])
        if isinstance(function := detail(row).get("function"), str):
            return function
    return None


def _module(asserts: Sequence[Row], step: int | None) -> str | None:
    """Of the rows of the step, the first module that one rank alone printed before others did, as it is printed."""
    said = [(row["rank"], detail(row)) for row in asserts if row["step"] in (None, step)]
    born = [(rank, told["module"]) for rank, told in said if "module" in told and told.get("input") != "bad"]
    return str(born[0][1]) if born and len({rank for rank, _ in born}) == 1 else None


# --- spikes ----------------------------------------------------------------------------------------------------------


def _leap(case: Case, rows: Sequence[Row]) -> Spike | None:
    """A loss that leaps over a restart: the attempt before printed the steps before this one's first, and what this one goes on
    with is not what that had come to."""
    now = finite_lines(rows)
    if not now or not case.steps_before.height or now[0]["step"] is None:
        return None
    told = [row for part in _streams(case.steps_before) for row in finite_lines(part) if row["step"] is not None]
    before = sorted((row for row in told if row["step"] < now[0]["step"]), key=_when)[-BACK:]
    whole = [*before, *now]
    every = max((two["step"] - one["step"] for one, two in pairwise(before)), default=0)
    if len(before) < FEW or now[0]["step"] - before[-1]["step"] > every + 1:
        return None
    normal = normal_before(whole, [row["loss"] for row in whole], len(before), case.tolerances.loss)
    return None if normal is None else Spike(now[0], now[0], normal, None)


def _spike_finding(found: Sequence[Spike]) -> Finding:
    onset, outlier, normal, calm, _ = found[0]
    cause: Cause = "loss_spike"
    severity: Severity = "severe"
    at, rise = outlier["step"], {"normal": f"{normal:.4g}", "loss": f"{outlier['loss']:.4g}"}
    text = words.LOSS_ROSE_IN_NO_STEP(**rise) if at is None else words.LOSS_ROSE(**rise, step=at)
    claims = [Claim(text, "for", (_line_ref(outlier),))]
    is_shaken = onset is not outlier and onset["step"] is not None
    if is_shaken:
        claims.insert(0, Claim(words.NORM_GREW(step=onset["step"]), "for",
                               (_line_ref(onset),)))  # fmt: skip
    rose = sentence(text, words.ONSET_IS(step=onset["step"]) if is_shaken else "")
    if len(found) > 1:
        first, final, number = onset["step"], found[-1].onset["step"], len(found)
        is_told = None not in (first, final)
        more = (
            words.MORE_SPIKES(number=number, first=first, last=final)
            if is_told
            else words.MORE_SPIKES_IN_NO_STEP(number=number)
        )
        claims.append(Claim(more, "for", tuple(_line_ref(one.outlier) for one in found[1:_SPIKES])))
    last = outlier["step"] if calm is None or calm["step"] is None else calm["step"] - 1
    known = onset["step"] is not None and last is not None
    batches = words.DATA_OF_STEPS(first=onset["step"], last=last) if known else words.DATA_BEFORE_IT
    return Finding(
        detector=DETECTOR.name,
        cause=cause,
        domain="workload",
        first_anomaly=FirstAnomaly(step=onset["step"], value="finite", signature="loss_spike"),
        claims=tuple(claims),
        severity=severity,
        actions=(
            Action(kind="check_data", target=batches, command=None,
                   reason=words.SPIKES_COME_FROM),
            Action(kind="rollback", target=before_step(onset["step"]), command=None,
                   reason=words.BEFORE_THE_SPIKE),
            Action(kind="skip_data", target=batches, command=None, reason=words.SAME_DATA_SAME_SPIKE),
        ),
        over_step=found[-1].over_step,
        time_ns=onset["time_ns"],
        summary=joined((rose, words.LOSS_RECOVERED if calm is not None else ""), " "),
    )  # fmt: skip


def _resumed_finding(case: Case, leap: Spike) -> Finding:
    first, loaded = leap.onset, case.events.filter(pl.col("kind") == "checkpoint_load").sort("file", "line")
    text = words.LOSS_ROSE_OVER_RESTART(normal=f"{leap.normal:.4g}", loss=f"{first['loss']:.4g}", step=first["step"])
    claims = [Claim(text, "for", (_line_ref(first),))]
    claims += [Claim(words.CHECKPOINT_LOADED, "for", refs(loaded.iter_rows(named=True), 2))] if loaded.height else []
    why = words.GOES_ON_WITH_OTHERS
    return Finding(
        detector=DETECTOR.name,
        cause="bad_state",
        domain="workload",
        first_anomaly=FirstAnomaly(step=first["step"], value="finite", signature="loss_after_restart"),
        undecided=("tied_explanations",),
        claims=tuple(claims),
        severity="severe",
        actions=(
            Action(kind="check_config", target=words.WHAT_WAS_LOADED, command=None, reason=why),
            Action(kind="rollback", target=before_step(first["step"]), command=None, reason=words.BUILDS_ON_IT),
        ),
        collect=(words.PARAMETERS_NOT_LOADED,),
        time_ns=first["time_ns"],
        summary=sentence(words.AND_WHY(what=text, why=why)),
    )


def _line_ref(row: Row) -> Ref:
    names = ("step", "loss", "grad_norm", "loss_scale", "skipped")
    return _ref(row, " ".join(f"{name}={row[name]}" for name in names if row[name] is not None))


def _ref(row: Row, text: str | None) -> Ref:
    return Ref(file=row["file"] or "", line=row["line"], text=text or "")


DETECTOR = Detector(name="loss_log", needs=(), detect=detect, about="bad_value")
