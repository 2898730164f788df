"""Which process of an engine speaks, in logs of inference engines that rollouts and rewards run on.

    [2026-11-02 23:02:01 TP2] Scheduler hit an exception: …                                SGLang
    (Worker_TP2 pid=9052) ERROR 11-02 23:02:01 [multiproc_executor.py:703] …              vLLM
    (VllmWorker rank=2 pid=9052) …   (VllmWorker TP2 pid=9052) …                           vLLM 0.8 to 0.10
    server_args=ServerArgs(model_path=…, tp_size=4, …)   --tensor-parallel-size 4          how many there are

Both engines put each axis of the layout into this name that is larger than one: where it tells the tensor axis alone, that is the place
in the engine, whose ranks are its own. Few of them may speak: the first always does, another when it fails. A file in which anybody tells a rank
otherwise, or two engines speak (one place with two pids), is left to what is learnt of labels.

Printed by: SGLang's schedulers, vLLM's workers.
Versions: SGLang 0.3 to 0.5, vLLM 0.8 to 0.14.
Source: configure_logger in sglang/srt/managers/scheduler.py; decorate_logs in vllm/utils/system_utils.py with its callers in v1/executor/multiproc_executor.py.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from parsers.schema.labels import NO_LABELS, Form, Labels
from parsers.text.patterns import regex
from parsers.text.unanimous import sole
from parsers.who.lines.beginnings import Begun, Said

SHARD = "shard of an engine"
_SGLANG = regex(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d TP(?P<place>\d{1,3})\] ")
_VLLM = regex(r"\((?:Worker_TP|VllmWorker (?:rank=|TP))(?P<place>\d{1,3}) pid=(?P<pid>\d{1,10})\) ")
_SIZE = regex(r"(?:\btp_size|\btensor_parallel_size|--tp(?:-size)?|--tensor-parallel-size)(?:=| {1,2})(\d{1,3})\b")
_FORM = Form("w", "TP", "", "]")


def engine_labels(
    said: Begun, ranks: Mapping[str, int], learnt: Mapping[str, Labels]
) -> tuple[dict[str, Labels], list[dict[str, Any]]]:
    """Lines by path → the labels of such files, and rows of the table `ranks`; none of those that are one process's (`ranks`), or whose labels are `learnt`."""
    labels: dict[str, Labels] = {}
    claims: list[dict[str, Any]] = []
    for path, own in said.items():
        is_known = path in ranks or learnt.get(path, NO_LABELS) != NO_LABELS
        if is_known or any(one.introduces is not None or one.line.rank is not None for one in own):
            continue
        first: dict[int, Said] = {}
        pids: defaultdict[int, set[int]] = defaultdict(set)
        for one in own:
            if found := _SGLANG.search(one.raw) or _VLLM.search(one.raw):
                first.setdefault(int(found["place"]), one)
                pids[int(found["place"])] |= {int(pid)} if (pid := found.groupdict().get("pid")) else set()
        size = sole(int(size) for one in own for size in _SIZE.findall(one.raw))
        if not first or any(len(each) > 1 for each in pids.values()) or (size is not None and max(first) >= size):
            continue
        labels[path] = Labels(frozenset({_FORM}))
        for place, one in sorted(first.items()):
            told = {"rank": place, "pid": min(pids[place], default=None), "world_size": size}
            claims.append(told | {"host": one.line.host, "how": SHARD, "file": path, "line": one.number})
    return labels, claims
