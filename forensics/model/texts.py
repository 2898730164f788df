"""How ranks, times and figures are written."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from forensics.model.said import Form, Said, joined

_RUNS = 8  # of ranks, in a sentence
UNNAMED_GROUP = "an unnamed group"  # of which a line prints neither name nor number
WORLD_COMMUNICATOR = "communicator of all ranks"  # whose id is of one process, and no name of the group
SITE: Mapping[str, str] = {  # Site → what a rank was doing, after "is" or "the stack shows it"
    "data_loading": Said("in data loading", "加载数据"),
    "checkpoint_io": Said("reading or writing a checkpoint", "读写检查点"),
    "storage_io": Said("waiting for storage", "等待存储"),
    "compute": Said("computing", "计算"),
    "lock": Said("waiting for a lock", "等锁"),
    "compile": Said("compiling", "编译"),
    "gpu_sync": Said("waiting for its GPU", "等待 GPU"),
    "logging": Said("writing logs", "写日志"),
    "evaluation": Said("evaluating", "评估"),
    "teardown": Said("shutting down", "退出"),
    "unresponsive": Said("not answering", "无响应"),
    "communication": Said("in communication", "通信"),
    "unknown": Said("not known", "未知"),
}

IN_THE_TOKENIZER = Said("in the tokenizer", "分词")
_TOKENIZER = re.compile(r"(?i)tokeni[sz]")
AT_THE_PIPE = Said("waiting for the other end of a pipe (FIFO)", "等待管道（FIFO）的另一端")
# Functions of Linux' fs/pipe.c: nothing of a disk is asked there.
SILENT = "silent"  # the signature of processes that answered no sampler
AT_A_PIPE = re.compile(r"(?:wait_for_partner|fifo_open|(?:anon_)?pipe_\w+)\b")


def doing(site: str, at: str | None) -> str:
    """What a rank was doing, by the name of the place in its stack: text is made tokens of elsewhere than in a loader, too; and who opens
    a pipe waits for another process."""
    if site == "storage_io" and AT_A_PIPE.match(at or ""):
        return AT_THE_PIPE
    return IN_THE_TOKENIZER if site == "data_loading" and _TOKENIZER.search(at or "") else SITE[site]


PHASE: Mapping[str, Said] = {  # of a step, as parsers name it
    "forward": Said("forward", "前向"),
    "recompute": Said("recompute", "重计算"),
    "backward": Said("backward", "反向"),
    "optimizer": Said("optimizer", "优化器更新"),
    "grad_sync": Said("grad_sync", "梯度同步"),
    "comm": Said("comm", "通信"),
}


def ranges(values: Iterable[int]) -> str:
    """Sorted unique integers as text: {0, 1, 2, 4} → "0-2,4"."""
    known = set(values)
    firsts = sorted(value for value in known if value - 1 not in known)
    lasts = sorted(value for value in known if value + 1 not in known)
    return ",".join(str(one) if one == last else f"{one}-{last}" for one, last in zip(firsts, lasts, strict=True))


def range_list(values: Iterable[int]) -> list[str]:
    """As `ranges`, one text per run, the form of the contract's `[ranges]`."""
    text = ranges(values)
    return text.split(",") if text else []


def iso(time_ns: int | None) -> str | None:
    """Nanoseconds since 1970 → ISO 8601 UTC with microseconds; null stays null."""
    if time_ns is None:
        return None
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def cut_middle(text: str, most: int) -> str:
    """At most so many characters: what a program printed, without its middle. It says first what is wrong and last what cures it."""
    return text if len(text) <= most else halves(text[: most * 2 // 5], text[most * 2 // 5 + 3 - most :])


def halves(begin: str, end: str) -> str:
    """What was cut out between them shows as …; the word that a cut goes through is left out, where there are others."""
    whole_words = begin.rpartition(" ")[0], end.partition(" ")[2]
    return " … ".join(words.strip() or cut.strip() for words, cut in zip(whole_words, (begin, end), strict=True))


_GROUPS = {
    UNNAMED_GROUP: Said(UNNAMED_GROUP, "未命名的进程组"),
    WORLD_COMMUNICATOR: Said(WORLD_COMMUNICATOR, "全部 rank 的通信域"),
}
_SORTS = {"communicator": Form("communicator {name}", "通信域 {name}"), "group": Form("group {name}", "进程组 {name}")}
RANK, _TWO_RANKS = Form("rank {ranks}", "rank {ranks}"), Form("ranks {one} and {other}", "rank {one}、{other}")
RANKS, RANKS_OF_MANY = (
    Form("ranks {ranks}", "rank {ranks}"),
    Form("ranks {ranks}, … ({number:,} in all)", "rank {ranks}…（共 {number:,} 个）"),
)
_FIRST = Form("{names} and {number} more", "{names}（另有 {number} 个）")


def ranks_text(ranks: Iterable[int]) -> Said:
    """ "rank 5", "ranks 2 and 6", "ranks 1-3, 7"; of many runs the first, and how many ranks there are."""
    known = sorted(set(ranks))
    runs = range_list(known)
    if len(runs) == 2 == len(known):
        return _TWO_RANKS(one=runs[0], other=runs[1])
    shown = joined(runs[:_RUNS], ", ")
    if len(runs) > _RUNS:
        return RANKS_OF_MANY(ranks=shown, number=len(known))
    return (RANK if len(known) == 1 else RANKS)(ranks=shown)


def first_of(names: Sequence[str], most: int) -> Said:
    """ "node1, node2 and 3 more"."""
    shown = joined(names[:most], ", ")
    return shown if len(names) <= most else _FIRST(names=shown, number=len(names) - most)


def head_of(names: Sequence[str], most: int) -> Said:
    """ "node1, node2, …"."""
    return joined((*names[:most], *(("…",) if len(names) > most else ())), ", ")


def group_text(label: str) -> str:
    """A group by its name, for sentences: what is not the job's own word for it has a Chinese one."""
    if label in _GROUPS:
        return _GROUPS[label]
    sort, _, name = label.partition(" ")
    return _SORTS[sort](name=name) if sort in _SORTS and name else label


def listed(numbers: Iterable[int]) -> Said:
    """`3, 5-7`, for sentences about numbers that are not known to be global."""
    return joined(range_list(numbers), ", ")
