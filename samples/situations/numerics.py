"""The first NaN, known from a check or from tensor statistics."""

import json

from samples.situations.job import Job, s
from samples.situations.parts import STEP, basic, others
from samples.situations.situation import case


@case(
    "rank 3 asserted on its own local gradient and ended; the others timed out: numerics, rank 3",
    kinds=["numerics"],
    ranks=[3],
)
def nan_assert(n: str) -> Job:
    j, e = basic(n, ["nm1"], 8, "2026-10-01T10:00:00", "srun_l", "2.6", kind="megatron")
    j.trace(
        3,
        e + s(1),
        STEP[:3],
        "AssertionError: Rank 3: found NaN in local grad norm in backward pass before data-parallel communication collective. Device: 3, node: nm1",
    )
    j.srun(e + s(3), "srun: error: nm1: task 3: Exited with exit code 1")
    j.all_timeout(e + s(602), 5120, others(j, 3))
    return j


@case(
    "pure DDP over 16: rank 3 raised FloatingPointError on its local loss before any communication; others finite, timed out: numerics, rank 3",
    kinds=["numerics"],
    ranks=[3],
)
def nan_assert_ddp(n: str) -> Job:
    j, e = basic(n, ["nm2", "nm3"], 8, "2026-10-02T10:00:00", "flat", "2.4")
    j.log(3, e + s(0.6), "local loss before reduction: nan (step 804)", "ERROR")
    j.trace(3, e + s(0.7), STEP[:3], "FloatingPointError: loss is nan on rank 3 at step 804, aborting")
    j.torchrun_fail("nm2", e + s(3), [(3, 1, "")], 3, closing=[r for r in range(8) if r != 3])
    j.all_timeout(e + s(602), 404, range(8, 16))
    return j


def rows(j, r, step, bad=None, steps=2):
    out, seq = [], 0
    for st in range(step - steps + 1, step + 1):
        for ph, order in (("forward", range(6)), ("backward", reversed(range(6)))):
            for L in order:
                for m, op in (
                    ((f"layers.{L}.attn", "Attention"), (f"layers.{L}.mlp", "MLP"))
                    if ph == "forward"
                    else ((f"layers.{L}.mlp", "MLP"), (f"layers.{L}.attn", "Attention"))
                ):
                    for t in ("input", "output") if ph == "forward" else ("grad_output", "grad_input"):
                        at = (
                            ("forward", "backward").index(ph),
                            L if ph == "forward" else 5 - L,
                            {"attn": 0, "mlp": 1}[m[-4:].strip(".")]
                            if ph == "forward"
                            else {"mlp": 0, "attn": 1}[m[-4:].strip(".")],
                            1 if t in ("output", "grad_input") else 0,
                        )
                        nan = bad is not None and st == step and at >= bad
                        n_ = 16777216
                        seq += 1
                        out.append(
                            {
                                "rank": r,
                                "step": st,
                                "seq": seq,
                                "microbatch": 0,
                                "phase": ph,
                                "module": m,
                                "op": op,
                                "tensor": t,
                                "dtype": "bfloat16",
                                "numel": n_,
                                "absmax": "NaN" if nan else round(2 + 0.1 * L + 0.01 * (seq % 7), 4),
                                "nan_count": n_ // 64 if nan else 0,
                                "inf_count": 0,
                            }
                        )
    return out


@case(
    "rows: layers.2.attn of rank 3 made a NaN from clean input at step 804; it asserted and ended; others timed out: nan_birth, rank 3",
    kinds=["numerics"],
    causes=["nan_birth"],
    ranks=[3],
    step=804,
    module="layers.2.attn",
)
def nan_origin_assert_hang(n: str) -> Job:
    j, e = basic(n, ["nm4"], 8, "2026-10-03T10:00:00", "srun_l", "2.6")
    for r in j.ranks:
        j.file(
            f"tensors/rank_{r}.jsonl",
            "".join(json.dumps(x) + "\n" for x in rows(j, r, 804, (0, 2, 0, 1) if r == 3 else None)),
        )
    j.trace(3, e + s(1), STEP[:3], "AssertionError: loss is nan on rank 3 at step 804, aborting")
    j.srun(e + s(3), "srun: error: nm4: task 3: Exited with exit code 1")
    j.all_timeout(e + s(602), 61, others(j, 3))
    return j


@case(
    "rows: in backward, layers.4.mlp of rank 1 made the first NaN (clean grad_output) at step 1204; assertion; hang of the others",
    kinds=["numerics"],
    causes=["nan_birth"],
    ranks=[1],
    step=1204,
    module="layers.4.mlp",
)
def nan_origin_backward(n: str) -> Job:
    j, e = basic(n, ["nm5"], 4, "2026-10-04T10:00:00", "flat", "2.9", first=1200)
    for r in j.ranks:
        j.file(
            f"stats/rank_{r}.jsonl",
            "".join(json.dumps(x) + "\n" for x in rows(j, r, 1204, (1, 1, 0, 1) if r == 1 else None)),
        )
    j.trace(
        1,
        e + s(1),
        STEP[:3],
        "AssertionError: Rank 1: found NaN in local grad norm for bucket #2 in backward pass before data-parallel communication collective. Device: 1, node: nm5",
    )
    j.all_timeout(e + s(602), 61, others(j, 1))
    return j
