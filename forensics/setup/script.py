"""The rows for a launcher and a vendor as a text to read and paste: a shell script, or the template of a pod around one."""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import chain
from textwrap import indent, wrap

from forensics.setup.rows import Row, rows_for, settings

_WIDTH = 118
FOLDER = 'export INCIDENT_DIR="${INCIDENT_DIR:-$PWD/incident}"'
_USE = {
    "torchrun": "bash launch.sh --nproc-per-node 8 train.py …      what stood behind `torchrun`",
    "slurm": "sbatch launch.sh python train.py …      what stood behind `srun`; options of sbatch go below its #SBATCH line",
    "kubernetes": "what the container ran before stands behind `launch` in its args",
    "ray": "bash launch.sh python train.py …      what stood behind `ray job submit --`",
    "mpirun": "bash launch.sh -n 16 --hostfile hosts python train.py …      what stood behind `mpirun`",
    "deepspeed": "bash launch.sh --num_gpus 8 train.py …      what stood behind `deepspeed`",
}


def printed(launcher: str, vendor: str) -> str:
    """What `forensics setup LAUNCHER --vendor VENDOR` prints; both names as in the table."""
    rows = rows_for(launcher, vendor)
    if launcher == "kubernetes":
        return _pod(rows)
    names = {side.name: side.what for side in (*settings().launcher, *settings().vendor)}
    head = [
        f"# Settings and hooks that make an incident decidable: {names[launcher]}, {names[vendor]}.",
        f"# Use: {_USE[launcher]}",
        "# Evidence goes to $INCIDENT_DIR, a folder that all nodes see and that outlives the job.",
        '# Afterwards: forensics analyze "$INCIDENT_DIR"',
    ]
    if launcher == "slurm":
        head += ["# shellcheck disable=SC2329    # functions that srun runs on other hosts, too"]
    headers = [row.header[launcher] for row in rows if launcher in row.header]
    return "\n".join(["#!/bin/bash", *headers, *head, _script(rows, launcher), ""])


def _script(rows: Sequence[Row], launcher: str) -> str:
    """Everything behind the head: settings, hooks, the launch."""
    lines = ["set -u", FOLDER if launcher != "kubernetes" else "export INCIDENT_DIR=/incident"]
    lines += ['mkdir -p "$INCIDENT_DIR"']
    for row in rows:
        lines += ["", *_told(row), *_set(row)]
    return "\n".join([*lines, "", *_hooks(rows, launcher), *_launch(rows, launcher)])


def _told(row: Row) -> list[str]:
    """A row for people, as comments."""
    parts = ((f"--- {row.name}: ", row.what), ("  why: ", row.why), ("  cost: ", row.cost), ("  since: ", row.since), ("  source: ", row.source))  # fmt: skip
    lines = chain.from_iterable(
        wrap(label + text, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        for label, text in parts
    )
    told = [f"# {line}" for line in lines]
    told += [f"#   in the training program: {line}" for line in row.code.strip().splitlines()]
    return told + [f"#   once on each host, by its administrator: {line}" for line in row.host.strip().splitlines()]


def _set(row: Row) -> Iterator[str]:
    mark = "# " if row.only_shown else ""
    if row.before:
        yield from (f"{mark}{line}" for line in row.before.strip("\n").splitlines())
    yield from (f'{mark}export {name}="{value}"' for name, value in row.env.items())


def _hooks(rows: Sequence[Row], launcher: str) -> list[str]:
    """What is done on each host before and after, and once at the end."""
    shown = [row for row in rows if not row.only_shown]
    by_srun = 'srun --overlap --ntasks="${SLURM_JOB_NUM_NODES:-1}" --ntasks-per-node=1 bash -c "$(declare -f); $1"'
    everywhere = by_srun if launcher == "slurm" else '"$1"'
    return [
        "# --- before and after, on each host",
        *_function("host_begins", ['mkdir -p "$INCIDENT_DIR/hosts/$(uname -n)"', *(row.host_begin for row in shown)]),
        *_function("host_ends", ["true", *(row.host_end for row in shown)]),
        *_function("job_ends", ["on_each_host host_ends", *(row.job_end for row in shown)]),
        f"on_each_host() {{ {everywhere}; }}",
        "trap job_ends EXIT",
        "on_each_host host_begins",
        "",
    ]


def _function(name: str, parts: Sequence[str]) -> list[str]:
    body = "\n".join(part.strip("\n") for part in parts if part)
    return [f"{name}() {{", indent(body, "  "), "}"]


def _launch(rows: Sequence[Row], launcher: str) -> list[str]:
    """The launch with the options of all rows; variables go to other hosts as the launcher takes them there."""
    shown = [row for row in rows if not row.only_shown]
    options = " ".join(row.options[launcher] for row in shown if launcher in row.options)
    names = ["INCIDENT_DIR", *dict.fromkeys(chain.from_iterable(row.env for row in shown))]
    if launcher == "slurm":  # in the background, for only `wait` lets the shell hear a signal
        return [
            f'srun {options} "$@" &',
            "job=$!",
            'wait "$job"; status=$?',
            'while kill -0 "$job" 2>/dev/null; do wait "$job"; status=$?; done',
            '(exit "$status")',
        ]
    if launcher == "mpirun":
        forwarded = " ".join(f"-x {name}" for name in names)
        return [
            "# Hooks run on this host alone: mpirun does not say which others there are.",
            f'mpirun {forwarded} {options} "$@"',
        ]
    if launcher == "deepspeed":
        return [
            'export DS_ENV_FILE="$INCIDENT_DIR/deepspeed_env"    # what DeepSpeed takes to other hosts',
            f'for name in {" ".join(names)}; do printf \'%s=%s\\n\' "$name" "${{!name}}"; done >"$DS_ENV_FILE"',
            f'deepspeed {options} "$@"',
        ]
    if launcher == "ray":
        return [
            "# Ray gives these variables to its workers; values must hold no quotes.",
            f'for name in {" ".join(names)}; do printf \'"%s": "%s", \' "$name" "${{!name}}"; done >"$INCIDENT_DIR/ray_env"',
            'variables=$(cat "$INCIDENT_DIR/ray_env")',
            'ray job submit --runtime-env-json "{\\"env_vars\\": {${variables%, }}}" -- "$@"',
        ]
    return [f'torchrun {options} "$@"'] if launcher == "torchrun" else ['"$@"']


def _pod(rows: Sequence[Row]) -> str:
    """A template of a pod; keys of `pod` are paths in it, of the pod or of its container."""
    pod: list[str] = []
    container: list[str] = []
    for path, value in chain.from_iterable(row.pod.items() for row in rows):
        within, name = path.rsplit(".", 1)
        (container if within.endswith("containers") else pod).append(f"{name}: {value}")
    notes = "\n".join(chain.from_iterable(_told(row) for row in rows if row.pod))
    script = _script([row for row in rows if not row.pod], "kubernetes")
    template = files("forensics.setup").joinpath("pod.yaml").read_text(encoding="utf-8")
    return template.format(
        use=_USE["kubernetes"], notes=notes, pod=indent("\n".join(pod), " " * 2),
        container=indent("\n".join(container), " " * 6), script=indent(script, " " * 10),
    )  # fmt: skip
