"""Lines of a kubelet's own log that speak of a pod: which container it ends, and why.

    I1030 10:14:01.221004 11872 kuberuntime_manager.go:1026] "Message for Container of pod" containerName="trainer" pod="ml/worker-2"
        containerMessage="Container trainer failed liveness probe, will be restarted"
    I1030 10:14:01.221066 11872 kuberuntime_container.go:808] "Killing container with a grace period" pod="ml/worker-2" containerName="trainer"
    I1030 10:14:01.221066 11872 eviction_manager.go:616] "Eviction manager: pod is evicted successfully" pod="ml/worker-2"

      Warning  BackOff  2m49s (x3 over 9m)  kubelet  Back-off restarting failed container …      (the end of `kubectl describe pod`)

Events `scheduler` like those of `kubectl get events`: `code` the event that Kubernetes shows for the same, `detail.object` the pod, and its
container where one is told.

Printed by: kubelet; kubectl describe, of what a kubelet warned of.
Versions: Kubernetes 1.20 to 1.35.
Source: not read: pkg/kubelet/kuberuntime/kuberuntime_manager.go and kuberuntime_container.go, pkg/kubelet/eviction/eviction_manager.go
of kubernetes/kubernetes; the forms are as users print them.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_POD = r'(?=.{0,2000}?\bpod="(?P<space>[\w.-]{1,253})/(?P<pod>[\w.-]{1,253})")(?:(?=.{0,2000}?\bcontainerName="(?P<container>[\w.-]{1,253})"))?'


def _named(groups: Mapping[str, str]) -> dict[str, Any]:
    return {"detail": {"object": f"pod/{groups['pod']}", "space": None, "pod": None}}


RULES = (
    Rule(
        regex(rf'"Message for Container of pod"{_POD}.{{0,2000}}? failed (?:liveness|startup) probe, will be restarted'),
        "scheduler", "info", "Killing", _named,
    ),
    Rule(regex(rf'"Killing container with a grace period"{_POD}'), "scheduler", "info", "Killing", _named),
    Rule(regex(rf'"Probe failed"{_POD}'), "scheduler", "warning", "Unhealthy", _named),
    Rule(regex(rf'"Eviction manager: pod is evicted successfully"{_POD}'), "scheduler", "fatal", "Evicted", _named),
    Rule(
        regex(
            r"^\s*Warning\s+(?P<reason>BackOff|Unhealthy|Failed\w{0,40})\s+(?:\d\S{0,20}|<\w{1,20}>)(?: \(x\d{1,9} over \w{1,20}\))?\s+kubelet(?:, \S{1,253})?\s+\S"
        ),
        "scheduler", "warning", "{reason}",
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events scheduler."""
    return read_rules(lines, RULES, rank=None)


PARSER = LineParser(
    name="kubelet",
    anchors=(b'"Message for Container of pod"', b'"Killing container with', b'"Probe failed"', b'"Eviction manager: pod is evicted', b"Warning  "),
    parse=parse,
)  # fmt: skip
