"""Bundles of small jobs in which bad numbers tell whose fault it was, in whatever form people record numbers.

Truth first: which rank's figures go bad, when and how, is drawn before the form (figure_forms.py). `FAMILIES` have one
right rank, `NOBODY` none: there what would tell who it was is missing or contradicted, or the figures are legal.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence

from drawn.figure_forms import HEADS, LONG, Print, Row, as_lines, as_table, either, in_framework
from drawn.job import LOST, Case, Files, Job, Log

STEPS = 14
LOSSES = (
    "loss", "train/loss", "ce", "nll", "objective", "train_loss", "lm_loss", "local_loss", "l", "xent", "cost",
    "损失", "Loss",
)  # fmt: skip
NORMS = (
    "gnorm", "grad_norm", "|g|", "grad/l2", "g_norm", "local_grad_norm", "gradient norm", "norm(grad)", "gn",
    "梯度范数", "gradnorm",
)  # fmt: skip
NORMS_OF_ALL = ("grad/global_l2", "global_grad_norm", "total_norm", "gnorm_all", "allreduced_gnorm")
PLAIN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("config.yaml", (
        "data_parallel_size: {n}", "tensor_parallel_size: 1", "pipeline_parallel_size: 1", "world_size: {n}",
    )),
    ("launch.sh", ("#!/bin/bash", "# plain DDP, one replica per GPU", "srun -N 2 --ntasks {n} python train_ddp.py")),
    ("README.md", ("# run 41", "", "Plain data parallel over {n} ranks (torch DDP), no model sharding.")),
    ("args.json", ("{{", '  "world_size": {n},', '  "dp": {n},', '  "tp": 1,', '  "pp": 1', "}}")),
    ("setup.ini", ("[parallel]", "strategy = ddp", "world_size = {n}", "tensor = 1", "pipeline = 1")),
    ("ticket.txt", ("Job 41, {n} GPUs, DistributedDataParallel, nothing sharded.", "Figures are each rank's own.")),
    ("hparams.toml", ("[dist]", "world_size = {n}", 'mode = "ddp"', "log_every_rank = true")),
    ("notes.txt", ("{n} 卡纯数据并行（DDP），没有张量并行和流水线并行。",)),
    ("topology.txt", ("world={n} tp=1 pp=1 cp=1 ep=1 dp={n}",)),
    ("cmd.txt", ("python -m train --dp {n} --tp 1 --pp 1 --per-rank-metrics",)),
)  # fmt: skip
NOISE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pip_freeze.txt", ("torch==2.4.1", "numpy==1.26.4", "einops==0.8.0")),
    ("mail.txt", ("Run 41 broke again over night. What we have is here.", "Can somebody have a look?")),
    ("nvidia-smi.txt", ("GPU 0: NVIDIA H100 80GB HBM3", "GPU 1: NVIDIA H100 80GB HBM3")),
    ("env.txt", ("NCCL_DEBUG=WARN", "OMP_NUM_THREADS=8", "TOKENIZERS_PARALLELISM=false")),
    ("git.txt", ("commit 3e1f9ac", "Author: kim", "    data: drop empty documents")),
)  # fmt: skip


def own_numbers(job: Job, shown: Print, loss: str, norm: str | None, *, bad: int | None = None) -> list[Row]:
    """Loss and norm of each rank; one's are bad first. Names decide the columns, and no columns but these."""
    faults = [
        "nan, then all",
        "inf, then all nan",
        "nan, and the end",
        "huge, then all nan",
        "norm first",
        "norm of all",
    ]
    fault, onset = job.choose("fault", faults), job.draw.randint(4, 9)
    if norm is None and fault.startswith("norm"):
        norm = "gnorm"
    last = onset if "end" in fault else onset + int(job.choose("tail", ("1", "2", "3")))
    bad = job.bad if bad is None else bad
    name = job.choose("norm of all", NORMS_OF_ALL) if fault == "norm of all" and norm != "norm" else norm
    rows: list[Row] = []
    for step in range(last + 1):
        together = shown.number(1 + job.draw.random())
        for rank in job.turns():
            own = shown.number(3.2 / (1 + step * 0.05) + job.draw.random() * 0.05)
            grad = together if fault == "norm of all" else shown.number(1 + job.draw.random())
            if step > onset:
                own = grad = shown.nan
            elif step == onset and fault == "norm of all":
                own, grad = shown.nan if rank == bad else own, shown.nan
            elif step == onset and rank == bad:
                word = shown.inf if fault.startswith("inf") else shown.nan
                huge = "huge" in fault
                grad = shown.number(3.1e17) if huge else word
                own = own if fault == "norm first" else shown.number(8.4e13) if huge else word
            rows.append(Row(step, rank, {loss: own} | ({name: grad} if name else {})))
    return with_more(job, rows)


def with_more(job: Job, rows: list[Row]) -> list[Row]:
    """Figures that say nothing, before or behind."""
    more = job.choose("more", ("none", "none", "lr", "speed", "both", "before"))
    for _, _, cells in rows:
        said = {"lr": "3.0e-04"} if more in ("lr", "both", "before") else {}
        said |= {"tok_s": str(job.draw.randint(9000, 9900))} if more in ("speed", "both", "before") else {}
        own = dict(cells)
        cells.clear()
        cells.update(said | own if more == "before" else own | said)
    return rows


MODULES_OF = (
    "layers.{}.mlp.up_proj", "decoder.block.{}.attn", "h.{}.ln_2", "encoder.{}.ffn.fc1", "blocks.{}.mixer.out_proj",
    "stem.conv{}",
)  # fmt: skip


def plain(job: Job) -> Files:
    """A document that says that all ranks are replicas, and one that says nothing."""
    name = job.choose("layout told", [one for one, _ in PLAIN])
    noise = job.choose("beside", ["nothing", *(one for one, _ in NOISE)])
    files = {name: [text.format(n=job.size) for text in dict(PLAIN)[name]]}
    return files | ({noise: [*dict(NOISE)[noise]]} if noise != "nothing" else {})


def numbers(job: Job, shown: Print) -> list[Row]:
    norm = job.choose("norm", (*NORMS, ""))
    return own_numbers(job, shown, job.choose("loss", LOSSES), norm or None)


def lines(job: Job) -> Case:
    shown = Print(job)
    return Case(as_lines(job, shown, numbers(job, shown)) | plain(job), ("numerics",), job.bad, job.choices)


def tables(job: Job) -> Case:
    shown = Print(job)
    return Case(as_table(job, shown, numbers(job, shown)) | plain(job), ("numerics",), job.bad, job.choices)


def frameworks(job: Job) -> Case:
    rows = own_numbers(job, Print(job), "loss", "norm")
    return Case(in_framework(job, rows) | plain(job), ("numerics",), job.bad, job.choices)


def tensors(job: Job) -> Case:
    """A module, a batch or a label of one rank is bad at a step at which all others' are good; then all are."""
    shown, onset = Print(job), job.draw.randint(3, 6)
    what = job.choose("of", ("output", "grad_output", "weight.grad", "batch", "labels", "input"))
    style = job.choose("statistics", ("counts", "range", "share", "verdict", "moments", "values"))
    module = job.choose("of module", MODULES_OF).format(job.draw.randint(1, 9))
    name = {"batch": "batch.x", "labels": "batch.labels"}.get(what, f"{module}.{what}")
    form = job.choose("tensor stands", ("a column", "in each name"))
    rows = []
    for step in range(onset + 1 + int(job.choose("tail", ("0", "1", "2")))):
        for rank in job.turns():
            is_bad = (step == onset and rank == job.bad) or (step > onset and what not in ("batch", "labels"))
            stats = statistics(job, shown, style, is_bad=is_bad, is_label=what == "labels")
            if form == "in each name":
                stats = {f"{name}.{one}": cell for one, cell in stats.items()}
            loss = shown.nan if is_bad or step > onset else shown.number(2 + job.draw.random())
            first = {"tensor": name} if form == "a column" else {}
            rows.append(Row(step, rank, first | stats | ({"loss": loss} if what in ("batch", "labels") else {})))
    return Case(either(job, shown, rows) | plain(job), ("numerics",), job.bad, job.choices)


def statistics(job: Job, shown: Print, style: str, *, is_bad: bool, is_label: bool = False) -> dict[str, str]:
    low, high = shown.number(job.draw.uniform(0.01, 0.1)), shown.number(3 + job.draw.random())
    if is_label:
        return {"min": "0", "max": "50999" if is_bad else str(job.draw.randint(31000, 31990)), "num_classes": "32000"}
    count = job.draw.randint(1, 4000) if is_bad else 0
    return {
        "counts": {"nan": str(count), "inf": "0", "numel": "65536"},
        "range": {"min": shown.nan if is_bad else f"-{high}", "max": shown.nan if is_bad else high},
        "share": {"nan_frac": f"{count / 65536:.4%}", "absmax": shown.inf if is_bad else high},
        "verdict": {"finite": str(not is_bad), "numel": "65536"},
        "moments": {"mean": shown.nan if is_bad else low, "std": shown.nan if is_bad else high, "has_nan": str(is_bad)},
        "values": {"x0": low, "x1": shown.nan if is_bad else high, "x2": shown.nan if is_bad else low},
    }[style]


def replica_rows(job: Job, *, two_sides: bool = False) -> tuple[Print, list[Row]]:
    """What is the same in all replicas, until one's is other and remains so."""
    shown, onset = Print(job), job.draw.randint(3, 6)
    kinds = ("crc32", "sha1", "md5", "sum", "norm", "hex float", "int sum", "max_abs_diff_vs_rank0")
    kind = job.choose("compared", kinds[:-1] if two_sides else kinds)
    words = ("param", "weights", "model", "state_dict", "theta", "w", "master_params", "optimizer", "params")
    name = f"{job.choose('of what', words)}{job.choose('joint', ('_', '.', '/'))}{kind.replace(' ', '_')}"
    rows = []
    for step in range(onset + int(job.choose("tail", ("1", "3", "5")))):
        seeds = job.draw.getrandbits(48), job.draw.getrandbits(48)
        for rank in job.turns():
            is_other = step >= onset and (rank == job.bad or (two_sides and rank % 2 == job.bad % 2))
            draw = random.Random(seeds[is_other])
            bits, part = draw.getrandbits(160), random.Random(seeds[0]).random() + is_other * 3e-4
            cell = {
                "crc32": f"0x{bits >> 128:08x}", "sha1": f"{bits:040x}"[:12] + "a", "md5": f"{bits >> 32:032x}",
                "norm": f"{812.3 + part:.9f}", "hex float": (812.3 + part).hex(), "int sum": str(bits >> 110),
                "sum": f"{-41.8 - part:.10f}",
                "max_abs_diff_vs_rank0": f"{part * 1e-3:.3e}" if is_other else "0.000e+00",
            }[kind]  # fmt: skip
            rows.append(Row(step, rank, {name: cell}))
    return shown, with_more(job, rows)


def replicas(job: Job) -> Case:
    shown, rows = replica_rows(job)
    return Case(either(job, shown, rows) | plain(job), ("numerics",), job.bad, job.choices)


def resumes(job: Job) -> Case:
    """One rank takes up other weights, or goes on with another rate; its loss is far from the others' from then on."""
    shown = Print(job)
    what = job.choose("other", ("iteration", "file", "hash", "learning rate", "norm", "missing keys"))
    good, other = {
        "iteration": ("iteration 48000", "iteration 12000"), "learning rate": ("lr 1.2e-04", "lr 1.2e-01"),
        "file": ("/ckpt/run41/step48000.pt", "/ckpt/run17/step48000.pt"),
        "hash": ("sha256=9c1f04be77aa", "sha256=1b70e2d94c3f"), "norm": ("param norm 812.3312", "param norm nan"),
        "missing keys": ("0 missing keys, 0 unexpected", "291 missing keys, 0 unexpected"),
    }[what]  # fmt: skip
    says = job.choose("said", (
        "resumed: {}", "loaded checkpoint ({})", "restore done, {}", "=> state restored | {}", "已加载检查点：{}",
        "[ckpt] {}", "checkpoint ok; {}", "load_state_dict -> {}", "starting again from {}", "after resume: {}",
    ))  # fmt: skip
    told, rows = job.choose("resume told by", ("head", "file")), []
    log = Log(job, job.choose("head of resume", HEADS) if told == "head" else "")
    loads: defaultdict[str, list[str]] = defaultdict(list)
    for rank in job.turns():
        text = log.line(rank, says.format(other if rank == job.bad else good))
        loads["resume.log" if told == "head" else f"resume_rank{rank}.log"].append(text)
    loss = job.choose("loss", LOSSES)
    for step in range(7):
        for rank in job.turns():
            own, is_bad = 2.1 + job.draw.random() * 0.05, rank == job.bad
            own += (step * 1.3 if what == "learning rate" else 7.4) if is_bad else 0
            is_nan = what == "norm" and (is_bad or step)
            rows.append(Row(step, rank, {loss: shown.nan if is_nan else shown.number(own)}))
    return Case(either(job, shown, rows) | dict(loads) | plain(job), ("numerics", "launch"), job.bad, job.choices)


def scale_rows(job: Job, bads: Sequence[int], *, many: int = 12) -> tuple[Print, list[Row]]:
    """The scale falls at each step at which a rank of `bads` overflows, of all ranks together."""
    shown, scale, rows = Print(job), 65536.0, list[Row]()
    word = job.choose("scale", ("loss_scale", "scale", "scaler.scale", "amp/scale", "loss scale", "grad_scale"))
    flag = job.choose("flag", ("found_inf", "overflow", "local_found_inf", "has_inf_or_nan", "inf_grads", "n_inf"))
    form = job.choose("flag as", ("0 1", "False True", "0.0 1.0", "no yes", "ok OVERFLOW", "0 4096")).split()
    for step in range(4 + many):
        for rank in job.turns():
            is_bad = step >= 4 and rank in bads
            norm = shown.inf if is_bad else shown.number(1 + job.draw.random())
            rows.append(Row(step, rank, {word: f"{scale:.1f}", flag: form[is_bad], "unscaled_norm": norm}))
        scale *= 0.5 if step >= 4 else 1
    return shown, rows


def scales(job: Job) -> Case:
    shown, rows = scale_rows(job, [job.bad])
    return Case(either(job, shown, rows) | plain(job), ("numerics",), job.bad, job.choices)


RAISES = (
    ("numerics", "AssertionError: Rank {r}: found NaN in local grad norm in backward pass before data-parallel "
     "communication collective. Device: {l}, node: {h}"),
    ("numerics", "RuntimeError: Rank {r}, node {h}, device {l}, iteration {s}: Unexpected result nan "
     "(message='found NaN in local grad norm for bucket #0 in backward pass before data-parallel communication "
     "collective')"),
    ("numerics", "FloatingPointError: invalid value encountered in divide"),
    ("numerics", "FloatingPointError: invalid value (nan) encountered in jit(loss_fn)"),
    ("numerics", "FloatingPointError: overflow encountered in exp"),
    ("numerics", "ValueError: Loss is nan at step {s}, stopping"),
    ("numerics", "ValueError: The loss returned in `training_step` is nan."),
    ("numerics", "AssertionError: loss is not finite: tensor(nan, device='cuda:{l}', grad_fn=<NllLossBackward0>)"),
    ("numerics", "RuntimeError: non-finite local gradient in layers.7.mlp.up_proj.weight: norm=inf"),
    ("either", "RuntimeError: Function 'LogSoftmaxBackward0' returned nan values in its 0th output."),
    ("either", "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"),
    ("either", "ValueError: Expected parameter logits (Tensor of shape (32, 6)) of distribution "
     "Categorical(logits: torch.Size([32, 6])) to satisfy the constraint IndependentConstraint(Real(), 1), but "
     "found invalid values: tensor([[nan, nan, nan]])"),
    ("either", "ValueError: batch {s} has 12 NaN values in 'pixel_values'"),
    ("either", "AssertionError: bad input: isnan(x).sum() = 128 (step {s})"),
    ("either", "ValueError: 训练中断：第 {s} 步损失为 nan"),
    ("numerics", "train.errors.NumericsError: local gradient norm is NaN (step {s})"),
)  # fmt: skip
ENDS = ("lost", "terminated", "waiting")
WAITS = (
    "entering all_reduce of gradients, step {s}", "step {s}: backward done, grads -> all_reduce",
    "[comm] waiting for allreduce (step {s})",
    "第 {s} 步：等待梯度 all_reduce", "sync_grads({s}) ...",
)  # fmt: skip


def raised(job: Job) -> Case:
    """Figures are all good; then one rank raises because of a number, and the others lose it."""
    shown, rows = Print(job), list[Row]()
    loss, norm = job.choose("loss", LOSSES), job.choose("norm", NORMS)
    for step in range(job.draw.randint(4, 8)):
        for rank in job.turns():
            own = [shown.number(low + job.draw.random()) for low in (2, 1)]
            rows.append(Row(step, rank, {loss: own[0], norm: own[1]}))
    at = int(job.choose("message", [str(one) for one in range(len(RAISES))]))
    where = shown.count.flat(rows[-1].step + 1)
    text = RAISES[at][1].format(r=job.bad, h=job.host(job.bad), l=job.bad % job.each, s=where)
    trace = ["Traceback (most recent call last):", '  File "/app/train.py", line 301, in <module>', "    main(cfg)",
             '  File "/app/train.py", line 212, in main', "    check(stats)", text]  # fmt: skip
    ends, waits = job.choose("others", ENDS), job.choose("waits", WAITS)
    told = job.choose("end told by", ("head", "file"))
    log, files = Log(job, job.choose("head of end", HEADS) if told == "head" else ""), as_lines(job, shown, rows)
    is_bare, form = job.choose("traceback", ("each line headed", "bare")) == "bare", "stderr_rank{r}.txt"
    for rank in [job.bad, *(rank for rank in job.turns() if rank != job.bad)]:
        job.later(2)
        own = trace if rank == job.bad else LOST if ends == "lost" else [waits.format(s=where)]
        own = own if rank == job.bad or ends != "terminated" else [*own, "Received SIGTERM, exiting"]
        out = own if is_bare and told == "file" else [log.line(rank, one, "error") for one in own]
        if is_bare and told == "head" and own[0].startswith("Traceback"):
            out = [log.line(rank, "uncaught exception", "error"), *own]
        files.setdefault(job.filled(form, rank) if told == "file" else "stderr.txt", []).extend(out)
    kinds = ("numerics",) if RAISES[at][0] == "numerics" else ("numerics", "crash")
    return Case(files | plain(job), kinds, job.bad, job.choices)


def layouts(job: Job) -> Case:
    """One stage, tensor-parallel member or expert: what comes in is good, what goes out is not."""
    shown, onset = Print(job), job.draw.randint(3, 6)
    kind = job.choose("layout", ("stages", "tensor", "experts"))
    sizes = {"stages": (1, job.size, 1), "tensor": (job.size, 1, 1), "experts": (1, 1, job.size)}[kind]
    long = "tensor_model_parallel_size: {}\npipeline_model_parallel_size: {}\nexpert_model_parallel_size: {}"
    form = job.choose("layout told", ("tp={} pp={} ep={}", long, "--tp {} --pp {} --ep {}", "TP={},PP={},EP={}"))
    files = {"layout.txt": [f"world_size: {job.size}", *form.format(*sizes).splitlines()]}
    words = {"stages": "recv_in send_out", "tensor": "x_in partial_before_allreduce", "experts": "tokens_in expert_out"}
    stat = job.choose("statistic", ("absmax", "amax", "max", "min", "nans"))
    joint = job.choose("joint", ("{0}.{1}", "{0}/{1}", "{1}({0})", "{0}_{1}"))
    names = [joint.format(word, stat) for word in words[kind].split()]
    is_told, rows = job.choose("coordinate", ("told", "not told")) == "told", list[Row]()
    for step in range(onset + 1):
        for rank in job.turns():
            was_bad = step == onset and kind == "stages" and rank > job.bad
            is_bad = was_bad or (step == onset and rank == job.bad)
            good = [shown.number(1 + job.draw.random()) for _ in "io"]
            more = {{"stages": "stage", "tensor": "tp_rank", "experts": "expert"}[kind]: str(rank)}
            good, bad = (["0", "0"], str(job.draw.randint(1, 999))) if stat == "nans" else (good, shown.nan)
            cells = {names[0]: bad if was_bad else good[0], names[1]: bad if is_bad else good[1]}
            rows.append(Row(step, rank, more | cells if is_told else cells))
    return Case(files | either(job, shown, rows), ("numerics",), job.bad, job.choices)


# --- the same forms, in which nobody may be named --------------------------------------------------------------------


def reduced_alone(job: Job) -> Case:
    """All ranks print the one reduced figure, or rank 0 alone does."""
    shown, onset = Print(job), job.draw.randint(4, 9)
    by = job.choose("printed by", ("all", "rank 0"))
    losses = ("loss_avg", "loss/global", "mean_loss", "train_loss", "reduced_loss")
    names = job.choose("loss", losses), job.choose("norm", NORMS_OF_ALL)
    rows = []
    for step in range(onset + 3):
        own = [shown.number(2 + job.draw.random()) if step < onset else shown.nan for _ in names]
        for rank in job.turns() if by == "all" else [0]:
            rows.append(Row(step, rank, dict(zip(names, own, strict=True))))
    files = as_lines(job, shown, rows) if by == "rank 0" else either(job, shown, rows)
    return Case(files | plain(job), (), job.bad, job.choices)


def record_lost(job: Job) -> Case:
    """Of who was first there is no record of before: of all others the first bad figures are of one step."""
    shown = Print(job)
    rows = own_numbers(job, shown, job.choose("loss", LOSSES), job.choose("norm", NORMS))
    bad = (shown.nan, shown.inf, "8.400e+13")
    onset = next(row.step for row in rows if any(one in bad for one in row.cells.values()))
    is_all = job.choose("lost", ("all of it", "up to then")) == "all of it" or rows[-1].step == onset
    rows = [row for row in rows if row.rank != job.bad or not (is_all or row.step <= onset)]
    files = either(job, shown, rows, forms=LONG)
    return Case(files | plain(job), (), job.bad, job.choices)


def of_two(job: Job) -> Case:
    """Two replicas, or two halves, that differ."""
    if job.choose("sides", ("a pair", "halves")) == "a pair":
        job.size, job.each, job.bad = 2, 1, 1
    shown, rows = replica_rows(job, two_sides=True)
    return Case(either(job, shown, rows) | plain(job), (), job.bad, job.choices)


def of_all(job: Job) -> Case:
    """All go bad at one step, or have a spike at one step."""
    shown, onset = Print(job), job.draw.randint(4, 8)
    what, rows = job.choose("of all", ("spike", "nan", "scale")), list[Row]()
    if what == "scale":
        shown, rows = scale_rows(job, range(job.size))
        return Case(either(job, shown, rows) | plain(job), (), job.bad, job.choices)
    names = job.choose("loss", LOSSES), job.choose("norm", NORMS)
    for step in range(onset + 5):
        for rank in job.turns():
            more = 40 * max(0.0, 1 - (step - onset) / 3) if step >= onset else 0
            own = {name: shown.number(2 + job.draw.random() * (1 + more) + more) for name in names}
            rows.append(Row(step, rank, dict.fromkeys(names, shown.nan) if what == "nan" and step >= onset else own))
    return Case(either(job, shown, rows) | plain(job), (), job.bad, job.choices)


def of_two_minds(job: Job) -> Case:
    """Two records of the same figures that tell other ranks."""
    shown, other = Print(job), job.bad % (job.size - 1) + 1
    rows, turned = numbers(job, shown), {job.bad: other, other: job.bad}
    files = as_table(job, shown, rows) | plain(job)
    files |= as_lines(job, shown, [row._replace(rank=turned.get(row.rank, row.rank)) for row in rows])
    return Case(files, (), job.bad, job.choices)


def legal(job: Job) -> Case:
    """Infinities of masks, figures of a validation or of a step that was skipped; the run ends well."""
    shown, what = Print(job), job.choose("legal", ("mask", "validation", "skipped"))
    loss, norm, rows = job.choose("loss", LOSSES), job.choose("norm", NORMS), list[Row]()
    words: dict[str, tuple[str, ...]] = {
        "mask": ("attn_mask.min", "mask_bias.min", "causal_mask/min", "alibi+mask min")
    }
    words |= {"validation": ("val/loss", "eval_f1", "valid_auc", "val_ppl")}
    words |= {"skipped": ("unscaled_gnorm", "scaler/gnorm_before_unscale", "raw_grad_norm")}
    more = job.choose(what, words[what])
    is_one, skipped = job.choose("legal of", ("one", "all")) == "one", job.draw.randint(2, 5)
    for step in range(STEPS):
        for rank in job.turns():
            cells = {name: shown.number(2 + job.draw.random()) for name in (loss, norm)}
            is_it = not is_one or rank == job.bad
            if what == "mask":
                cells[more] = f"-{shown.inf.strip('+')}" if is_it else "0.0"
            elif what == "validation":
                cells[more] = shown.nan if is_it else shown.number(0.4 + job.draw.random() / 9)
            else:
                is_now = is_it and step == skipped
                cells[more] = shown.inf if is_now else shown.number(1 + job.draw.random())
                cells |= {
                    "skipped_steps": str(int(step >= skipped)),
                    "loss_scale": f"{65536 / (1 + (step > skipped)):.1f}",
                }
            rows.append(Row(step, rank, cells))
    last = shown.count.flat(STEPS - 1)
    ends = (
        f"training finished after {shown.count.word} {last}",
        "training complete, exiting with code 0",
        "model saved",
    )
    end = job.choose("end", ends)
    return Case(either(job, shown, rows, end) | plain(job), (), job.bad, job.choices)


FAMILIES: dict[str, Callable[[Job], Case]] = {
    "lines": lines, "tables": tables, "frameworks": frameworks, "tensors": tensors, "replicas": replicas,
    "resumes": resumes, "scales": scales, "raised": raised, "layouts": layouts,
}  # fmt: skip
NOBODY: dict[str, Callable[[Job], Case]] = {
    "reduced alone": reduced_alone, "record lost": record_lost, "of two": of_two, "of all": of_all,
    "of two minds": of_two_minds, "legal": legal,
}  # fmt: skip
