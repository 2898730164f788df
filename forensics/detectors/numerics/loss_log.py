"""What the training log alone tells of NaN: losses that are NaN or vanished, assertions, and spikes of a finite loss.

A log line tells when a step went wrong and never which rank began it; assertions name reporters, who are suspects.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec
import polars as pl

from forensics.assemble.who.topology import mates
from forensics.case import Case, Detector
from forensics.detectors.numerics.loss_advice import (
    are_of_evaluations,
    forward_of,
    layer_of,
    of_batch,
    raised_at,
    raised_before_update,
    repeated_here,
    roll_back,
    trained_to,
    with_raised,
)
from forensics.detectors.numerics.loss_far import far_finding
from forensics.detectors.numerics.loss_lines import (
    Bad,
    Row,
    asserts_of,
    by_steps,
    first_nan,
    is_by_message,
    line_ref,
    ref_to,
    streams_of,
    when,
    without_late,
)
from forensics.detectors.numerics.loss_resumed import as_loaded, leap_of, loaded_by_all, loaded_state, resumed_finding
from forensics.detectors.numerics.loss_risen import spike_finding
from forensics.facts.figures.far_values import carried_value, far_value
from forensics.facts.figures.first_checked import first_checked, is_of_all
from forensics.facts.figures.loss_spikes import finite_lines, since, spikes
from forensics.facts.figures.odd_values import undoubted
from forensics.facts.figures.own_values import NO_STEP, OwnLoss, has_experts, has_no_stages, own_loss
from forensics.facts.figures.scale_falls import collapse
from forensics.facts.rows.event_rows import detail
from forensics.graph.numerics.tensor_ops import read_rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, Code, FirstAnomaly, to_do
from forensics.model.said import Said, sentence
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import losses as words
from parsers.text.patterns import regex
from parsers.training.reduced_losses import REDUCED

_NEWEST = to_do("restart_job", words.FROM_NEWEST, words.RAISED_BEFORE_UPDATE)
_LONG = 120  # characters of a check's line
_OF_OTHERS = ("psum", "pmin", "pmax", "pmean", "ppermute", "all", "reduce_scatter", "pbroadcast", "pgather",  # jax.lax
              "c_", "mp_all", "broadcast", "recv", "p_recv", "partial_recv")  # fmt: skip
_LOSSES = ("loss", "forward_loss", "batch")
_LOCAL = ("grad_norm", "nan_check")  # checks of what a rank made itself, before it is given to others

# torch's own: they speak with nobody
_GENERATED = regex(r"'[A-Z]\w{1,80}Backward\d{1,3}'|\bError detected in [A-Z]\w{1,80}Backward\d{1,3}\.")


def detect(case: Case) -> tuple[Finding, ...]:
    """The earlier of the first NaN and the first spike, of which a restart may be the first; assertions stand for a NaN. Where
    all spikes were over before a NaN after which no loss was finite, the NaN, and the spikes as another finding."""
    streams = [rows for rows in streams_of(case.tables["steps"]) if rows]
    nans = by_steps([bad for rows in streams if (bad := first_nan(rows)) is not None])
    found = [listed for rows in streams if (listed := [*spikes(rows, case.tolerances.loss)])]
    leaps = [leap for rows in streams if (leap := leap_of(case, rows)) is not None]
    if leaps and not any(when(bad.row) < when(leap.onset) for leap in leaps for bad in nans):
        return (resumed_finding(case, min(leaps, key=lambda leap: when(leap.onset))),)
    first = min(nans, key=lambda bad: when(bad.row), default=None)
    asserts = asserts_of(case.events)
    odd = case.odd_value  # then forensics/detectors/numerics/odd_value.py says more
    tables, job = case.tables, case.job_told_of
    own = own_loss(tables, job, case.loss_mates) if case.is_data_parallel or case.loss_mates else None
    own = undoubted(tables, job, own)
    ahead = min((when(row)[0] for row in (*(bad.row for bad in nans), *(one[0].onset for one in found))), default=None)
    far = own if own is not None and own.is_finite else None
    if far is None:
        leapt = far_value(tables["steps"], job) or carried_value(tables["steps"], case.steps_before, job)
        far = undoubted(tables, job, leapt)
    if far is not None and (ahead is None or far.step <= ahead):
        return (as_loaded(case, far_finding(case, far)),)
    risen = min(found, key=lambda listed: when(listed[0].onset), default=None)
    if risen is not None and first is not None and when(first.row) <= when(risen[0].onset):
        risen = None
    earlier: tuple[Finding, ...] = ()
    if risen is not None:
        earlier = (spike_finding(case, risen),)
        are_over = all(spike.over_step is not None for listed in found for spike in listed)
        if not are_over or not _is_the_end(streams, first, asserts):
            return earlier
    if first is None and not asserts:
        return ()
    if first is not None and first.row["step"] in _told_by_statistics(case):
        return earlier  # these say more
    if odd is not None and (first is None or odd.step is None or odd.step <= when(first.row)[0]):
        return earlier
    earliest = first_checked(asserts, case.job_told_of)
    if earliest is not None and detail(earliest).get("reduced") is False:
        asserts = [row for row in asserts if row["step"] != earliest["step"] or row is earliest]
    elif earliest is not None:
        asserts = [row for row in asserts if row["step"] != earliest["step"] or not is_of_all(row)]
    if first is None and are_of_evaluations(asserts):
        return (_of_evaluation(asserts, streams, _nan_finding(case, None, asserts, (), earliest)), *earlier)
    owners = _owners(nans, own)
    if not owners and first is not None and earliest is not None and earliest["step"] <= when(first.row)[0]:
        first = None  # the figure of all went bad by what that check found
    finding = _nan_finding(case, owners[0] if owners else first, asserts, owners, earliest)
    if not finding.ranks and _fell_before(case, finding):
        return earlier
    if (of_loaded := loaded_by_all(case, finding)) is not None:
        return (of_loaded,)
    heads = [rows[0] for rows in streams]
    if first is None or asserts or first.row not in heads:
        return (finding, *earlier)
    of_state = loaded_state(case, finding, streams, first.row)
    return (finding, *earlier) if of_state is None else (of_state,)


def _quoted(row: Row) -> str:
    """What a check said, in its own words, else which check it is."""
    text = " ".join(str(row["text"] or "").split())
    return f"“{cut_middle(text, _LONG)}”" if text else row["code"] or "NaN"


def _fell_before(case: Case, found: Finding) -> bool:
    """Whether the loss scale fell to the end from that step or an earlier one: then it says more than the lines that went bad."""
    fall = collapse(case.tables["steps"], case.events)
    at = found.first_anomaly.step
    return fall is not None and (at is None or fall.start["step"] is None or fall.start["step"] <= at)


def _is_the_end(streams: Sequence[Sequence[Row]], first: Bad | None, asserts: Sequence[Row]) -> bool:
    """Whether no loss was finite after the first NaN, or after the last check that failed."""
    steps = [row["step"] for rows in streams for row in finite_lines(rows) if row["step"] is not None]
    at = [row["step"] for row in asserts if row["step"] is not None] if first is None else [when(first.row)[0]]
    return bool(steps and at) and max(steps) <= max(at)


def _told_by_statistics(case: Case) -> set[int]:
    """Steps in which tensor statistics show a bad value, and the one after their end: it went by what was bad then."""
    rows = read_rows(case.tables["tensors"]).frame
    bad = set(rows.filter(pl.col("bad") & pl.col("role").is_not_null())["step"].unique().to_list())
    last = rows["step"].max()
    return bad | {last + 1} if isinstance(last, int) and last in bad else bad


# --- NaN -------------------------------------------------------------------------------------------------------------


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


def _speaks_for_all(case: Case, asserts: Sequence[Row], reporters: Mapping[int, str]) -> bool:
    """Is it rank 0 alone that looked, at what all have summed, and that prints a loss? It prints for them, and knows no more of whose it was."""
    printers = {*case.tables["steps"].filter(pl.col("loss").is_not_null())["rank"].drop_nulls()}
    if not case.expected | case.seen > {0} or printers - {0}:
        return False
    rows = [row for row in asserts if row["rank"] in reporters and row["kind"] == "nan_assert"]
    bare = [row for row in rows if row["names_ranks"] is None and detail(row).get("reduced") is not False]
    is_local = any("local" in str(row["text"]).lower() for row in rows)
    return {*reporters} == {0} and len(bare) == len(rows) > 0 and all(map(_is_of_all, rows)) and not is_local


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


def _owners(nans: Sequence[Bad], own: OwnLoss | None) -> list[Bad]:
    """The bad lines of the ranks whose own loss was bad in the first bad step, where most others' was finite there; none where
    ranks share values with all. A gradient norm is no rank's own: it may be of what all have summed, or of the part that the rank
    keeps of that."""
    step = min((bad.row["step"] for bad in nans if bad.row["step"] is not None), default=NO_STEP)
    if own is None or own.step != step:
        return []
    return [bad for row in own.rows if (bad := first_nan([row])) is not None]


def _is_of_all(row: Row) -> bool:
    """A value that a line shows without saying whose it is: a gradient norm is of what all have summed, and rank 0 prints the
    loss of all."""
    bare, of_any = row["kind"] == "nan_assert", row["code"] == "loss" or is_by_message(row)
    reduced = row["code"] == "grad_norm" or (of_any and row["rank"] == 0)
    return bare and (reduced or detail(row).get("scope") == "global")


def _is_of_operator(row: Row) -> bool:
    """JAX and Paddle check what each operator gives, one after the other: the first that is bad was given good values. A program compiled
    as a whole may hold what others sent, and so may a collective."""
    said = detail(row)
    if row["code"] == "anomaly_mode" or row["kind"] == "exception":  # autograd's mode asks each backward function alike
        return _GENERATED.search(f"'{row['op']}' {row['text']}") is not None
    name = said.get("function")
    return said.get("compiled") is False and isinstance(name, str) and not name.startswith(_OF_OTHERS)


def _lone(case: Case, asserts: Sequence[Row], reporters: Mapping[int, str], suspects: set[int]) -> tuple[int, ...]:
    """The one rank whose own value was bad: its check looks at what it gives to others, every other rank left records, and
    none of these reports anything, though the same program checks there. A layout that gives it mates leaves it a suspect."""
    # What a communication gave may be another's; what a module gave is not.
    received = any(detail(row).get("tensor") == "output" and row["code"] == "nan_check" for row in asserts)
    # One line may be read as two statements.
    told = {(row["file"], row["line"]) for row in asserts if row["names_ranks"]}
    bare = (row for row in asserts if row["rank"] in reporters and (row["file"], row["line"]) not in told)
    local = len(reporters) == 1 and not received and not any(map(_is_of_all, bare))
    if local and case.is_data_parallel:
        return tuple(reporters)
    local &= not any(part & reporters.keys() and len(part) > 1 for part in case.loss_mates)
    checked = {row["rank"] for row in asserts_of(case.events) if row["kind"] == "nan_assert"} - {None}
    of_operators = bool(asserts) and checked <= reporters.keys() and all(map(_is_of_operator, asserts))
    whole = local and _went_on(case, [*reporters]) and has_no_stages(case.tables, reporters)
    local &= of_operators or whole or set(reporters.values()) <= set(_LOCAL)
    complete = bool(case.expected) and case.expected <= case.seen and len(case.expected) > 2
    return tuple(reporters) if local and complete and suspects == set(reporters) else ()


def _given(case: Case, reporters: Mapping[int, str]) -> tuple[int, ...]:
    """The ranks whose own check of the batch that they were given ended them, at most half of a job of which all left records: nobody else took
    part in that yet, whatever the layout."""
    job = case.job_told_of
    is_whole = len(job) > 2 and job <= case.seen and reporters.keys() < job
    few = 2 * len(reporters) <= len(job)
    return tuple(sorted(reporters)) if reporters and is_whole and few and set(reporters.values()) == {"batch"} else ()


def _not_seen(case: Case, row: Row) -> tuple[int, ...]:
    """Whose loss made that of all bad, where everybody who left a record had a number of its own in that step: the ranks of which there is none."""
    if row["phase"] != REDUCED or not case.is_data_parallel:
        return ()
    own = (pl.col("step") == row["step"]) & (pl.col("phase") == "train") & pl.col("loss").is_finite()
    fine = case.tables["steps"].filter(own)["rank"]
    return tuple(sorted(case.expected - case.seen)) if case.seen and case.seen <= set(fine) else ()


def _nan_finding(
    case: Case, first: Bad | None, asserts: Sequence[Row], owners: Sequence[Bad], earliest: Row | None
) -> Finding:
    """`earliest`: the check that was first alone (facts/figures/first_checked.py)."""
    claims = []
    ahead = tuple(bad.row["rank"] for bad in owners)
    reporters = _reporters(asserts if first is None else without_late(case.tables, asserts, first.row))
    suspects, why = _origin(reporters, case.coordinates)
    given = () if first is not None else _given(case, reporters)
    watched = tuple(sorted(suspects)) if earliest is not None and len(suspects) == 1 else ()
    if first is None and are_of_evaluations(asserts) and not has_experts(case.tables):
        watched = tuple(sorted(suspects))  # all others' were numbers (facts/figures/evaluations.py)
    alone = (ahead if case.is_data_parallel else ()) or given or watched or _lone(case, asserts, reporters, suspects)
    if not alone and not why and _speaks_for_all(case, asserts, reporters):
        suspects = set()
    suspects |= set(ahead)
    unseen = () if suspects or first is None else _not_seen(case, first.row)
    suspects |= set(unseen)
    for row in asserts[:20]:
        claims.append(Claim(words.CHECK_FAILED(what=_quoted(row)), "for", (ref_to(row, row["text"]),)))
    lead: Row = first.row if first is not None else asserts[0]
    step = lead["step"] if lead["step"] is not None and lead["step"] >= 0 else None
    for bad in reversed(owners or ([first] if first is not None else [])):
        text = bad.why if step is None else words.IN_STEP(step=step, what=bad.why)
        claims.insert(0, Claim(text, "for", (line_ref(bad.row),)))
    if why:
        claims.append(Claim(why, "for"))
    above = _operators_above(case, asserts, first.row) if first is not None else []
    if first is None:
        value = str(detail(lead).get("value", "inf" if "inf" in (lead["code"] or "") else "nan"))
    else:
        value = str(detail(above[0]).get("value", "nan")) if above else first.value
    # They came through their own check, or share nothing before gradients are averaged.
    passed = bool(alone) and (case.is_data_parallel or _went_on(case, alone))
    passed |= bool(given or watched)
    if alone and case.is_data_parallel:
        claims.append(Claim(words.PLAIN_DATA_PARALLEL, "for"))
    began = None if first is None else _began(case, first.row)
    value_text = words.VALUE["nan" if value == "nan" else "inf"]
    shown = (words.LOG_SHOWS if step is None else words.LOG_SHOWS_AT)(value=value_text, step=step)
    whose = words.NOT_GATHERED if unseen else words.PRINTED_FOR if why or passed else words.PRINTED_FOR_AND_MATES
    forward = forward_of(asserts) if first is None else None
    ended = first is None and raised_before_update(with_raised(asserts, case.events))
    place = forward[1] if forward is not None else raised_at(asserts, case.events) if first is None else None
    where: Said = words.LOG_ALONE
    if forward is not None:
        where = words.BACKWARD_GAVE(op=forward[0], file=forward[1].file, line=forward[1].line)
    elif place is not None:
        where = words.RAISED_AT(file=place.file, line=place.line)
    told = sentence(shown, whose(who=ranks_text(suspects)) if suspects else "", where)
    if ahead and first is not None:
        own_words = words.OWN_LOSS if step is not None else words.OWN_LOSS_AT_MOMENTS
        own_value = words.VALUE["nan" if first.value == "nan" else "inf"]
        told = sentence(own_words(who=ranks_text(ahead), value=own_value, step=step))
    at = step if began is None else began
    begun = case.step_in_progress(alone[0] if alone else None, lead["time_ns"] if ahead else None)
    at = begun if at is None else at
    whom = tuple(sorted(suspects))
    actions = (*repeated_here(case, step, whom), *_after_nan(case, ended, at, whom, forward, place))
    if alone and case.is_data_parallel and _is_of_batch(asserts, step, ahead) and (ahead or _went_on(case, alone)):
        was_raised = first is None and all(detail(row).get("raised") is True for row in asserts)
        actions = of_batch(case, alone, step, _NEWEST if was_raised or ended else actions[-1], asserts)
    module = _module(asserts, step)
    if alone and module is not None:
        actions = (layer_of(module, alone, step, asserts), *actions)
    if given:
        who = ranks_text(given)
        batch = to_do("check_data", words.DATA_OF(batch=who), words.INPUT_OF_RANKS_WAS_BAD(who=who))
        actions = (batch, _NEWEST)
        told = sentence(words.BATCH_WAS_BAD(who=who, value=value_text))
    return Finding(
        cause="bad_input" if given else "nan_birth" if value == "nan" else "overflow",
        ranks=alone,
        suspect_ranks=() if alone else tuple(sorted(suspects)),
        first_anomaly=FirstAnomaly(
            rank=alone[0] if alone else None, value=value,
            step=step if step is not None else begun, microbatch=owners[0].row.get("microbatch") if owners else None, op=_operator(above or (asserts if first is None else ())),
            module=module,
        ),
        undecided=() if passed else ("culprit_among_missing",) if unseen else ("tied_explanations",),
        claims=tuple(claims),
        severity="fatal",
        actions=actions,
        code=place,
        since_step=began,
        collect=(words.STATISTICS_AROUND_STEP,),
        time_ns=lead["time_ns"],
        summary=told,
    )  # fmt: skip


def _went_on(case: Case, alone: Sequence[int]) -> bool:
    """Did all others come past the place where these were ended, to a communication that they waited in or lost there?"""
    others = (case.expected or case.seen) - {*alone}
    return bool(others) and all(
        rank in case.waited_ranks or (rank in case.ends and case.ends[rank].how in ("gave_up", "lost"))
        for rank in others
    )


def _is_of_batch(asserts: Sequence[Row], step: int | None, ahead: Sequence[int]) -> bool:
    """Is it the loss itself, and no module that was given good values, that a rank found bad?"""
    if any(row["code"] == "operator" for row in asserts):
        return False
    return _module(asserts, step) is None and (bool(ahead) or {row["code"] for row in asserts} <= {*_LOSSES})


def _after_nan(
    case: Case, ended: bool, step: int | None, who: Sequence[int], forward: tuple[str, Code] | None, place: Code | None
) -> tuple[Action, ...]:
    """`ended`: before any parameter took it over; `step`: the first that may have been bad; `place`: where it was computed, by autograd's check, `forward`,
    or by whatever ended the process there."""
    check = []
    if place is not None and place.file:
        why = words.BACKWARD_IS_OF_IT(op=forward[0]) if forward is not None else words.RAISED_ON_THE_WAY(what="NaN")
        check = [to_do("check_code", f"{place.file}:{place.line}", why)]
    return (*check, _NEWEST if ended else roll_back(case, step, words.NOT_FINITE, who))


def _began(case: Case, row: Row) -> int | None:
    """The first step that a bad line may tell of: it stands for all since the line before it."""
    for rows in streams_of(case.tables["steps"]):
        told = [one for one in rows if one["loss"] is not None or one["grad_norm"] is not None]
        for before, here in pairwise(told):
            if all(here[name] == row[name] for name in ("file", "line", "step")):  # a bar draws all steps in one line
                return since(before, here)
    return None


def _of_evaluation(asserts: Sequence[Row], streams: Sequence[Sequence[Row]], found: Finding) -> Finding:
    """The same finding, where it is the figures of evaluations that are bad, and the training went on with finite ones."""
    step, trained = asserts[0]["step"], trained_to(streams, asserts[0]["step"] or 0)
    if trained is None:
        return found
    step = trained if step is None else step
    value = words.VALUE["nan" if found.first_anomaly.value == "nan" else "inf"]
    action = to_do("check_code", words.EVALUATION, words.EVALUATION_ALONE)
    whose = words.PRINTED_FOR(who=ranks_text(found.ranks)) if found.ranks else ""
    told = sentence(words.EVALUATED(value=value, step=step, trained=trained), whose)
    anomaly = msgspec.structs.replace(found.first_anomaly, step=step)
    return msgspec.structs.replace(found, actions=(action,), collect=(), summary=told, first_anomaly=anomaly)


def _operator(asserts: Sequence[Row]) -> str | None:
    """The operator that the anomaly mode names."""
    for row in asserts:
        text = row["text"] or ""
        if "Function '" in text and "returned nan" in text:
            return str(text.split("Function '", 1)[1].split("'", 1)[0])
        if isinstance(function := detail(row).get("function"), str):
            return function
    return None


def _operators_above(case: Case, asserts: Sequence[Row], line: Row) -> list[Row]:
    """What a check of each operator found in the step that a line ends: the first of it says what the value was at first."""
    end, file = line["line"] or 0, line["file"]
    own = case.tables["steps"].filter((pl.col("file") == file) & (pl.col("line") < end))["line"].max()
    begin = own if isinstance(own, int) else 0
    return [
        row for row in asserts if row["code"] == "operator" and row["file"] == file and begin < (row["line"] or 0) < end
    ]


def _module(asserts: Sequence[Row], step: int | None) -> str | None:
    """Of the rows of the step, the first module that one rank alone printed before others did, as it is printed."""
    said = [(row["rank"], detail(row)) for row in asserts if row["step"] in (None, step)]
    born = [(rank, told["module"]) for rank, told in said if "module" in told and told.get("input") != "bad"]
    return str(born[0][1]) if born and len({rank for rank, _ in born}) == 1 else None


DETECTOR = Detector("loss_log", (), detect, "bad_value")
