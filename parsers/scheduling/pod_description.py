"""How a pod's containers ended, as `kubectl describe pod` prints it.

    Name:             worker-3
    Namespace:        research
    Node:             gpu-017/10.20.0.17
    Containers:
      trainer:
        State:          Terminated
          Reason:       OOMKilled
          Exit Code:    137
          Started:      Sun, 01 Mar 2026 09:00:00 +0000
          Finished:     Sun, 01 Mar 2026 10:11:12 +0000
        Last State:     Terminated
          Reason:       Error
          Exit Code:    1

A container's host name is that of its pod, so the pod stands in `host` and the node in `names_hosts`. OOMKilled is the
word of the kubelet for a kill by the kernel for memory. `Last State` is the run before the container was started again;
its own time tells which. A pod that a kubelet evicted says so itself (`Reason: Evicted`), a `scheduler` event. How many containers the pod has is told, for the process of a rank runs in one of them alone.

Printed by: kubectl describe pod, one or several pods in a file.
Versions: all since Kubernetes 1.8.
Source: kubectl's describer of pods, and ContainerStateTerminated in the API reference.
"""

import json
import re
from typing import Any

from parsers.forms.reading import text_lines
from parsers.scheduling.ended_containers import Ended, ended
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.stamps import formed_ns

EVICTED = "Evicted"
_TOP = regex(r"^(?P<name>[A-Z][\w /-]{1,40}):(?:\s+(?P<value>\S.*?))?\s*$")
_CONTAINER = regex(r"^ {2}(?P<container>[a-z0-9][\w.-]{0,80}):\s*$")
_FIELD = regex(
    r"^ {4,8}(?P<name>State|Last State|Reason|Exit Code|Signal|Message|Started|Finished):\s+(?P<value>\S.*?)\s*$"
)
_PROMPT = regex(rb"\A(?:[$#%>].{0,400}\n)+")  # the command, as people paste it
_PLAIN = regex(r"^\s+\S|^\s*$|^---")
_STATE = regex(rb"\n {4}(?:Last )?State: ")
_HEAD = regex(rb"^Name: +\S+\r?\n(?:.*\n){0,40}?(?:Node|Namespace|Containers):", re.MULTILINE)


def accepts(_path: str, head: bytes) -> bool:
    """The file begins with a pod's name and names its namespace, node and containers, or how one of them is: people copy parts."""
    start = _PROMPT.sub(b"", head[:16384].lstrip())
    is_of_pod = start.startswith(b"Name:") and b"\nNamespace:" in start and _HEAD.match(start) is not None
    return is_of_pod and (b"\nContainers:" in start or _STATE.search(start) is not None)


def parse(source: Source) -> Tables:
    """events host_oom (code OOMKilled) and exit (code = exit code), one per container that ended other than well; scheduler (code Evicted)."""
    reader = _Reader(source.path)
    for number, text in text_lines(source):
        reader.read(number, text)
    reader.end_pod()
    return tables_of(events=reader.events, claimed=[{"file": source.path, "line": line} for line in reader.claimed])


class _Reader:
    def __init__(self, path: str) -> None:
        self.path = path
        self.events: list[dict[str, Any]] = []
        self.claimed: list[int] = []
        self._pod: dict[str, str] = {}
        self._container: str | None = None
        self._state: dict[str, str] = {}
        self._line = self._reason = 0
        self._section = ""
        self._containers = 0
        self._of_pod: list[tuple[dict[str, Any], dict[str, Any]]] = []  # event and detail, of this pod

    def read(self, number: int, text: str) -> None:
        if found := _TOP.match(text):
            self.close()
            if found["name"] == "Name":
                self.end_pod()
            self._pod[found["name"]] = found["value"] or ""
            self._reason = number if found["name"] == "Reason" else self._reason
            self._container, self._section = None, found["name"]
        elif found := _CONTAINER.match(text):
            self.close()
            self._container = found["container"]
            self._containers += self._section == "Containers"  # volumes are listed in the same form
        elif found := _FIELD.match(text):
            self._field(number, found["name"], found["value"])
        elif not _PLAIN.match(text):
            return  # what follows may be a log, and is for others to read
        self.claimed.append(number)

    def _field(self, number: int, name: str, value: str) -> None:
        if name.endswith("State"):
            self.close()
            self._state, self._line = {"State": value, "Of": name}, number
        elif self._state:
            self._state.setdefault(name, value)
            if name == "Reason":
                self._line = number

    def close(self) -> None:
        """The end of a state: an event, if the container ended other than well."""
        state, self._state = self._state, {}
        code = state.get("Exit Code", "")
        if state.get("State") != "Terminated" or code in ("", "0") or "Name" not in self._pod:
            return
        pod, node = self._pod["Name"], self._pod.get("Node", "").partition("/")[0]
        finished = formed_ns(state.get("Finished", ""), "%a, %d %b %Y %H:%M:%S %z")
        one = Ended(pod, pod, node, self._container, state.get("Reason"), code, finished, "Last" in state["Of"])
        self._of_pod.append(ended(one, self.path, self._line))

    def end_pod(self) -> None:
        """The end of a pod's description: its events, with the number of its containers."""
        self.close()
        containers = self._containers or len(self._of_pod)  # of a part that was copied, those that it tells of
        self.events += [
            row | {"detail": json.dumps(told | {"containers": containers}, sort_keys=True)}
            for row, told in self._of_pod
        ]
        if self._pod.get("Reason") == EVICTED and "Name" in self._pod:
            self.events.append(self._evicted())
        self._pod, self._containers, self._of_pod = {}, 0, []

    def _evicted(self) -> dict[str, Any]:
        """What a pod's own status says of it, without a time."""
        text = f"{EVICTED}: {self._pod.get('Message', '')}".rstrip(": ")
        detail = json.dumps({"object": f"pod/{self._pod['Name']}"})
        place = {"file": self.path, "line": self._reason}
        return place | {
            "kind": "scheduler",
            "code": EVICTED,
            "severity": "fatal",
            "text": text[:2000],
            "detail": detail,
        }


PARSER = FileParser(name="pod_description", accepts=accepts, parse=parse, shared=True)
