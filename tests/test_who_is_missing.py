"""Who is missing says who counts: of a start, where the missing one's own log went another way, and of a later round, whose size nobody tells."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

SIZE, OUT = 5, 3
Logs = dict[str, list[str]]


def verdict(tmp_path: Path, logs: Logs) -> Verdict:
    for path, lines in logs.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("\n".join(lines) + "\n")
    return analyze(tmp_path).verdict


def guests() -> Logs:
    logs = {f"g{rank}.log": [f"10:00:0{rank} rank {rank} of {SIZE}, pid {700 + rank}"] for rank in range(SIZE)}
    for rank in range(1, SIZE):
        logs[f"g{rank}.log"] += (
            ["10:00:09 bell rang", "10:30:00 sent home"] if rank != OUT else ["10:00:09 no such house"]
        )
    logs["g0.log"] += [f"10:{m}0:00 at table {SIZE - 1} of {SIZE}, empty chair {OUT}" for m in range(1, 4)]
    return logs


def hosts() -> Logs:
    logs = {}
    for rank in range(SIZE):
        own = [f"2026-05-01T10:00:0{rank}Z boot rank={rank} world={SIZE} host=h{rank}"]
        own += (
            ["2026-05-01T10:00:09Z Verbindung steht"]
            if rank != OUT
            else [f"2026-05-01T10:0{m}:09Z Name unbekannt ({m})" for m in range(4)]
        )
        own += [f"2026-05-01T10:20:0{rank}Z Runde aufgelöst"] if rank != OUT else []
        logs[f"h{rank}/train.log"] = own
    logs["h0/train.log"][1:1] = [
        f"2026-05-01T10:1{m}:00Z warte: da {SIZE - 1}/{SIZE}, fehlt [{OUT}], seit {m + 1}00 s" for m in range(4)
    ]
    return logs


STARTS: Mapping[str, Callable[[], Logs]] = {"guests": guests, "hosts": hosts}


@pytest.mark.parametrize("form", STARTS)
def test_who_is_missed_at_the_start_and_went_another_way_is_named(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, STARTS[form]())
    assert (found.kind, found.ranks) == ("launch", [OUT])


@pytest.mark.parametrize("form", STARTS)
def test_who_says_what_all_others_say_is_not_missing_by_another_s_word(tmp_path: Path, form: str) -> None:
    logs = STARTS[form]()
    other, own = next(path for path in logs if "1" in path), next(path for path in logs if str(OUT) in path)
    logs[own] = [logs[own][0], *logs[other][1:]]
    assert verdict(tmp_path, logs).ranks == []


def rounds(word: str, said: str, waits: str, end: str, of: str) -> Logs:
    logs = {f"rank{rank}.log": [] for rank in range(SIZE) if rank != OUT}
    keeper = []
    for turn in range(1, 4):
        keeper.append(f"2026-05-01 10:{turn}0:00 {word} {turn} is open")
        came = [rank for rank in range(SIZE) if turn < 3 or rank != OUT]
        for at, rank in enumerate(came):
            keeper.append(f"2026-05-01 10:{turn}0:{at + 1}0 {word} {turn}: {said} {rank} ({at + 1}{of}{SIZE})")
            if rank != OUT:
                logs[f"rank{rank}.log"].append(f"2026-05-01 10:{turn}0:{at + 1}0 {word} {turn} abc {rank}")
    keeper += [f"2026-05-01 10:{minute}:00 {word} 3: {SIZE - 1}{of}{SIZE} {waits} {OUT}" for minute in (35, 40, 45, 50)]
    keeper.append(f"2026-05-01 11:00:00 ERROR {end}")
    return logs | {"keeper.log": keeper}


ROUNDS: Mapping[str, tuple[str, str, str, str, str]] = {
    "updates": ("lap", "piece of rank", "pieces, open:", "gradient all_reduce of lap 3 timed out after 1800 s", "/"),
    "Anteile": ("Umlauf", "Anteil von rank", "Anteile, es fehlt:", "barrier timed out: Umlauf 3, 1800 s", "/"),
}  # fmt: skip


@pytest.mark.parametrize("form", ROUNDS)
def test_who_alone_did_not_come_to_a_later_round_is_named(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, rounds(*ROUNDS[form]))
    assert (found.kind, found.ranks) == ("hang", [OUT])


@pytest.mark.parametrize("form", ROUNDS)
def test_another_number_beside_the_count_than_the_one_without_a_record_is_nobody(tmp_path: Path, form: str) -> None:
    logs = rounds(*ROUNDS[form])
    logs[f"rank{OUT}.log"] = logs.pop("rank1.log")
    assert verdict(tmp_path, logs).ranks == []


@pytest.mark.parametrize("form", ROUNDS)
def test_nobody_is_missed_where_all_have_a_record(tmp_path: Path, form: str) -> None:
    logs = rounds(*ROUNDS[form])
    logs[f"rank{OUT}.log"] = ["2026-05-01 10:10:00 abc", "2026-05-01 10:20:00 abd"]
    assert verdict(tmp_path, logs).ranks == []
