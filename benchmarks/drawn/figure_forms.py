"""The forms in which people record numbers of ranks and steps: lines of many shapes, tables, files of tools.

Each takes rows of cells that are printed already, draws its choices through the job, and gives files.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from drawn.job import Files, Job, Log


class Row(NamedTuple):
    """What one rank recorded of one step, as printed."""

    step: int
    rank: int
    cells: dict[str, str]


class Count(NamedTuple):
    """How steps are counted: `kind` drawn, `word` for a step, steps `each` apart from `base`."""

    kind: str
    word: str
    base: int
    each: int

    def flat(self, step: int) -> int:
        return self.base + step * self.each

    def cells(self, step: int) -> dict[str, str]:
        if self.kind == "epoch and batch":
            return {"epoch": str(step // 8), self.word: str(step % 8)}
        return {self.word: str(self.flat(step))}


STEP_WORDS = (
    "step", "iter", "iteration", "global_step", "it", "update", "i", "train/step", "Step", "步数",
    "trainer/global_step",
)  # fmt: skip
HEADS = (
    "[rank{r}]:", "[rank {r}]", "rank{r}:", "Rank {r}", "r{r}", "R{r}>", "({r}/{n})", "[{r}/{n}]", "{r}:",
    "[1,{r}]<stdout>:", "<rank {r}>", "worker-{r}", "dp{r}", "进程{r}", "trainer.{r}", "{h} rank {r}", "rk={r}",
    "[RANK {r}]", "proc {r} of {n}", "{h}/r{r}", "replica={r}", "#{r}",
)  # fmt: skip
OWN_FILES = (
    "rank_{r}.log", "logs/{r}.txt", "rank{r}/stdout.log", "out.{r}", "worker{r}.log", "{h}/rank{r}.log",
    "stdout_r{r}", "p{r}.log", "train-0000{r}-of-0000{n}.log", "proc-{r}-of-{n}.txt", "00{r}.log",
    "job-88127-task{r}.out", "RANK={r}.txt", "log.rank{r}", "trainer_{r}_of_{n}.out",
)  # fmt: skip
RANKS = (
    "rank", "global_rank", "r", "proc", "worker", "dp_rank", "RANK", "replica", "process_index", "进程", "rank_id",
    "who",
)  # fmt: skip
LONG = (
    "csv", "tsv", "jsonl", "nested", "markdown", "inserts", "psql", "sqlite list", "influx", "prometheus", "wandb",
    "mlflow", "board", "ini", "yaml", "report", "pandas", "xml", "toml", "json by rank", "csv of each",
)  # fmt: skip
WIDE = (
    "wide", "wide of each metric", "wide markdown", "lists", "numpy", "tensor", "json lists", "dict of ranks", "matrix",
    "all in a line", "yaml lists", "tsv wide",
)  # fmt: skip
COLUMNS = ("{m}_r{r}", "rank{r}/{m}", "{m}[{r}]", "r{r}.{m}", "{m}@{r}", "{m} rank {r}", "{m}.rank_{r}", "{m} ({r})")
GATHERED = ("per-rank", "all ranks", "gathered", "by rank", "per_rank", "all_gather", "各卡")
SPELT = ("nan inf", "nan inf", "NaN Infinity", "NAN INF", "-nan inf", "NaN +Inf", "Nan Inf", "nan +inf")
NUMBERS_ALONE = ("prometheus", "influx", "mlflow", "board", "numpy", "tensor")
NUMBER = r"(?i)[-+]?(\d[\d.]*(e[-+]?\d+)?|nan|inf|infinity)"
KEYS = ("lr", "tok_s", "tensor", "stage", "tp_rank", "expert")


class Print:
    """How a job prints numbers."""

    def __init__(self, job: Job) -> None:
        self._digits = job.choose("digits", (".4f", ".6g", ".3e", ".2f", ".7f"))
        self.nan, self.inf = job.choose("nan", SPELT).split()
        self.count = self._counted(job)

    def number(self, value: float) -> str:
        return f"{value:{self._digits}}" if value < 1e6 else f"{value:.3e}"

    def _counted(self, job: Job) -> Count:
        kind = job.choose("count", ("from 0", "from 1", "from far", "by ten", "epoch and batch", "samples", "tokens"))
        words = {"samples": "samples consumed_samples examples", "tokens": "tokens tokens_seen n_tokens"}
        words |= {"epoch and batch": "batch batch_idx it"}
        word = job.choose("step word", words[kind].split() if kind in words else STEP_WORDS)
        each = {"by ten": 10, "samples": 256, "tokens": 1 << 20}.get(kind, 1)
        return Count(kind, word, {"from 1": 1, "from far": 48210}.get(kind, each if each > 1 else 0), each)


SIMPLE = {  # of each shape: a pair, the mark between them, the line
    "bars": ("{n} {c}", " | ", "{all}"), "equals": ("{n}={c}", " ", "{all}"), "colons": ("{n}: {c}", ", ", "{all}"),
    "repr": ("{n!r}: {p}", ", ", "{{{all}}}"), "bracket": ("{n} {c}", ", ", "[{where}] {own}"),
    "at": ("{n} {c}", ", ", "{own} @ {where}"), "dataclass": ("{s}={p}", ", ", "StepStats({all})"),
    "tqdm": ("{n}={c}", ", ", "{pct:3d}%|{bar:<10}| {at}/{last} [00:{share:02d}<00:{rest:02d},  1.02it/s, {own}]"),
    "json": ("{j}: {q}", ", ", "METRICS {{{all}}}"), "第": ("{n} {c}", "，", "第 {slashed} 步：{own}"),
    "prose": ("{n} is {c}", " and ", "after {where} the {own}"), "tuples": ("({n!r}, {p})", ", ", "[{all}]"),
    "keras": ("{n}: {c}", " - ", "{at:3d}/{last} [{bar2:.<12}] - ETA: {eta}s - {own}"),
    "indexed": ("{n}[{at}] = {c}", "; ", "{own}"), "modded": ("{n}:{c}", " ", "{key}{of} {own}"),
    "arrows": ("{n} -> {c}", ", ", "{own} ({where})"), "log fmt": ('{s}="{c}"', " ", "event=train_metrics {all}"),
    "semicolons": ("{n} = {c}", "; ", "{all}"),
}  # fmt: skip
SHAPES = (
    "bars", "equals", "colons", "repr", "bracket", "at", "dataclass", "block", "tqdm", "columns", "json", "第", "prose",
    "box", "keras", "indexed", "tuples", "modded", "arrows", "semicolons", "yaml block", "tabs", "ascii table",
    "log fmt",
)  # fmt: skip


def told(form: str, pairs: Iterable[tuple[str, str]], mark: str = ", ", at: str = "") -> str:
    """Names and values in one line."""
    said = (
        form.format(n=n, c=c, s=slug(n), j=json.dumps(n, ensure_ascii=False), q=quoted(c), p=quoted(c, repr), at=at)
        for n, c in pairs
    )
    return mark.join(said)


def shaped(shape: str, key: dict[str, str], cells: dict[str, str], at: tuple[int, int], is_first: bool) -> list[str]:
    """One record in lines. `at`: the step and the last one."""
    pairs, where, share = [*key.items(), *cells.items()], told("{n} {c}", key.items(), " "), at[0] * 10 // max(1, at[1])
    wide, texts = [max(len(name), 13) for name, _ in pairs], [[name for name, _ in pairs], [c for _, c in pairs]]
    match shape:
        case "block":
            return [f"---------- {where} ----------", *(f"  {name:<14}: {cell}" for name, cell in cells.items())]
        case "columns" | "tabs":
            own = ["\t".join(one) if shape == "tabs" else " ".join(f"{cell:>14}" for cell in one) for one in texts]
            return own if is_first else own[1:]
        case "box" | "ascii table":
            side, cross, dash = ("│", "┼", "─") if shape == "box" else ("|", "+", "-")
            texts[0] = [name.replace("|", "") for name in texts[0]]
            own = [side + side.join(f" {c:<{w}} " for c, w in zip(one, wide, strict=True)) + side for one in texts]
            return [own[0], cross.join(["", *(dash * (w + 2) for w in wide), ""]), own[1]] if is_first else own[1:]
        case "yaml block":
            return [f"{' ' if place else '-'} {name}: {cell}" for place, (name, cell) in enumerate(pairs)]
    form, mark, line = SIMPLE[shape]
    return [line.format(
        all=told(form, pairs, mark), own=told(form, cells.items(), mark, ",".join(key.values())), where=where,
        bar="█" * share, bar2="=" * share + ">", at=at[0], last=at[1], share=share, rest=10 - share, eta=12 - share,
        slashed=" / ".join(key.values()), key=told(form, key.items(), mark), pct=share * 10,
        of=f"/{at[1]}" if [*key.values()] == [str(at[0])] else "",
    )]  # fmt: skip


def slug(name: str) -> str:
    """As a name in a program or a database."""
    known = {"损失": "loss", "梯度范数": "grad_norm", "步数": "step", "进程": "rank", "|g|": "g_norm"}
    return re.sub(r"[^A-Za-z0-9_]+", "_", known.get(name, name)).strip("_")


def quoted(cell: str, quote: Callable[[str], str] = json.dumps) -> str:
    """As a value of JSON (or of Python, with `repr`)."""
    try:
        value = float(cell)
    except ValueError:
        return quote(cell)
    if not re.fullmatch(r"-?\d[\d.]*(e[+-]?\d+)?", cell):
        word = "nan" if value != value else "inf" if value > 0 else "-inf"
        return word if quote is repr else {"nan": "NaN", "inf": "Infinity"}.get(word, "-Infinity")
    is_hash = re.match(r"-?0\d", cell) or (not cell.isdigit() and re.fullmatch(r"[0-9a-f]{8,}", cell))
    return quote(cell) if is_hash else cell


def as_lines(job: Job, shown: Print, rows: Sequence[Row], *, end: str = "") -> Files:
    """Each rank's own records in lines."""
    told, shape = job.choose("told by", ("head", "head", "file", "file", "cell")), job.choose("shape", SHAPES)
    log = Log(job, job.choose("head", HEADS) if told == "head" else "")
    own = job.choose("own files", OWN_FILES)
    word, is_last = job.choose("rank word", RANKS), job.choose("rank stands", ("first", "last", "first")) == "last"
    is_raw = told != "head" and job.choose("lines", ("raw", "headed")) == "raw"
    has_heads = shape in ("columns", "tabs", "box", "ascii table")
    is_each = job.choose("block", ("each headed", "first headed")) == "each headed" or has_heads
    files: defaultdict[str, list[str]] = defaultdict(list)
    last = rows[-1].step + 10
    for step, rank, cells in rows:
        name = job.filled(own, rank) if told == "file" else "train.log"
        key, who = shown.count.cells(step), {word: str(rank)} if told == "cell" else {}
        both = (cells | who if is_last else who | cells) if shape in ("tqdm", "keras", "indexed", "第") else cells
        ends = {} if both is not cells else who
        at = (shown.count.flat(step) // shown.count.each, shown.count.flat(last) // shown.count.each)
        out = shaped(shape, key | ends if is_last else ends | key, both, at, name not in files)
        if shape == "block" and is_raw:
            out.append("")
        files[name] += [
            text if is_raw or (at_line and not is_each) else log.line(rank, text) for at_line, text in enumerate(out)
        ]
        job.later(0.2)
    for rank in job.turns() if end else ():
        files[job.filled(own, rank) if told == "file" else "train.log"].append(log.line(rank, end))
    return dict(files)


def as_table(job: Job, shown: Print, rows: Sequence[Row], forms: Sequence[str] = LONG + WIDE) -> Files:
    cells = [cell for row in rows for name, cell in row.cells.items() if name not in KEYS]
    is_text = not all(re.fullmatch(NUMBER, cell) for cell in cells)
    form = job.choose("form", [one for one in forms if not is_text or one not in NUMBERS_ALONE])
    if "tensor" in rows[0].cells and (form in WIDE or form in NUMBERS_ALONE):
        rows = [row._replace(cells=under(row.cells["tensor"], row.cells)) for row in rows]
    return as_wide(job, shown, rows, form) if form in WIDE else as_long(job, shown, rows, form)


def under(head: str, cells: dict[str, str]) -> dict[str, str]:
    """The tensor's name before each of its statistics."""
    return {name if name == "loss" else f"{head}.{name}": cell for name, cell in cells.items() if name != "tensor"}


def as_long(job: Job, shown: Print, rows: Sequence[Row], form: str) -> Files:
    """A record of each step and rank."""
    word = job.choose("rank word", RANKS)
    flat = [shown.count.cells(row.step) | {word: str(row.rank)} | row.cells for row in rows]
    if job.choose("columns", ("as is", "as is", "reversed")) == "reversed":
        flat = [dict(reversed(one.items())) for one in flat]
    slugs, texts, now = [slug(name) for name in flat[0]], [[*one.values()] for one in flat], 1784000000
    heads = [name.replace("|", "") for name in flat[0]]
    files: defaultdict[str, list[str]] = defaultdict(list)
    match form:
        case "csv" | "tsv":
            return {f"metrics.{form}": [(",", "\t")[form == "tsv"].join(one) for one in [heads, *texts]]}
        case "jsonl":
            return {"metrics.jsonl": [f"{{{told('{j}: {q}', one.items())}}}" for one in flat]}
        case "markdown":
            return {"report.md": ["# Figures", "", *markdown(heads, texts)]}
        case "inserts":
            table = f"CREATE TABLE metrics ({', '.join(f'{one} TEXT' for one in slugs)});"
            values = ([cell if re.fullmatch(r"\d[\d.]*", cell) else f"'{cell}'" for cell in one] for one in texts)
            rest = (f"INSERT INTO metrics VALUES({', '.join(one)});" for one in values)
            return {"metrics.sql": ["BEGIN TRANSACTION;", table, *rest, "COMMIT;"]}
        case "psql":
            out = [" | ".join(f"{cell:>16}" for cell in one) for one in [slugs, *texts]]
            return {"query.txt": [out[0], "-+-".join("-" * 16 for _ in slugs), *out[1:], f"({len(texts)} rows)"]}
        case "pandas":
            out = ["  ".join(f"{cell:>16}" for cell in one) for one in [slugs, *texts]]
            return {"df.txt": [f"{at - 1 if at else '':>4} {one}" for at, one in enumerate(out)]}
        case "sqlite list":
            typed = ["sqlite> .headers on", "sqlite> select * from metrics;"]
            return {"sqlite.txt": [*typed, *("|".join(one) for one in [slugs, *texts])]}
        case "xml":
            elements = (f"  <row {told('{s}={c!r}', one.items(), ' ')}/>".replace("'", '"') for one in flat)
            return {"metrics.xml": ["<metrics>", *elements, "</metrics>"]}
    for at, (step, rank, cells) in enumerate(rows):
        key, n, ms = shown.count.cells(step), shown.count.flat(step), (now + at) * 1000
        where, pairs, who = "/".join(key.values()), cells.items(), slug(word)
        match form:
            case "nested":
                named = [(slug(m), c) for m, c in key.items()]
                head = told("{j}: {q}", [("ts", str(now + at)), *named, (who, str(rank))])
                files["metrics.ndjson"].append(f'{{{head}, "metrics": {{{told("{j}: {q}", pairs)}}}}}')
            case "influx":
                own = told("{s}={c}", [*key.items(), *pairs], ",")
                files["points.lp"].append(f"train,host={job.host(rank)},{who}={rank} {own} {ms * 10**6}")
            case "prometheus":
                label = told('{s}="{c}"', [*key.items(), (word, str(rank))], ",")
                files["scrapes.prom"] += [f"{slug(m)}{{{label}}} {c} {(now + step * 5) * 1000}" for m, c in pairs]
            case "wandb":
                own = told("{j}: {q}", [("_step", str(n)), ("_timestamp", f"{now + at}.5"), *pairs])
                files[f"wandb/run-r{rank}/history.jsonl"].append(f"{{{own}}}")
            case "mlflow":
                for name, cell in pairs:
                    files[f"mlruns/0/rank{rank}/metrics/{slug(name)}"].append(f"{ms} {cell} {n}")
            case "board":
                for name, cell in pairs:
                    out = files[f"run_rank{rank}-tag-{slug(name)}.csv"]
                    out += [*(() if out else ("Wall time,Step,Value",)), f"{now + at}.25,{n},{cell}"]
            case "ini":
                head = f"[{shown.count.word} {where} rank {rank}]"
                files["figures.ini"] += [head, *(f"{slug(m)} = {c}" for m, c in pairs), ""]
            case "toml":
                head = f"[{'.'.join(key)}.{where.replace('/', '_')}.rank{rank}]"
                files["figures.toml"] += [head, *(f"{slug(m)} = {c}" for m, c in pairs), ""]
            case "yaml":
                files["figures.yaml"] += [f"- {word}: {rank}", *(f"  {m}: {c}" for m, c in key.items())]
                files["figures.yaml"] += [f"  {told('{j}: {c}', [one])}" for one in pairs]
            case "report":
                if not at or rows[at - 1].step != step:
                    files["figures.txt"].append(f"=== {' '.join(key)} {where}: what each rank says ===")
                files["figures.txt"].append(f"  rank {rank:>2}: {told('{n}={c}', pairs, '  ')}")
            case "json by rank":
                out = files[f"metrics_rank{rank}.json"]
                is_last = all(row.rank != rank for row in rows[at + 1 :])
                out += [*(() if out else "["), f"{{{told('{j}: {q}', flat[at].items())}}}{'' if is_last else ','}"]
                out += ["]"] if is_last else []
            case "csv of each":
                out = files[f"metrics.{rank}.csv"]
                out += [*(() if out else (",".join([*key, *cells]),)), ",".join([*key.values(), *cells.values()])]
    return dict(files)


def listed(cells: Iterable[str]) -> str:
    return ", ".join(quoted(cell) for cell in cells)


def markdown(heads: Sequence[str], texts: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(one)} |" for one in (heads, ["---"] * len(heads), *texts)]


def as_wide(job: Job, shown: Print, rows: Sequence[Row], form: str) -> Files:
    """A line of each step with a place of each rank."""
    ranks, at = range(job.size), defaultdict[int, dict[int, dict[str, str]]](dict)
    for step, rank, cells in rows:
        at[step][rank] = {name: cell for name, cell in cells.items() if name not in KEYS}
    names, keys = [*at[0][0]], {step: shown.count.cells(step) for step in at}
    head, said = job.choose("column of a rank", COLUMNS), job.choose("gathered", GATHERED)
    lists = {(step, name): [at[step][rank][name] for rank in ranks] for step in at for name in names}
    heads = [*keys[0], *(head.format(m=name, r=rank) for name in names for rank in ranks)]
    texts = [[*keys[step].values(), *(cell for name in names for cell in lists[step, name])] for step in at]
    out: list[str] = []
    match form:
        case "wide markdown":
            return {"table.md": markdown([one.replace("|", "") for one in heads], texts)}
        case "wide" | "tsv wide":
            mark, end = (",", "csv") if form == "wide" else ("\t", "tsv")
            return {f"wide.{end}": [mark.join(one) for one in [heads, *texts]]}
        case "wide of each metric" | "matrix":
            column = job.choose("column", ("rank{r}", "r{r}", "{r}", "worker_{r}", "rank {r}"))
            heads, files = [column.format(r=rank) for rank in ranks], Files()
            for name in names:
                table = [[*keys[0], *heads], *([*keys[step].values(), *lists[step, name]] for step in at)]
                if form == "matrix":
                    flat = ([str(shown.count.flat(step)), *lists[step, name]] for step in at)
                    table = [[shown.count.word, *heads], *flat]
                    files[f"{slug(name)}.txt"] = [" ".join(f"{cell:>12}" for cell in one) for one in table]
                else:
                    files[f"{slug(name)}_by_rank.csv"] = [",".join(one) for one in table]
            return files
        case "json lists":
            for step in at:
                own = [f"{json.dumps(name, ensure_ascii=False)}: [{listed(lists[step, name])}]" for name in names]
                out.append(f"{{{', '.join([told('{j}: {q}', keys[step].items()), *own])}}}")
            return {"per_rank.jsonl": out}
    log = Log(job, "rank 0" if job.choose("said by", ("rank 0", "nobody")) == "rank 0" else "")
    for step in at:
        where = told("{n} {c}", keys[step].items(), " ")
        out += [f"- at: {where}"] if form == "yaml lists" else []
        for name in names:
            own = lists[step, name]
            each = [(str(rank), own[rank]) for rank in ranks]
            if form == "yaml lists":
                out.append(f"  {slug(name)}_per_rank: [{', '.join(own)}]")
                continue
            text = {
                "numpy": f"{where} {name} ({said}): [{' '.join(f'{one:>8}' for one in own)}]",
                "tensor": f"{where} {name} {said} tensor([{', '.join(own)}], device='cuda:0')",
                "dict of ranks": f"{where} {name} {said} {{{told('{n}: {p}', each)}}}",
                "all in a line": f"{where} {said} {name} | {told('r{n} {c}', each, ' | ')}",
                "lists": f"{where} {said} {name}: [{', '.join(own)}]",
            }[form]
            out.append(log.line(0, text))
    return {"per_rank.yaml" if form == "yaml lists" else "rank0.log": out}


def either(job: Job, shown: Print, rows: Sequence[Row], end: str = "", forms: Sequence[str] = LONG + WIDE) -> Files:
    if job.choose("recorded in", ("lines", "table")) == "lines":
        return as_lines(job, shown, rows, end=end)
    files = as_table(job, shown, rows, forms)
    return files | ({"train.log": [f"[rank{rank}] {end}" for rank in job.turns()]} if end else {})


FRAMEWORKS = {
    "hf": "{{'loss': {loss}, 'grad_norm': {norm}, 'learning_rate': {lr}, 'epoch': {epoch:.2f}}}",
    "megatron": " [2026-07-09 10:00:{at:02d}] iteration {step:8d}/{all:8d} | consumed samples: {samples:12d} | "
    "elapsed time per iteration (ms): {ms}.4 | learning rate: {lr} | global batch size:   256 | lm loss: {loss} | "
    "loss scale: 1.0 | grad norm: {norm} | number of skipped iterations:   0 | number of nan iterations:   {nans} "
    "|",
    "fairseq": '2026-07-09 10:00:{at:02d} | INFO | train_inner | {{"epoch": 1, "update": {epoch:.3f}, "loss": '
    '"{loss}", "wps": "{tok}", "num_updates": "{step}", "lr": "{lr}", "gnorm": "{norm}", "train_wall": "{at}"}}',
    "lightning": "Epoch 0: {pct:3d}%|{bar}| {step}/{all} [00:{at:02d}<01:10,  2.01it/s, v_num=3, "
    "train_loss={loss}, grad_norm={norm}]",
    "keras": "{step:4d}/{all} [{bar}] - ETA: 41s - loss: {loss} - grad_norm: {norm}",
    "torchtitan": "[titan] 2026-07-09 10:00:{at:02d},120 - root - INFO - step: {step:2d}  loss: {loss:>8}  "
    "grad_norm: {norm:>8}  memory: 42.10GiB(53.22%)  tps: {tok}  tflops: 301.22  mfu: 30.46%",
    "mmengine": "2026/07/09 10:00:{at:02d} - mmengine - INFO - Epoch(train) [1][{step:4d}/{all}]  lr: {lr}  eta: "
    "0:12:10  time: 0.{ms}  data_time: 0.0031  memory: 18222  grad_norm: {norm}  loss: {loss}",
    "detectron2": "[07/09 10:00:{at:02d} d2.utils.events]:  eta: 0:10:41  iter: {step}  total_loss: {loss}  "
    "grad_norm: {norm}  time: 0.{ms}  data_time: 0.0102  lr: {lr}  max_mem: 8123M",
    "nanogpt": "iter {step}: loss {loss}, grad norm {norm}, time {ms}.33ms, mfu 31.20%",
    "timm": "Train: 0 [{step:4d}/{all} ({pct:3d}%)]  Loss: {loss} ({loss})  Gnorm: {norm}  Time: 0.{ms}s, {tok}/s "
    " LR: {lr}  Data: 0.011",
    "maxtext": "completed step: {step}, seconds: 0.{ms}, TFLOP/s/device: 101.332, Tokens/s/device: {tok}.120, "
    "total_weights: 65536, loss: {loss}, grad_norm: {norm}",
    "deepspeed": "[2026-07-09 10:00:{at:02d},412] [INFO] [logging.py:96:log_dist] step={step}, skipped=0, "
    "lr=[{lr}], mom=[(0.9, 0.95)], loss={loss}, local_grad_norm={norm}",
    "composer": "[batch={step}/{all}]: Train loss/train/total: {loss} Train l2_norm/grad/local: {norm} Train "
    "time/batch: {step}",
    "torchtune": "1|{step}|Loss: {loss}, grad_norm: {norm}: {pct:3d}%|{bar}| {step}/{all} [00:{at:02d}<01:20,  "
    "1.02it/s]",
    "paddle": "[2026-07-09 10:00:{at:02d},310] [    INFO] - loss: {loss}, learning_rate: {lr}, global_step: "
    "{step}, grad_norm: {norm}, interval_runtime: 0.{ms}, progress_or_epoch: {epoch:.4f}",
    "mxnet": "INFO:root:Epoch[0] Batch [{step}]\tSpeed: {tok}.20 samples/sec\tcross-entropy={loss}\tgrad-norm={norm}",
}  # fmt: skip


def in_framework(job: Job, rows: Sequence[Row]) -> Files:
    """Each process prints as a known tool does, of its own figures."""
    tool = job.choose("tool", [*FRAMEWORKS])
    told = job.choose("told by", ("file", "head"))
    form = job.choose("own files", OWN_FILES) if told == "file" else job.choose("head", HEADS)
    base, files = int(job.choose("base", ("0", "1", "500"))), defaultdict[str, list[str]](list)
    for step, rank, cells in rows:
        share, ms = step * 100 // 60, job.draw.randint(310, 390)
        text = FRAMEWORKS[tool].format(
            loss=cells["loss"], norm=cells["norm"], step=step + base, all=60 + base, samples=(step + base) * 256,
            bar=f"{'█' * (share // 10):<10}" if tool != "keras" else f"{'=' * (share // 10) + '>':.<12}", at=step + 10,
            ms=ms, tok=ms * 31, lr="3.000e-04", epoch=(step + base) / 100, pct=share,
            nans=int(cells["loss"].lower().strip("-+")[0] in "ni"),
        )  # fmt: skip
        who = job.filled(form, rank)
        files[who if told == "file" else "all.log"].append(text if told == "file" else f"{who} {text}")
    return dict(files)
