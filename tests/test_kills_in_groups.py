"""A kernel's kill that tells only a control group: lists of pods say whose it is; what the job outlived, and another's, accuse nobody."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.text.stamps import parse_time
from tests.sources import written

UID = "278cad0e-2f7f-4d58-ae0e-ffc5931aac16"
CONTAINER = "f5a799ee6cf5518e8745f5a9709b030d0521b1d40b1de967af3fc4112f632491"
PODS = [f"lm-peer-{at}" for at in range(4)]
UIDS = [
    "20a65299-1658-491f-aeeb-ef212e835b16",
    "b81184d5-d0c1-4f80-afc6-a810c4d36f14",
    UID,
    "4d2d79cc-735e-49a4-a19b-8972d480fc69",
]
OTHER = "e093e361-7eea-48d8-a93b-31fe173d769b"
LOG = [
    f"2026-05-20T06:{at:02d}:00Z {pod} t | step {100 + at} loss 2.{90 - at}" for at in range(10, 37) for pod in PODS[:1]
]
LOST = [f"2026-05-20T06:37:22Z {pod} t | ConnectionResetError: peer closed the ring" for pod in PODS if pod != PODS[2]]
STATUS = [
    "apiVersion: v1", "kind: List", "items:",
    *(line for at, pod in enumerate(PODS) for line in (
        "- metadata:", f"    name: {pod}", f"    uid: {UIDS[at]}", "  spec: {nodeName: kd-" + str(at) + "}", "  status:", "    phase: Failed", "    containerStatuses:", "    - name: t",
        f"      containerID: containerd://{CONTAINER if at == 2 else str(at) * 64}", "      state:", "        terminated:", "          exitCode: 137", "          reason: Error",
        f'          finishedAt: "2026-05-20T06:37:{22 if at == 2 else 28}Z"')),
]  # fmt: skip
TABLE = [
    "NAMESPACE\tNAME\tNODE\tUID",
    *(f"lab\t{pod}\tkd-{at}\t{UIDS[at]}" for at, pod in enumerate(PODS)),
    f"lab\tnb-ilse-0\tkd-2\t{OTHER}",
]


def kill(group: str, at: str = "May 20 06:37:21") -> list[str]:
    return [
        f"{at} kd-2 kernel: python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=936",
        f"{at} kd-2 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),mems_allowed=0-1,oom_memcg={group},task_memcg={group},task=python3,pid=3301744,uid=0",
        f"{at} kd-2 kernel: Memory cgroup out of memory: Killed process 3301744 (python3) total-vm:164883656kB, anon-rss:114401208kB, UID:0",
    ]


GROUPS = {
    "systemd, a pod": f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice",
    "cgroupfs, a pod": f"/kubepods/burstable/pod{UID}",
    "a container of containerd": f"/kubepods.slice/x.slice/cri-containerd-{CONTAINER}.scope",
    "a container of CRI-O": f"/kubepods.slice/x.slice/crio-{CONTAINER}.scope",
    "a container below its pod": f"/kubepods/burstable/pod{UID}/{CONTAINER}",
    "guaranteed": f"/kubepods/pod{UID}/{CONTAINER}",
}
LISTS = {"statuses": {"pods.yaml": STATUS}, "statuses and a table": {"pods.yaml": STATUS, "pods.tsv": TABLE}}
FORMS = [(group, "statuses") for group in GROUPS] + [
    ("systemd, a pod", "statuses and a table"),
    ("cgroupfs, a pod", "statuses and a table"),
]


@pytest.mark.parametrize(("group", "lists"), FORMS)
def test_the_kill_is_why_all_ended(tmp_path: Path, group: str, lists: str) -> None:
    verdict = analyze(
        written(tmp_path, {"stern.txt": [*LOG, *LOST], "kd-2.txt": kill(GROUPS[group]), **LISTS[lists]})
    ).verdict
    assert (verdict.kind, verdict.cause, verdict.hosts) == ("crash", "host_oom", ["kd-2"])


@pytest.mark.parametrize("separator", ["\t", ",", ";", " | "])
def test_a_table_alone_tells_whose_a_pod_is(tmp_path: Path, separator: str) -> None:
    rows = [line.replace("\t", separator) for line in TABLE]
    statuses = [line for line in STATUS if "uid:" not in line and "containerID" not in line]
    verdict = analyze(
        written(
            tmp_path,
            {
                "stern.txt": [*LOG, *LOST],
                "kd-2.txt": kill(GROUPS["systemd, a pod"]),
                "pods.yaml": statuses,
                "pods.csv": rows,
            },
        )
    ).verdict
    assert (verdict.cause, verdict.hosts) == ("host_oom", ["kd-2"])


@pytest.mark.parametrize(
    "lines",
    [kill(GROUPS["cgroupfs, a pod"].replace(UID, OTHER)), kill(GROUPS["systemd, a pod"], "May 18 15:02:10")],
    ids=["of another's pod", "two days before"],
)
def test_a_kill_that_is_not_why(tmp_path: Path, lines: list[str]) -> None:
    verdict = analyze(
        written(tmp_path, {"stern.txt": [*LOG, *LOST], "kd-2.txt": lines, "pods.yaml": STATUS, "pods.tsv": TABLE})
    ).verdict
    assert verdict.cause != "host_oom" and verdict.hosts != ["kd-2"]


STAMPS = ("[日 11月 29 22:17:38 2026] x", "[Sun Nov 29 22:17:38 2026] x", "[So Nov 29 22:17:38 2026] x", "[dim. nov. 29 22:17:38 2026] x", "[dom nov 29 22:17:38 2026] x",
          "[Вс ноя 29 22:17:38 2026] x", "[일 11월 29 22:17:38 2026] x", "[nie lis 29 22:17:38 2026] x", "[Paz Kas 29 22:17:38 2026] x", "[zo nov 29 22:17:38 2026] x")  # fmt: skip


@pytest.mark.parametrize("stamp", STAMPS)
def test_a_clock_in_another_language(stamp: str) -> None:
    assert parse_time(stamp) == parse_time("[Sun Nov 29 22:17:38 2026] x")


@pytest.mark.parametrize("text", ["the values 29 22:17:38 2026", "so much 29 22:17:38 2026", "a b 29 22:17 2026"])
def test_words_are_no_months(text: str) -> None:
    assert parse_time(text) == (None, None)
