"""A host that a cluster lost, a device that fell off its bus there, and ranks that waited for those that ran there: one incident, nobody else named."""

from pathlib import Path

from forensics import analyze
from tests.sources import written

HOSTS = ("quay-3", "quay-9", "quay-7", "quay-5")


def log(pod: int) -> list[str]:
    own = [2 * pod, 2 * pod + 1]
    told = [f"[rank{rank}] 12:0{rank}:00 started rank={rank} world_size=8 node={HOSTS[pod]}" for rank in own]
    told += [
        f"[rank{rank}] 12:10:{step:02d} step {step} loss {2 - step / 90:.3f}" for step in range(1, 9) for rank in own
    ]
    late = (
        "[rank{r}]:[E1130 12:20:00.123 ProcessGroupNCCL.cpp:629] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=451, "
        "OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600014 milliseconds before timing out."
    )
    return told + ([] if pod == 2 else [late.format(r=rank) for rank in own])


def test_the_host_is_told_once_and_no_rank_of_others(tmp_path: Path) -> None:
    files = {f"logs/job-{pod}-x{pod}k2m.log": log(pod) for pod in range(4)}
    files["console_quay-7.txt"] = [
        "[5305477.882121] NVRM: Xid (PCI:0000:a3:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "[5305477.882133] NVRM: GPU 0000:a3:00.0: GPU has fallen off the bus.",
    ]
    files["events.txt"] = [
        "NAMESPACE   LAST SEEN   TYPE      REASON         OBJECT        MESSAGE",
        "default     27m         Normal    NodeNotReady   node/quay-7   Node quay-7 status is now: NodeNotReady",
    ]
    files["pods.txt"] = [
        "NAME          READY   STATUS        RESTARTS   AGE     IP            NODE",
        *(f"job-{pod}-x{pod}k2m   0/1     Error   0   3h   10.244.17.4{pod}   {HOSTS[pod]}" for pod in range(4)),
    ]
    verdict = analyze(written(tmp_path, files)).verdict
    assert not {*verdict.ranks} - {4, 5}
    assert (verdict.cause in ("gpu_fault", "rank_died"), [*verdict.hosts]) == (True, ["quay-7"])
