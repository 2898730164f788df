"""What the name of a field means: one table for every framing, parsers/data/vocabulary.csv, a row per name.

| column | holds |
|---|---|
| `name` | words in lower case, joined by `_` |
| `meaning` | what it is, a key of `told`; `before:…` for a word that may stand before a name, `after:…` for words behind it, `phase:…` for a word of a timed phase, `way:…` for whereto its results go, `axis:…` for an index in the layout, `chinese:…` for a word of Chinese, `pointing:…` for one that points at somebody or something else, `process:…` for a variable of one process |
| `unit` | of the number, where the name tells it |
| `space` | global, node, group, host: what a number of somebody counts; local or reduced: before or after the reduction, of a phase: a wait in it |
| `before` | `any`: whatever stands before it, it stays that |
| `source` | who prints it |

A name is read from its end: `train/rank_loss` is a loss, `loss_scale` a scale, `loss_local` a local loss, and of `ranking/ndcg` nothing is known. What stands
before the longest known end must be neutral words, unless the row allows any. Words that tell of an evaluation (`val`, `best`), or of a
figure derived from others (`max`, `ema`), leave no meaning.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from parsers.text.patterns import regex

_HUMP = regex(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORD = regex(r"[^a-z0-9]+")
_ONE_OF = regex(r"(?P<one>\d{1,15}) ?(?:/|of) ?\d{1,15}")
_OF_SOME = ("rank", "local_rank", "node_rank", "step", "epoch")
_WHICH = regex(r" ?第 ?(?P<count>\d{1,15}) ?(?P<what>[步次轮])(?:迭代)? ?")
_WIDE = {ord(wide): plain for wide, plain in zip("：，；（）＝｜　", ":,;()=| ", strict=True)}
_EMPTY = frozenset(("", "-", "null", "None", "N/A", "n/a"))
_OF_PROCESS = ("rank", "local_rank", "node_rank", "world_size", "processes_per_node", "nodes")
_ASIDE = regex(r"(?P<name>[^()]{1,60}?)[ _]?\((?P<aside>[^()]{1,40})\)")
_FIGURES = ("loss", "grad_norm", "learning_rate")
# Of the weights, beside those that are trained.
COPIES = ("ema", "swa", "swag", "polyak", "averaged", "shadow", "teacher", "student")
_USES = ("", "before", "after", "phase", "process", "way", "axis", "chinese", "pointing")
_LONG = 8  # letters of a name that is written as one word
_LOSSES = ("own", "plain", "of_all", "named")  # which of several is the training's: the first that one column alone is


class Term(NamedTuple):
    """A row of the table."""

    meaning: str
    unit: str
    space: str
    takes_any: bool


class Meaning(NamedTuple):
    """`sort`: own (of this rank), plain, of_all (of many ranks), named (some other word stands before it)."""

    meaning: str
    unit: str
    space: str
    sort: str


@cache
def _table() -> dict[str, dict[str, Term]]:
    """Use, one of _USES → name → its row."""
    text = files("parsers").joinpath("data", "vocabulary.csv").read_text(encoding="utf-8")
    made: dict[str, dict[str, Term]] = {use: {} for use in _USES}
    for row in csv.DictReader(text.splitlines()):
        use, _, meaning = row["meaning"].rpartition(":")
        made[use][row["name"]] = Term(meaning, row["unit"], row["space"], row["before"] == "any")
    return made


@cache
def _run_together() -> dict[str, Term]:
    """Names of several words as one: `gradnorm`."""
    made = [(name.replace("_", ""), term) for name, term in _table()[""].items() if "_" in name]
    return {name: term for name, term in made if len(name) >= _LONG and name not in _table()[""]}


@cache
def phase_words(meaning: str) -> tuple[str, ...]:
    """The words of timed phases of one sort: wait, host, work, bare, whole, of_whole."""
    return tuple(name for name, term in _table()["phase"].items() if term.meaning == meaning)


@cache
def reducing_words() -> tuple[str, ...]:
    """The words of waits in a reduction, in which all that take part hold the same parameters."""
    return tuple(name for name, term in _table()["phase"].items() if term.space == "reduced")


def way_words(meaning: str) -> frozenset[str]:
    """The words that say whereto the results of a phase go: along, against (the pipeline), send, receive."""
    return frozenset(name for name, term in _table()["way"].items() if term.meaning == meaning)


def axis_of(name: str) -> str | None:
    """The axis of the parallel layout that a column holds an index along: dp, pp, tp, cp, ep."""
    term = _table()["axis"].get("_".join(words_of(name)))
    return term.meaning if term is not None else None


def words_of(name: str) -> list[str]:
    """`train/gradNorm` → train, grad, norm."""
    spaced = name if name.islower() else _HUMP.sub("_", name).lower()
    return [word for word in _NOT_WORD.split(spaced) if word]


@cache
def figure_words() -> frozenset[str]:
    """The names of a loss or a norm that are one word."""
    return frozenset(
        name for name, term in _table()[""].items() if term.meaning in ("loss", "grad_norm") and "_" not in name
    )


@cache
def last_words(meaning: str) -> frozenset[str]:
    """The words with which names of one meaning end."""
    return frozenset(name.rpartition("_")[2] for name, term in _table()[""].items() if term.meaning == meaning)


@cache
def whose(*meanings: str) -> frozenset[str]:
    """Words that say whose a figure is, before its name or behind it: of_rank, of_all."""
    asked = meanings or ("of_rank", "of_all")
    return frozenset(word for word, term in _table()["before"].items() if term.meaning in asked)


def in_english(text: str) -> str:
    """A line with the words of Chinese that name fields as English ones: `第 88 步 本地损失=nan` → `step 88 local_loss=nan`."""
    if text.isascii():
        return text
    text = _WHICH.sub(lambda found: f" {'step' if found['what'] in '步次' else 'epoch'} {found['count']} ", text)
    words, pattern = _chinese()
    return str(pattern.sub(lambda found: words[found[0]], text.translate(_WIDE)))


@cache
def _chinese() -> tuple[Mapping[str, str], Any]:
    words = {name: term.meaning for name, term in _table()["chinese"].items()}
    return words, regex("|".join(sorted(words, key=len, reverse=True)))


@lru_cache(maxsize=8192)
def meaning_of(name: str) -> Meaning | None:
    """What a name means; null where nothing is known of it, or it is of no step of the training."""
    words = words_of(name)
    last = _table()["before"].get(words[-1]) if len(words) > 1 else None
    is_whose = last is not None and last.meaning in ("of_rank", "of_all")
    turned = [words[-1], *words[:-1]] if is_whose else []  # loss_local, loss/train/total
    is_own = last is not None and last.meaning == "of_rank"
    return (
        _meaning(words)
        or (_meaning(turned) if is_own else None)
        or _meaning(_bare(words))
        or _meaning(_bare(turned))
        or _meaning(_aside(name))
    )


def meant(name: str) -> str:
    """The meaning alone of a name; nothing where nothing is known."""
    return said.meaning if (said := meaning_of(name)) is not None else ""


def _aside(name: str) -> Sequence[str]:
    """`train_loss(avg over workers)` → mean train loss: what stands in brackets behind a name says whose it is, in whatever words beside that one."""
    if (found := _ASIDE.fullmatch(name)) is None or is_of_evaluation(found["aside"]):
        return ()
    said = words_of(found["aside"])
    if "before" in said:  # the mean, say: then it is no mean
        return ()
    whom = [word for word, of in (("own", "of_rank"), ("mean", "of_all")) if not whose(of).isdisjoint(said)]
    return [*whom, *words_of(found["name"])] if len(whom) == 1 else ()


def _bare(words: Sequence[str]) -> Sequence[str]:
    """`loss on this rank` → own loss, `loss now`, `Loss/train` → loss; nothing where no such words stand behind it. A time of the training is none of
    a record."""
    for at in range(max(1, len(words) - 3), len(words)):
        if (term := _table()["after"].get("_".join(words[at:]))) is not None:
            said = _meaning(words[:at]) if term.meaning == "of_training" else None
            if term.meaning == "of_training" and (said is None or said.meaning not in _FIGURES):
                return ()
            whose_it_is = {"of_rank": ["own"], "of_all": ["mean"]}.get(term.meaning, [])
            return [*whose_it_is, *words[:at]]
    return ()


def _meaning(words: Sequence[str]) -> Meaning | None:
    terms, before = _table()[""], _table()["before"]
    if len(words) > 1 and words[-1] in whose() and "_".join(words[-2:]) not in terms:
        words = [words[-1], *words[:-1]]  # loss_local is local_loss
    for at in range(max(0, len(words) - 5), len(words)):
        term = terms.get("_".join(words[at:])) or (_run_together().get(words[at]) if at == len(words) - 1 else None)
        if term is None:
            continue
        if term.meaning == "other":
            return None
        sorts = [before[word].meaning if word in before else "named" for word in words[:at]]
        if "of_evaluation" in sorts or "derived" in sorts:
            return None
        # local_mse, where another mse is none
        whose_is_told = {"of_rank", "of_all"} if term.meaning == "loss" else set()
        if set(sorts) - {"neutral"} - whose_is_told and not term.takes_any:
            return None
        if "of_rank" in sorts and term.meaning == "grad_norm":
            return Meaning("own_grad_norm", term.unit, "local", "own")
        # nll beside loss is a part of it
        is_named = "named" in sorts or (term.meaning == "loss" and words[at] != "loss")
        sort = "own" if "of_rank" in sorts else "named" if is_named else "of_all" if "of_all" in sorts else "plain"
        return Meaning(term.meaning, term.unit, term.space, sort)
    return None


@lru_cache(maxsize=8192)
def of_process(name: str) -> str | None:
    """What a variable, an argument or a field says of the one process, or the node, that it belongs to: rank, local_rank, node_rank,
    world_size, processes_per_node, nodes; by its whole name."""
    whole = "_".join(words_of(name))
    term = _table()["process"].get(whole) or _table()[""].get(whole)
    return term.meaning if term is not None and term.meaning in _OF_PROCESS else None


@lru_cache(maxsize=8192)
def is_of_evaluation(text: str) -> bool:
    """Does a name, or the value of a field, tell of an evaluation?"""
    before = _table()["before"]
    return any(word in before and before[word].meaning == "of_evaluation" for word in words_of(text))


@lru_cache(maxsize=8192)
def evaluated(name: str) -> Meaning | None:
    """What a figure of an evaluation is of, as `val_loss` of a loss, whichever copy of the weights is judged (`val_loss_ema`); None of the best so far,
    and of what is no evaluation's."""
    before, words = _table()["before"], [word for word in words_of(name) if word not in COPIES]
    kept = [word for word in words if word not in before or before[word].meaning != "of_evaluation"]
    return _meaning(kept) if kept and len(kept) < len(words) and "best" not in words else None


def is_free(words: Sequence[str]) -> bool:
    """May words of a sentence stand before a name without changing it: none of a preposition, none that tells of whom or which it is?"""
    before, pointing = _table()["before"], _table()["pointing"]
    return not any(
        word.lower() in pointing or (word.lower() in before and before[word.lower()].meaning != "neutral")
        or words_of(word) != [word.lower()]
        for word in words
    )  # fmt: skip


@lru_cache(maxsize=8192)
def points_elsewhere(name: str) -> bool:
    """Is a word of a name one that points at somebody else: a peer, a source, a target?"""
    return not _table()["pointing"].keys().isdisjoint(words_of(name))


@lru_cache(maxsize=8192)
def is_unknown(name: str) -> bool:
    """Is nothing known of a name, neither of its end nor of a word in it that tells of an evaluation or of what is derived?"""
    known, before = words_of(name), _table()["before"]
    is_derived = any(word in before and before[word].meaning in ("of_evaluation", "derived") for word in known)
    ends = ("_".join(known[at:]) for at in range(len(known)))
    return bool(known) and not is_derived and meaning_of(name) is None and not any(end in _table()[""] for end in ends)


@lru_cache(maxsize=2048)
def columns(names: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    """Meaning → the names that have it, in the order of the table, then in their own. Of several losses it is one, or none: the
    first of a rank's own, a plain one, one of all ranks, any other, of which there is just one."""
    order = {term.meaning: at for at, term in reversed(list(enumerate(_table()[""].values())))}
    known = [(name, said) for name in names if (said := meaning_of(name)) is not None]
    made: dict[str, list[str]] = {}
    for name, said in sorted(known, key=lambda pair: order.get(pair[1].meaning, 0)):
        made.setdefault(said.meaning, []).append(name)
    for meaning in ("loss", "grad_norm"):
        by_sort = ([name for name, said in known if (said.meaning, said.sort) == (meaning, one)] for one in _LOSSES)
        if chosen := next((alone for alone in by_sort if len(alone) == 1), None):
            made[meaning] = chosen
        else:
            made.pop(meaning, None)
    for many in made.values():
        many.sort(key=_place)
    return made


def _place(name: str) -> int:
    """Where the end of a name stands in the table: of two names for one thing the earlier counts."""
    last, places = "_".join(words_of(name)), _places()
    return places.get(last, len(places))


@cache
def _places() -> Mapping[str, int]:
    return {name: at for at, name in enumerate(_table()[""])}


def meanings(names: Iterable[str]) -> frozenset[str]:
    """What the columns of a table mean."""
    return frozenset(columns(tuple(names)))


def told(said: Mapping[str, Any]) -> dict[str, Any]:
    """Meaning → the first cell with it that holds anything."""
    found: dict[str, Any] = {}
    for meaning, name in _pairs(tuple(said)):
        cell = said[name]
        if meaning not in found and cell is not None and (not isinstance(cell, str) or cell not in _EMPTY):
            found[meaning] = _counted(cell) if meaning in _OF_SOME else cell
    return found


def _counted(cell: Any) -> Any:
    """`5/8`, `5 of 8` → 5: which one of how many."""
    match = _ONE_OF.fullmatch(cell) if isinstance(cell, str) else None
    return match["one"] if match else cell


@lru_cache(maxsize=2048)
def _pairs(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((meaning, name) for meaning, many in columns(names).items() for name in many)
