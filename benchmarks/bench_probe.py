"""What the probe costs: the time of a training step with and without it, in one run.

    make bench-probe

Rounds alternate between no probe and each way of watching, on the same model; the table has medians over all steps of
all rounds, and their ratio to no probe. Wall time holds whatever else the machine did, CPU time does not. PyTorch runs
on one thread.
"""

import argparse
import shutil
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from forensics.probe import watch

SIZES = ((256, 4, 1024), (512, 3, 1024), (1024, 2, 1024))  # width, layers, tokens of a step
LENGTH = 128
LAYERS = {
    "modules": r"^layers\.\d+$", "inputs": False, "params": False, "backward": False, "update": False,
}  # fmt: skip
WAYS: dict[str, dict[str, Any] | None] = {
    "no probe": None,
    "one row per layer, JSONL": {**LAYERS, "form": "jsonl"},
    "one row per layer, Parquet": {**LAYERS, "form": "parquet"},
    "every module, JSONL": {"form": "jsonl"},
    "every module, Parquet": {"form": "parquet"},
    "every module, forward only": {"backward": False, "params": False, "update": False},
    "every module, with checksums": {"checksum": True},
    "every module, each tenth step": {"every": 10},
}


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // 64
        self.norm1, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.up, self.act, self.down = (
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(self.act(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.head = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


@contextmanager
def watched(model: nn.Module, folder: Path, optimizer: Any, options: dict[str, Any] | None) -> Iterator[None]:
    if options is None:
        yield
        return
    with watch(model, folder, optimizer=optimizer, rank=0, **options):
        yield


def measure(width: int, layers: int, tokens: int, rounds: int, folder: Path) -> dict[str, list[tuple[float, float]]]:
    """Way → (wall, CPU) seconds of each step; the first step of a round is left out."""
    torch.manual_seed(0)
    model = Model(width, layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    batch = torch.randn(tokens // LENGTH, LENGTH, width)
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, options in WAYS.items():
            steps = 10 if options is not None and "every" in options else 2
            with watched(model, folder / "tensor_stats", optimizer, options):
                for step in range(steps + 1):
                    wall, cpu = time.perf_counter(), time.process_time()
                    optimizer.zero_grad()
                    model(batch).square().mean().backward()
                    optimizer.step()
                    if step:
                        times[way].append((time.perf_counter() - wall, time.process_time() - cpu))
            shutil.rmtree(folder / "tensor_stats", ignore_errors=True)
    return times


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--width", type=int, help="only this one")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    for width, layers, tokens in [size for size in SIZES if given.width in (None, size[0])]:
        times = measure(width, layers, tokens, given.rounds, given.folder)
        print(f"\nwidth {width}, {layers} layers, {tokens} tokens a step")
        print(f"{'':34}{'wall ms':>9}{'ratio':>8}{'CPU ms':>10}{'ratio':>8}")
        middle = {
            way: [statistics.median(kind) * 1e3 for kind in zip(*seen, strict=True)] for way, seen in times.items()
        }
        for way, (wall, cpu) in middle.items():
            base = middle["no probe"]
            print(f"{way:34}{wall:9.1f}{wall / base[0]:8.3f}{cpu:10.1f}{cpu / base[1]:8.3f}", flush=True)


if __name__ == "__main__":
    main()
