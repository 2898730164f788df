"""Records of steps that name their count, its place and their pace in ways of their own."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.forms import framings
from parsers.logs.field_lines import PARSER
from tests.lines import lines


@pytest.mark.parametrize(
    ("text", "step", "figures"),
    [
        ("INFO:root:Epoch[2] Batch [40-80]\tSpeed: 1200.50 samples/sec\taccuracy=0.41", 80, {"per_s": 1200.5}),
        ("Epoch[0] Batch[60] Speed=310 images/s top1=0.2", 60, {"per_s": 310.0}),
        ("ep=1 b=  25 loss=3.25 t_data=0.010 t_fwdbwd=0.232", 25, {"loss": 3.25}),
        ("it 830/1000 (1.13s) loss 3.5 aux 0.01 gn 1.9", 830, {"loss": 3.5}),
        ("[w2] minibatch 12 / loss 0.5 / 900 tokens/s", 12, {"loss": 0.5}),
        ("pass: 0, nbatch: 30, loss: 1.5, speed: 0.5 step/s, ips: 4200 tokens/s", 30, {"loss": 1.5, "per_s": 4200.0}),
        ("batch_idx=7 wps: 512 words/sec loss=nan", 7, {}),
    ],
    ids=[
        "range in brackets",
        "place in brackets",
        "letters",
        "share of the whole",
        "slashes",
        "commas",
        "not a number",
    ],
)
def test_a_record_is_read_whatever_it_calls_its_count(text: str, step: int, figures: dict[str, float]) -> None:
    [row] = PARSER.parse(lines(text))["steps"].rows(named=True)
    assert row["step"] == step
    assert {name: row[name] for name in figures} == figures


@pytest.mark.parametrize(
    "text",
    [
        "we saw a loss of 3 after batch 12 and stopped because the learning rate had been set to 3 by mistake",
        "loaded 12/12 shards",
        "request took 3/4 of the batch budget",
        "2024/03/08 batch of images arrived",
    ],
)
def test_a_sentence_with_figures_is_no_step(text: str) -> None:
    assert PARSER.parse(lines(text))["steps"].is_empty()


def test_a_text_with_a_slash_stays_whole() -> None:
    assert framings.record('step 3 path: "/a/b" loss 2') == {"step": "3", "path": "/a/b", "loss": "2"}


END = "\n".join(f"{{head}} {step}/40 loss {4 - step / 20:.3f}" for step in range(1, 41))


@pytest.mark.parametrize("head", ["it", "[0] it", "batch", "iter:", "update"])
def test_the_last_announced_step_ends_a_sound_run(tmp_path: Path, head: str) -> None:
    (tmp_path / "run.log").write_text(END.format(head=head) + "\nbye\n")
    assert analyze(tmp_path).verdict.kind == "healthy"


@pytest.mark.parametrize(
    ("head", "cut"),
    [("it", 39), ("batch", 39), ("epoch 1 it", 40)],
    ids=["not the last", "not the last batch", "the last of an epoch"],
)
def test_another_step_than_the_last_ends_nothing(tmp_path: Path, head: str, cut: int) -> None:
    (tmp_path / "run.log").write_text("\n".join(END.format(head=head).splitlines()[:cut]) + "\n")
    assert analyze(tmp_path).verdict.kind == "unknown"


def epochs(form: str, fast: float, slow: float) -> str:
    """Five epochs of twenty batches, slower from the middle of the fourth on."""
    rates = [(epoch, batch, slow if (epoch, batch) >= (3, 10) else fast) for epoch in range(5) for batch in range(20)]
    return "\n".join(form.format(epoch=epoch, batch=batch, rate=rate + batch % 3) for epoch, batch, rate in rates)


@pytest.mark.parametrize(
    "form",
    [
        "INFO:root:Epoch[{epoch}] Batch [{batch}]\tSpeed: {rate} samples/sec\tacc=0.1",
        "epoch: {epoch}, batch: {batch}, loss: 1.5, ips: {rate} tokens/s",
        "ep={epoch} b= {batch} loss=1.5 throughput={rate}",
        "Epoch {epoch} | batch {batch} | loss 1.5 | {rate} images/s",
    ],
)
@pytest.mark.parametrize("printers", [1, 3])
def test_a_pace_that_falls_within_an_epoch_is_heard(tmp_path: Path, form: str, printers: int) -> None:
    for number in range(printers):
        (tmp_path / f"w{number}.log").write_text(epochs(form, 1200.0, 430.0) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("slow", "throughput_drop", [])


def test_a_pace_that_stays_is_no_fall(tmp_path: Path) -> None:
    text = epochs("Epoch[{epoch}] Batch [{batch}]\tSpeed: {rate} samples/sec\tacc=0.1", 1200.0, 1200.0)
    (tmp_path / "w0.log").write_text(text + "\n")
    assert analyze(tmp_path).verdict.cause is None


@pytest.mark.parametrize(
    "form",
    [
        "ep=1 b= {step} loss=2.0 t_data={data} t_fwdbwd=0.232 t_allreduce={wait} t_upd=0.01",
        "it {step}/90 loss 2.0 data_time {data} fwd_time 0.232 comm_time {wait}",
        "batch: {step}, loss: 2.0, load_s: {data}, compute_s: 0.232, allreduce_s: {wait}",
        "i={step}/90 batch={step} loss=2.0 dataloader_s={data} forward_s=0.1 backward_s=0.132 sync_s={wait}",
        "minibatch {step} | loss 2.0 | t_loader {data} | t_update 0.01 | t_bwd 0.232 | t_nccl {wait}",
    ],
)
def test_the_one_whose_part_takes_long_while_others_wait_is_named(tmp_path: Path, form: str) -> None:
    for rank in range(6):
        late = rank == 4
        rows = [
            form.format(step=step, data=0.23 if late else 0.01, wait=0.04 if late else 0.26) for step in range(1, 31)
        ]
        (tmp_path / f"rank{rank}.log").write_text("\n".join(rows) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("slow", [4])
