"""A few lines as somebody pastes them, without rank, stamp or end: what their printers say in other versions is heard alike, and
what only looks like it accuses nobody."""

from pathlib import Path

import pytest

from tests.pasted import verdict_of

NOTHING = ("unknown", None)
AER = (
    "[  +0.000001] pcieport 0000:00:03.0: AER: {how}Uncorrected ({level}) error received: 0000:00:03.0\n"
    "[  +0.000005] {driver} 0000:04:00.0: AER: can't recover (no error_detected callback)\n"
    "[  +0.000039] pcieport 0000:00:03.0: AER: device recovery failed\n"
)


@pytest.mark.parametrize(
    "text",
    [
        "[9.1] amdgpu 0000:c3:00.0: amdgpu: GPU mode2 reset failed\n",
        "[9.1] amdgpu 0000:c3:00.0: amdgpu: GPU reset(4) failed\n",
        "[9.1] amdgpu 0000:c3:00.0: amdgpu: GPU reset end with ret = -110\n",
        "[9.1] [drm:amdgpu_device_ip_resume_phase2 [amdgpu]] *ERROR* resume of IP block <gfx_v9_4_3> failed -110\n",
        AER.format(how="", level="Fatal", driver="nvidia"),
        AER.format(how="Multiple ", level="Fatal", driver="amdgpu"),
    ],
)
def test_a_kernel_that_cannot_bring_a_gpu_back_tells_of_the_gpu(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text, "dmesg.txt")
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_fault", [])


@pytest.mark.parametrize(
    "text",
    [
        "[9.1] amdgpu 0000:c3:00.0: amdgpu: GPU reset(4) succeeded!\n",
        AER.format(how="", level="Non-Fatal", driver="nvidia"),
        AER.format(how="", level="Fatal", driver="snd_hda_intel"),
        "[9.1] nvidia-nvswitch1: SXid (PCI:0000:07:00.0): 22013, Non-fatal, Link 12 Minion Link DLREQ interrupt\n"
        "[9.2] nvidia-nvswitch1: SXid (PCI:0000:07:00.0): 22013, Severity 0 Engine instance 12 Sub-engine instance 00\n",
        "Nov 04 22:51:38 box3 systemd[1]: nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE\n",
        "Nov 04 22:51:38 box3 systemd[1]: nvidia-persistenced.service: Main process exited, code=exited, status=1/FAILURE\n",
    ],
)
def test_what_a_host_outlives_is_no_failure_of_a_gpu(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text, "journal.txt")
    assert (verdict.kind, verdict.cause) == NOTHING
    assert not verdict.hosts


def test_a_unit_of_the_job_still_ends(tmp_path: Path) -> None:
    line = "Nov 04 22:51:38 box3 systemd[1]: train@3.service: Main process exited, code=killed, status=9/KILL\n"
    assert verdict_of(tmp_path, line, "journal.txt").kind == "crash"


@pytest.mark.parametrize(
    ("text", "kind", "cause"),
    [
        ("n7:81:90 [2] create_nccl_ofi_component:459 NCCL WARN NET/OFI Couldn't open CQ. RC: -12, ERROR: Cannot allocate memory\n", "launch", "config_drift"),
        ("n7:81:90 [2] create_nccl_ofi_component:817 NCCL WARN NET/OFI Couldn't open a fabric access domain. RC: -38, ERROR: Function not implemented\n", "launch", "config_drift"),
        ("NET/OFI Couldn't allocate endpoint. RC: -22, ERROR: Invalid argument\n", "launch", "config_drift"),
        ("n7:81:81 [0] misc/socket.cc:441 NCCL WARN Call to bind failed: Cannot assign requested address\n", "launch", "wrong_interface"),
        ("[ERROR] HCCL(71,python):2026-01-31-10:11:12.220.614 [op_base.cc:904][71][Init]errNo[0x0000000005000001]HcclCommInitClusterInfo failed.\n", "launch", "config_drift"),
        ("hcl_device_control_factory.cpp::88(initDevice): The condition [ false ] failed. Invalid server type (7[X]) requested.\n", "launch", "config_drift"),
        ("demo error: In function init(): synDeviceAcquireByModuleId(&handle, 3) failed with synapse error: 8\n", "launch", "config_drift"),
        ("mlx5: n7: got completion with error:\n00000000 00000000 0000", "crash", "network_fault"),
        ("n7:81:90 [2] init.cc:1310 NCCL WARN Mismatched collective detected, please check your collective calls at and around rank 5.\n", "hang", "collective_mismatch"),
        ("2026-01-31 10:11:12.1: E base_collective_executor.cc:217] BaseCollectiveExecutor::StartAbort Deadline exceeded: it took too long\n", "hang", None),
    ],
)  # fmt: skip
def test_a_communicator_that_fails_is_heard_and_names_nobody(
    tmp_path: Path, text: str, kind: str, cause: str | None
) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == (kind, cause, [])


@pytest.mark.parametrize(
    "line",
    [
        "n7:81:81 [0] NCCL INFO NET/OFI Couldn't find a provider, using sockets\n",
        "[8.1] [n7:81:0]  ib_md.c:90 UCX  DEBUG ibv_reg_mr tried with less memory\n",
        "mlx5: n7: polling begins\n",
        "[8.1] [n7:81:0]  ib_log.c:246  UCX  ERROR mlx5_0: ibv_create_cq(cqe=64) failed: Cannot allocate memory\n1      0.27\n",
    ],
)
def test_a_way_round_is_no_failure(tmp_path: Path, line: str) -> None:
    assert verdict_of(tmp_path, line).kind == "unknown"


STALL = "W stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks. "


@pytest.mark.parametrize(
    ("rest", "ranks"),
    [
        ("\nStalled ops:\nHorovodBroadcast_a_0 [missing ranks: 0]\nHorovodBroadcast_b_0 [missing ranks: 0]\nHorovodBro", [0]),
        ("\nMissing ranks:\n1: [HorovodAllreduce_a_0, HorovodAllreduce_b_0, HorovodAllre", [1]),
        ("\nStalled ranks:\n2!: [HorovodAllreduce_a_0, HorovodAllre", [2]),
        ("Stalled ops: grad_a [ready ranks: 3, 1, 0, 5], grad_b [rea", []),  # the job may have more of them
    ],
)  # fmt: skip
def test_a_stall_is_heard_though_its_list_is_cut(tmp_path: Path, rest: str, ranks: list[int]) -> None:
    verdict = verdict_of(tmp_path, STALL + rest)
    assert (verdict.kind, verdict.ranks) == ("hang", ranks)


def test_of_a_list_of_those_that_came_the_rest_is_absent_where_the_job_is_known(tmp_path: Path) -> None:
    started = "".join(
        f"[1,{rank}]<stdout>:n1:8{rank}:9{rank} [{rank}] NCCL INFO comm 0x5 rank {rank} nranks 6 cudaDev {rank} busId 1{rank}000 - Init COMPLETE\n"
        for rank in range(6)
    )
    verdict = verdict_of(tmp_path, f"{started}[1,0]<stderr>:{STALL}Stalled ops: grad_a [ready ranks: 3, 1, 0, 5, 4]\n")
    assert (verdict.kind, verdict.cause, [*verdict.ranks] or [*verdict.suspects.ranks]) == ("hang", "rank_absent", [2])


def halvings(form: str, first: float, number: int) -> str:
    return "".join(form.format(step=at, before=first / 2**at, now=first / 2 ** (at + 1)) for at in range(number))


DEEPSPEED = "  0%|      | {step}/60210 [00:20<39:02,  2.2s/it][stage3.py:23:step] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {before}, reducing to {now}\n"


@pytest.mark.parametrize("text", [
    halvings(DEEPSPEED, 2.0**32, 12),
    halvings("OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {before}, reducing to {now}\n", 2.0**24, 7),
])  # fmt: skip
def test_a_scale_that_is_still_looked_for_is_no_collapse(tmp_path: Path, text: str) -> None:
    assert (verdict_of(tmp_path, text).kind, verdict_of(tmp_path, text).cause) == NOTHING


@pytest.mark.parametrize("text", [
    halvings("| WARNING: overflow detected, setting loss scale to: {now}\n", 1.0, 9),
    halvings("2026-01-31 10:11:12,008 [WARNING] overflow, drop step, loss scale adjust to {now}\n", 1024.0, 9),
    halvings(" iteration      {step}00/    3000 | elapsed time per iteration (ms): 12.1 | lm loss 5.8E+00 | loss scale {now} |\n", 64.0, 9),
])  # fmt: skip
def test_a_scale_that_falls_to_nothing_is_a_collapse(tmp_path: Path, text: str) -> None:
    assert (verdict_of(tmp_path, text).kind, verdict_of(tmp_path, text).cause) == ("numerics", "loss_scale_collapse")


def test_figures_called_in_brackets_are_read(tmp_path: Path) -> None:
    lines = (f"INFO | t:25 - [R0] | [Loss] {loss} | [exp] ./a/b | [step]   {at} | [url] none\n" for at, loss in ((5, 2.5), (6, "nan"), (7, "nan")))  # fmt: skip
    verdict = verdict_of(tmp_path, "".join(lines))
    assert (verdict.kind, verdict.first_anomaly and verdict.first_anomaly.step) == ("numerics", 6)


@pytest.mark.parametrize(
    ("losses", "kind"),
    [((2.5, 2.2, 900.0, 1400.0), "numerics"), ((2.5, 2.2, 900.0, 2.1), "unknown"), ((0.001, 0.002, 0.9, 1.4), "unknown")],
)  # fmt: skip
def test_a_loss_a_hundred_times_as_high_that_stays_needs_no_long_log(
    tmp_path: Path, losses: tuple[float, ...], kind: str
) -> None:
    text = "".join(f"step: {100 * at} loss: {loss}\n" for at, loss in enumerate(losses, 1))
    assert verdict_of(tmp_path, text).kind == kind


def test_a_tpu_that_reports_a_fatal_error_is_heard(tmp_path: Path) -> None:
    line = "(run pid=81, ip=10.0.0.7) E0131 10:11:12.6  42 driver.cc:8] [/dev/accel2 tpu9:pe1:2] !!!! FATAL ERROR !!!! for [/dev/accel2 tpu9:pe1:2] , fatal_error: true\n"
    verdict = verdict_of(tmp_path, line)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_fault", [])


STEP = "[2026-01-31T10:11:12.5] error: *** STEP 88.0 ON n7 CANCELLED AT 2026-01-31T10:11:12{why} ***\n"
ENDED = "srun: error: n7: tasks 0-2: Terminated\nsrun: error: n8: task 5: Exited with exit code 7\nsrun: error: n8: tasks 3-4,6: Terminated\n"


@pytest.mark.parametrize(
    "rest", ["", ENDED, "srun: Force Terminated StepId=88.0\n", "srun: error: n7: tasks 0-2,4: Terminated\n"]
)
def test_a_step_that_ends_since_a_task_failed_was_cancelled_by_nobody(tmp_path: Path, rest: str) -> None:
    verdict = verdict_of(tmp_path, STEP.format(why=" DUE TO TASK FAILURE") + rest, "slurm.err")
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("crash", None, [], [])


@pytest.mark.parametrize(
    ("why", "cause"),
    [("", "stopped_by_hand"), (" DUE TO SIGNAL Terminated", "stopped_by_hand"), (" DUE TO TIME LIMIT", "time_limit"), (" DUE TO PREEMPTION", "preempted")],
)  # fmt: skip
def test_whom_a_scheduler_stops_is_stopped_for_what_it_says(tmp_path: Path, why: str, cause: str) -> None:
    assert verdict_of(tmp_path, STEP.format(why=why), "slurm.err").cause == cause


LATE = "jaxlib.x.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: Client_Connect. Timed out task names:\n"
TASK = "/job:jax_worker/replica:0/task:{}\n"


def test_who_stands_below_a_barrier_that_timed_out_is_who_may_be_missing(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, LATE + "".join(map(TASK.format, (3, 1))) + "\nAdditional information\n")
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("launch", [], [1, 3])
    assert verdict.undecided == ["culprit_among_missing"]


@pytest.mark.parametrize(
    "text",
    [
        LATE + "\n" + "step 3\n" * 80 + TASK.format(3),  # far below, of something else
        LATE.replace("Timed out task names", "Some words"),
        "".join(map(TASK.format, (3, 1))),
    ],
)
def test_tasks_that_no_barrier_lists_are_no_suspects(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.ranks, verdict.suspects.ranks) == ([], [])


@pytest.mark.parametrize("who", [(1, 1, 2, 2, 0, 0), (0, 0), (2, 2, 1, 1)])
@pytest.mark.parametrize(
    "form",
    [
        "initializing ddp: GLOBAL_RANK: {}, MEMBER: {}/4\n",
        "[rank: {}] Initializing distributed: GLOBAL_RANK: {0}, MEMBER: {}/4\n",
    ],
)
def test_which_of_how_many_a_process_is_counts_nobody_who_came(tmp_path: Path, form: str, who: tuple[int, ...]) -> None:
    one = form.replace("{}", "{0}", 1).replace("{}", "{1}", 1)
    verdict = verdict_of(tmp_path, "".join(one.format(rank, rank + 1) for rank in who))
    assert (verdict.kind, verdict.suspects.ranks) == ("unknown", [])


def test_that_nothing_shows_a_failure_is_said_of_the_lines_that_were_read(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, "step: 1 loss: 2.5\nstep: 2 loss: 2.4\nthe hall is dark\nnobody answers\n")
    assert (verdict.kind, verdict.summary.endswith("2 of 4 lines are of no known form.")) == ("unknown", True)
    (tmp_path / "train.log").unlink()
    assert "no known form" not in verdict_of(tmp_path, "step: 1 loss: 2.5\nstep: 2 loss: 2.4\n", "other.log").summary


BAR = " 29%|██▉       | 94/323 [3:28:18<8:28:33,  1.33s/it{more}]"


@pytest.mark.parametrize(
    "bar", [BAR.format(more=""), BAR.format(more=", loss=3.2"), "Epoch 1: " + BAR.format(more=", v=9"), ""]
)
@pytest.mark.parametrize(
    ("last", "kind", "cause"),
    [
        ("Killed\n", "crash", "killed"),
        ("Segmentation fault (core dumped)\n", "crash", "segfault"),
        ("F0131 10:11:12.890307  9276 demo.cc:48] Check failed: ok\n", "crash", "exception"),
        ("F0000 00:00:1717141650.890307  9276 demo.cc:48] Non-OK-status: status status: INTERNAL: halted\n", "crash", "exception"),
        ("2026-01-31 10:11:12 ERROR demo: OSError: [Errno 28] No space left on device\n", "crash", "disk_full"),
    ],
)  # fmt: skip
def test_what_is_printed_behind_a_progress_bar_is_a_line(
    tmp_path: Path, bar: str, last: str, kind: str, cause: str
) -> None:
    verdict = verdict_of(tmp_path, bar + last)
    assert (verdict.kind, verdict.cause, verdict.ranks) == (kind, cause, [])


@pytest.mark.parametrize(
    "text",
    [
        BAR.format(more="") + "\n",
        BAR.format(more="") + " Killed 3 of 9 trolls\n",
        BAR.format(more=", last=Killed") + "\n",
        BAR.format(more="") + "Killed time while waiting\n",
        BAR.format(more="") + "I0131 10:11:12.890307  9276 demo.cc:48] Non-OK-status: cached\n",
        BAR.format(more="") + "saved 3 files\n",
        "the shell said [maybe]Killed\n",
        "a|b|c 3/4 [1]Segmentation fault handler installed\n",
    ],
)
def test_a_bar_and_other_words_behind_it_are_no_end(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause) == NOTHING


CALL = '[rank{0}]: Traceback (most recent call last):\n[rank{0}]:   File "/x/torch/distributed/utils.py", line 9, in {1}\n[rank{0}]:     return dist.{1}(x)\n'
UNKNOWN = "[rank{0}]: RuntimeError: the {1} is not as it was\n"


@pytest.mark.parametrize("rank", [0, 1, 7])
@pytest.mark.parametrize("call", ["all_reduce", "barrier"])
def test_the_only_rank_with_a_log_is_not_the_only_one_that_may_be_at_fault(
    tmp_path: Path, rank: int, call: str
) -> None:
    verdict = verdict_of(tmp_path, CALL.format(rank, call) + UNKNOWN.format(rank, "hall"))
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("crash", [], [])
    assert verdict.summary.endswith("nothing tells how many there were.")


@pytest.mark.parametrize(
    ("text", "suspects"),
    [
        (CALL.format(1, "all_reduce") + "[rank1]: RuntimeError: DDP expects same model across all ranks, but Rank 1 has 12 params, while rank 0 has inconsistent 0 params.\n", [0, 1]),
        (CALL.format(5, "all_reduce") + "[rank5]: RuntimeError: [5]: params[2] in this process with sizes [4, 4] appears not to match sizes of the same param in process 0.\n", [0, 5]),
        ("world_size=2\n" + CALL.format(1, "all_reduce") + UNKNOWN.format(1, "hall"), [0, 1]),
        ("[rank0]: step 1 loss 2.3\n" + CALL.format(1, "all_reduce") + UNKNOWN.format(1, "hall"), [0, 1]),
    ],
)  # fmt: skip
def test_who_differs_from_whom_are_two(tmp_path: Path, text: str, suspects: list[int]) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.ranks, verdict.suspects.ranks) == ([], suspects)


def test_what_it_says_of_itself_still_names_the_only_rank_with_a_log(tmp_path: Path) -> None:
    assert verdict_of(tmp_path, CALL.format(1, "read") + "[rank1]: ValueError: bad shard 3\n").ranks == [1]


RAISED = '[rank{0}]: Traceback (most recent call last):\n[rank{0}]:   File "{1}", line 79, in check\n[rank{0}]:     raise RuntimeError(said)\n[rank{0}]: RuntimeError: {2}\n'


@pytest.mark.parametrize(
    "place",
    [
        "/x/site-packages/deepspeed/runtime/zero/utils.py",
        "/src/DeepSpeed/deepspeed/runtime/zero/utils.py",
        "/job/train.py",
    ],
)
@pytest.mark.parametrize(
    "said",
    [
        "disagreement between rank0 and rank2: rank0: [1, 2], rank2: [2, 3]",
        "Detected a disagreement on list length between rank0 and rank2: 4 v 5",
    ],
)
def test_who_compared_itself_is_not_the_one_that_is_wrong(tmp_path: Path, place: str, said: str) -> None:
    verdict = verdict_of(tmp_path, RAISED.format(2, place, said))
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("crash", [], [0, 2])


@pytest.mark.parametrize(("raisers", "suspects"), [((1, 2, 3), [0, 1, 2, 3]), ((1, 2, 3, 4, 5), [0]), ((4,), [0, 4])])
def test_of_those_that_differ_from_one_it_may_be_that_one_where_they_are_most(
    tmp_path: Path, raisers: tuple[int, ...], suspects: list[int]
) -> None:
    said = "disagreement between rank0 and rank{0}: rank0: [1, 2], rank{0}: [2, 3]"
    text = "".join(RAISED.format(rank, "/job/train.py", said.format(rank)) for rank in raisers)
    verdict = verdict_of(tmp_path, "world_size=8\n" + text)
    assert (verdict.ranks, verdict.suspects.ranks) == ([], suspects)


def test_what_a_process_says_of_itself_is_its_own(tmp_path: Path) -> None:
    assert verdict_of(tmp_path, RAISED.format(2, "/job/train.py", "no shard 7 in the index")).ranks == [2]


@pytest.mark.parametrize(
    "line",
    [
        "XID 79(GPU has fallen off the bus) detected on PCI:0000:ae:00\n",
        "2026-01-31T10:11:12Z warn XID 48 (Double Bit ECC Error) detected on PCI:0000:ae:00\n",
    ],
)
def test_a_monitor_tells_what_the_driver_said(tmp_path: Path, line: str) -> None:
    assert (verdict_of(tmp_path, line, "gpud.log").cause) == "gpu_fault"


@pytest.mark.parametrize(
    "line",
    [
        "XID 79 detected on no GPU\n",
        "XID 63(Row remapping) detected on PCI:0000:ae:00\n",
        "no XID (79) detected on PCI:0000:ae:00\n",
    ],
)
def test_a_monitor_that_tells_of_no_fault_accuses_no_gpu(tmp_path: Path, line: str) -> None:
    verdict = verdict_of(tmp_path, line, "gpud.log")
    assert (verdict.kind, verdict.cause) == NOTHING


def test_a_device_of_level_zero_that_is_lost_is_an_error_of_that_rank(tmp_path: Path) -> None:
    said = "[rank1]: RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)\n"
    verdict = verdict_of(tmp_path, "[rank0]: step 1 loss 2.3\n" + CALL.format(1, "all_reduce") + said)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [1])


GAVE_UP = "[E ProcessGroupNCCL.cpp:458] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800887 milliseconds before timing out.\n"


def test_lines_are_not_counted_as_ranks(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, "".join(GAVE_UP.format(rank, seq) for rank, seq in ((0, 7), (0, 8), (0, 8), (5, 3))))
    assert (verdict.kind, verdict.ranks) == ("hang", [])
    assert "ranks 0 and 5, as the group counts them," in verdict.summary


@pytest.mark.parametrize("rest", ["", "  pid: 71\n"])
def test_one_process_that_ended_is_one_in_whatever_many_lines(tmp_path: Path, rest: str) -> None:
    said = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
    said += (
        rest
        + "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: End of file.\n"
    )
    assert verdict_of(tmp_path, said).summary.startswith("Undecided: a process ended with an error")


DESCRIBED = "Events:\n  Type     Reason   Age    From     Message\n  ----     ------   ----   ----     -------\n  Normal   Started  33s    kubelet  Started container trainer\n"
GOT = "LAST SEEN   TYPE      REASON      OBJECT    MESSAGE\n5m          Normal    Started     pod/w-0   Started container trainer\n"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (DESCRIBED + "  Warning  BackOff  2m49s (x3 over 9m)  kubelet  Back-off restarting failed container init in pod w-0\n", "Back-off restarting"),
        (DESCRIBED + "  Warning  Failed   2m49s  kubelet, n7  Error: ErrImagePull\n", "ErrImagePull"),
        (GOT + "5m          Warning   BackOff     pod/w-0   Back-off restarting failed container init in pod w-0\n", "Back-off restarting"),
    ],
)  # fmt: skip
def test_what_a_scheduler_warns_of_is_said_where_nothing_else_is(tmp_path: Path, text: str, hint: str) -> None:
    verdict = verdict_of(tmp_path, text, "events.txt")
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("unknown", None, [], [])
    assert hint in verdict.summary


@pytest.mark.parametrize("text", [DESCRIBED, GOT, GOT.replace("Started", "Pulled")])
def test_events_of_a_pod_that_is_well_tell_of_nothing_that_went_wrong(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text, "events.txt")
    assert (verdict.kind, "wrong" in verdict.summary) == ("unknown", False)


def test_what_could_not_be_placed_is_still_a_job_that_never_started(tmp_path: Path) -> None:
    line = "  Warning  FailedScheduling  2m (x3 over 9m)  default-scheduler  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.\n"
    assert verdict_of(tmp_path, DESCRIBED + line, "events.txt").kind == "launch"
