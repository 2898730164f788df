"""Lists of pods, as `kubectl get pods` prints them.

    NAMESPACE   NAME            READY   STATUS      RESTARTS      AGE     IP           NODE
    research    sft-master-0    0/1     Error       0             3h41m   10.80.7.20   gpu-017
    research    sft-worker-2    0/1     OOMKilled   1 (2m ago)    3h41m   10.80.7.66   gpu-018

The namespace stands there with `-A`, address and node with `-o wide`. A list ends at the first line that has not its form. A row
tells how a pod was when the list was printed, and no list tells when that was: what may follow from it, and that it is no older
attempt's, is for facts to ask (forensics/facts/ends/listed_pods.py).

Events `other` (code `pod_listed`), one per row: `detail` has the pod (`listed`), its namespace, status, restarts and age, how many
containers it has, and the line of the list's header. And `exit` of nobody for each that was killed for memory.

Printed by: kubectl get pods, with or without -A, -o wide, -w, --show-labels.
Versions: Kubernetes 1.
Source: the printers of pods and kubectl's human durations in Kubernetes (pkg/printers/internalversion, apimachinery/pkg/util/duration).
"""

import json
import re

import polars as pl

from parsers.schema.event_kinds import POD_LISTED
from parsers.schema.lines import TEXT_CHARACTERS, event
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_ROWS = 2000  # of one list
_HEADER = regex(r"(?:^|\s)(?P<namespace>NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\b")
_ROW = regex(
    r"(?:^|\s)(?P<pod>[a-z\d][a-z\d.-]{0,252})\s+\d{1,3}/(?P<containers>\d{1,3})\s+(?P<status>[A-Z][\w:/.-]{1,60})"
    r"\s+(?P<restarts>\d{1,6})(?:\s+\([^()]{1,30}\))?\s+(?P<age>(?:\d{1,6}[smhdy]){1,3})(?:\s|$)"
)
_NAMESPACE = regex(r"(?P<name>[a-z\d][a-z\d-]{0,62})\s*$")


def parse(lines: pl.DataFrame) -> Tables:
    """events other (code pod_listed) and exit."""
    events = []
    header: re.Match[str] | None = None
    begun, last = 0, ("", 0)
    for row in lines.iter_rows(named=True):
        text = row["raw"][:TEXT_CHARACTERS]
        if row["hit"] and (found := _HEADER.search(text)):
            header, begun, last = found, row["line"], (row["file"], row["line"])
            continue
        one = _ROW.search(text) if header is not None and last == (row["file"], row["line"] - 1) else None
        space = _NAMESPACE.search(text[: one.start()]) if one is not None and header is not None else None
        if header is None or one is None or (header["namespace"] is not None and space is None):
            header = None
            continue
        last = (row["file"], row["line"])
        cells = {
            "listed": one["pod"],
            "namespace": space["name"] if space is not None and header["namespace"] is not None else None,
            "containers_of_pod": int(one["containers"]), "status": one["status"], "restarts": int(one["restarts"]),
            "age": one["age"], "list": begun,
        }  # fmt: skip
        nobodys = {"rank": None, "local_rank": None, "host": None}
        detail = json.dumps(cells, sort_keys=True)
        events.append(event(row, "other", code=POD_LISTED, severity="info", detail=detail, **nobodys))
        if one["status"] == "OOMKilled":
            told = json.dumps({"listed": one["pod"]})
            events.append(event(row, "exit", code="Out Of Memory", severity="error", detail=told, **nobodys))
    return tables_of(events=events)


PARSER = LineParser(
    name="pod_list",
    anchors=(b"RESTARTS",),
    holds=regex(rb"\bNAME\s+READY\s+STATUS\s+RESTARTS\b"),
    parse=parse,
    after=_ROWS,
    follows=regex(rb"[a-z\d]\s+\d{1,3}/\d{1,3}\s+[A-Z]"),
)
