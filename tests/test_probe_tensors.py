"""The probe and tensors of every kind: figures are exact, and nothing that a hook meets raises into the training."""

import importlib.util
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forensics.probe import watch
from tests.probe_runs import brief, needs_torch, rows

pytestmark = [needs_torch, pytest.mark.filterwarnings("default")]
if importlib.util.find_spec("torch") is not None:
    import torch
    from torch import nn


class Same(nn.Module if importlib.util.find_spec("torch") is not None else object):  # type: ignore[misc]
    """Hands on what it is given."""

    def forward(self, *given: Any) -> Any:
        return given[0] if len(given) == 1 else given


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    torch.set_num_threads(1)
    yield


def outputs(folder: Path, value: Any, **options: Any) -> list[dict[str, Any]]:
    """Rows of a module that hands `value` on."""
    model = Same()
    with watch(model, folder, inputs=False, rank=0, **options):
        model(value)
    return [row for row in rows(folder) if row["tensor"].startswith("output")]


@pytest.mark.parametrize(
    ("make", "low", "high"),
    [
        (lambda: torch.tensor([1.0, -4.0], dtype=torch.float64), -4.0, 1.0),
        (lambda: torch.tensor([1.0, -4.0], dtype=torch.bfloat16), -4.0, 1.0),
        (lambda: torch.tensor([1.0, -4.0]).to(torch.float8_e4m3fn), -4.0, 1.0),
        (lambda: torch.tensor([1.0, -4.0]).to(torch.float8_e5m2), -4.0, 1.0),
        (lambda: torch.tensor([[0.0, 2.0], [-1.0, 0.0]]).to_sparse(), -1.0, 2.0),
        (lambda: torch.tensor([[0.0, 2.0], [-1.0, 0.0]]).to_sparse_csr(), -1.0, 2.0),
        (lambda: torch.nested.nested_tensor([torch.ones(2), -torch.ones(3)], layout=torch.jagged), -1.0, 1.0),
        (lambda: torch.nested.nested_tensor([torch.ones(2), -torch.ones(3)]), -1.0, 1.0),
        (lambda: torch.tensor([3 - 5j, 1 + 0j]), -5.0, 3.0),
        (lambda: torch.ones(2, 3).t()[::2], 1.0, 1.0),
        (lambda: torch.tensor(2.5), 2.5, 2.5),
    ],
)  # fmt: skip
def test_figures_of_every_kind_of_tensor(tmp_path: Path, make: Any, low: float, high: float) -> None:
    (row,) = outputs(tmp_path, make())
    assert (row["min"], row["max"], row["nan_count"], row["inf_count"]) == (low, high, 0, 0)


def test_tensors_without_values_to_ask_for_have_no_figures(tmp_path: Path) -> None:
    packed = torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    assert brief(outputs(tmp_path, packed), "dtype", "min", "nan_count") == [("float4_e2m1fn_x2", None, None)]


def test_integers_and_what_is_traced_leave_no_rows(tmp_path: Path) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    model = Same()
    with watch(model, tmp_path, rank=0):
        model(torch.ones(3, dtype=torch.int64))
        model(torch.ones(3, device="meta"))
        with FakeTensorMode():
            model(torch.ones(3))
    assert rows(tmp_path) == []


def test_inside_torch_func_the_real_values_are_written(tmp_path: Path) -> None:
    model = nn.Linear(4, 2)
    with watch(model, tmp_path, rank=0, params=False):
        torch.vmap(model)(torch.ones(3, 4))
        torch.func.grad(lambda x: model(x).sum())(torch.ones(4))
        torch.vmap(torch.func.grad(lambda x: model(x).sum()))(torch.ones(5, 4))
        torch.func.functional_call(model, dict(model.named_parameters()), (torch.ones(4),))
    assert brief([row for row in rows(tmp_path) if row["tensor"] == "input"], "shape", "max") == [
        ([3, 4], 1.0), ([4], 1.0), ([5, 4], 1.0), ([4], 1.0),
    ]  # fmt: skip


def test_modules_and_users_may_change_tensors_in_place(tmp_path: Path) -> None:
    class Doubled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)
            self.act = nn.ReLU(inplace=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.inner(x)
            y *= 2
            return self.act(y)

    torch.manual_seed(0)
    model, x = Doubled(), torch.randn(3, 4)
    model(x).sum().backward()
    without = model.inner.weight.grad
    model.zero_grad()
    with watch(model, tmp_path, rank=0):
        model(x).sum().backward()
    assert torch.equal(model.inner.weight.grad, without)
    backward = [row for row in rows(tmp_path) if row["phase"] == "backward"]
    assert brief(backward, "module", "tensor") == [
        ("act", "grad_output"), ("act", "grad_input"), ("inner", "grad_output"),
    ]  # fmt: skip


def test_the_gradient_of_an_input_is_what_this_module_gave(tmp_path: Path) -> None:
    class Fork(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.left, self.right = (nn.Linear(2, 2, bias=False) for _ in range(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.first(x)
            return self.left(y) + float("nan") * self.right(y)

    model = Fork()
    with watch(model, tmp_path, rank=0):
        model(torch.ones(1, 2)).sum().backward()
    gradients = {row["module"]: row["nan_count"] for row in rows(tmp_path) if row["tensor"] == "grad_input"}
    assert (gradients["left"], gradients["right"]) == (0, 2)


def test_counts_are_exact_integers(tmp_path: Path) -> None:
    value = torch.full((2**24 + 3,), float("nan"))
    value[-1], value[-2], value[0] = float("inf"), float("-inf"), 1.0
    (row,) = outputs(tmp_path, value)
    assert (row["nan_count"], row["inf_count"], row["numel"]) == (2**24, 2, 2**24 + 3)


def test_figures_of_a_device_come_back_exactly() -> None:
    from forensics.probe.figures import Block

    block = Block(torch, torch.device("cpu"))
    block.put(torch.tensor([-1, 2, 3.5, 2**24 + 1, 1, -1, -1], dtype=torch.float64))
    assert block.values(wait=False) is None
    block.ship()
    values = block.values(wait=True)
    assert values is not None and values[0][:5] == [-1.0, 2.0, 3.5, 2.0**24 + 1, 1.0]


def test_a_checksum_tells_tensors_apart_that_have_equal_figures(tmp_path: Path) -> None:
    value = torch.linspace(-1, 1, 1000)
    swapped = value[torch.randperm(1000, generator=torch.Generator().manual_seed(1))]
    found = [
        outputs(tmp_path / str(at), one, checksum=True)[0] for at, one in enumerate((value, value.clone(), swapped))
    ]
    assert found[0]["checksum"] == found[1]["checksum"] != found[2]["checksum"]
    assert found[0]["max"] == found[2]["max"]
    assert "checksum" not in outputs(tmp_path / "off", value)[0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float8_e4m3fn"])
@pytest.mark.parametrize("size", [1, 7, 100_003])
def test_a_checksum_sees_every_bit_and_no_layout(tmp_path: Path, dtype: str, size: int) -> None:
    value = torch.linspace(-2, 2, size).to(getattr(torch, dtype))
    flipped = value.clone()
    flipped.view(torch.uint8)[-1] ^= 1
    shifted = torch.cat([value[:1], value])[1:]  # the same bits elsewhere in memory
    sums = [
        outputs(tmp_path / str(at), one, checksum=True)[0]["checksum"]
        for at, one in enumerate((value, flipped, shifted))
    ]
    assert sums[0] != sums[1] and sums[0] == sums[2]


def test_a_norm_that_overflows_is_computed_again(tmp_path: Path) -> None:
    (row,) = outputs(tmp_path, torch.full((4,), 1e30))
    assert math.isclose(row["l2norm"], 2e30, rel_tol=1e-6)


def test_an_error_of_the_probe_is_logged_and_the_training_goes_on(tmp_path: Path, caplog: Any) -> None:
    class Odd(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if getattr(function, "__name__", "") == "detach":
                raise ValueError("not for you")
            return super().__torch_function__(function, types, args, kwargs or {})

    model = Same()
    with watch(model, tmp_path, rank=0):
        assert isinstance(model(torch.ones(2).as_subclass(Odd)), Odd)
    assert "not for you" in caplog.text


def test_four_threads_leave_no_wrong_value(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def work(number: int) -> None:
        for _ in range(20):
            model(torch.full((number + 1, 8), float(number))).sum().backward()

    with watch(model, tmp_path, rank=0):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = rows(tmp_path)
    inputs = [row for row in found if (row["phase"], row["module"], row["tensor"]) == ("forward", "0", "input")]
    assert len(inputs) == 80 and all(row["max"] == row["shape"][0] - 1 for row in inputs)
    assert [row["seq"] for row in found] == list(range(len(found)))
    operations = [row for row in found if row["phase"] == "forward" and row["module"] == "1"]
    for given, made in zip(operations[::2], operations[1::2], strict=True):
        assert (given["tensor"], made["tensor"], given["shape"]) == ("input", "output", made["shape"])
        assert made["max"] == max(given["max"], 0.0)
