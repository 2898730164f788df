"""Who was refused at a start for a value that it alone has, in words that nobody has taught."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

SIZE, ODD = 6, 4
Logs = dict[str, list[str]]


def house(odd: int | None = ODD) -> Logs:
    """A door-keeper refuses; its guest raises what it was told."""
    logs = {}
    for rank in range(SIZE):
        form = 7 if rank == odd else 9
        logs[f"g{rank}.log"] = [f"<10:00:0{rank}> rank={rank} pid={700 + rank} Vorschlag: Stil {form}, Farbe blau"]
    for rank in range(SIZE):
        if rank == odd:
            logs[f"g{rank}.log"] += [
                "Traceback (most recent call last):",
                '  File "/opt/fox/door.py", line 8, in <module>',
                "    raise NotWelcome(answer)",
                "fox.door.NotWelcome: du: 7, wir: 9",
            ]
        else:
            logs[f"g{rank}.log"] += [f"<10:05:0{rank}> die Runde ist nicht voll, Schluss"]
    logs["g0.log"].insert(
        1, f"<10:00:30> Gast {ODD} abgewiesen: er hat 7, hier gilt 9" if odd is not None else "<10:00:30> alle da"
    )
    return logs


def ring(odd: int | None = ODD) -> Logs:
    """Neighbours refuse each other; nobody raises anything."""
    logs = {}
    for rank in range(SIZE):
        own = "1.9.3" if rank == odd else "2.0.1"
        lines = [f"rank {rank} of {SIZE} 启动", f"库 版本 {own}"]
        if odd is not None and rank == odd:
            lines += [f"邻居 {(rank + 1) % SIZE} 用 2.0.1, 本机 1.9.3, 不行"]
        elif odd is not None and (rank - odd) % SIZE in (1, SIZE - 1):
            lines += [f"邻居 {odd} 用 1.9.3, 本机 2.0.1, 不行"]
        logs[f"rank{rank}/out.txt"] = [*lines, "环 没有 形成", f"结束 {rank}"]
    return logs


def size(odd: int | None = ODD) -> Logs:
    """The size of the world itself; the last to come are still waiting."""
    logs = {}
    for rank in range(SIZE):
        own = SIZE + 2 if rank == odd else SIZE
        lines = [f"2026-02-03T04:00:0{rank}Z w{rank} RANK={rank} WORLD_SIZE={own} started"]
        if rank == odd:
            lines += [f"2026-02-03T04:00:09Z w{rank} E0404 server says {SIZE}, I say {SIZE + 2}, leaving with status 4"]
        else:
            lines += [f"2026-02-03T04:09:0{rank}Z w{rank} nobody opened"]
        logs[f"w{rank}.out"] = lines
    if odd is not None:
        logs["w0.out"].insert(1, f"2026-02-03T04:00:09Z w0 member {odd} wants {SIZE + 2} seats, hall has {SIZE}: no")
    return logs


FORMS: Mapping[str, Callable[..., Logs]] = {"a house": house, "a ring": ring, "the size": size}


def verdict(tmp_path: Path, logs: Logs) -> Verdict:
    return analyze(written(tmp_path, logs)).verdict


@pytest.mark.parametrize("form", FORMS)
def test_who_was_refused_for_its_own_value_is_named(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, FORMS[form]())
    assert (found.kind, found.ranks) == ("launch", [ODD])
    assert found.cause == ("version_mismatch" if form == "a ring" else "config_drift")


@pytest.mark.parametrize("form", FORMS)
def test_a_value_of_which_only_one_side_speaks_names_nobody_here(tmp_path: Path, form: str) -> None:
    logs = FORMS[form]()
    for path, lines in logs.items():
        if str(ODD) not in path:
            logs[path] = [line for line in lines if not ("Gast" in line or "邻居" in line or "seats" in line)]
    assert verdict(tmp_path, logs).cause not in ("version_mismatch", "config_drift")


@pytest.mark.parametrize("form", FORMS)
def test_a_value_that_differs_and_of_which_nobody_speaks_is_no_fault(tmp_path: Path, form: str) -> None:
    logs = FORMS[form]()
    for path, lines in logs.items():
        logs[path] = [
            line
            for line in lines
            if not any(
                word in line for word in ("Gast", "邻居", "seats", "du:", "I say", "Traceback", "File", "raise ")
            )
        ]
    found = verdict(tmp_path, logs)
    assert (found.cause in ("version_mismatch", "config_drift"), found.ranks) == (False, [])


@pytest.mark.parametrize("form", FORMS)
def test_half_against_half_is_nobody(tmp_path: Path, form: str) -> None:
    logs = FORMS[form]()
    old, new = {
        "a house": ("Stil 9", "Stil 7"),
        "a ring": ("版本 2.0.1", "版本 1.9.3"),
        "the size": (f"SIZE={SIZE}", f"SIZE={SIZE + 2}"),
    }[form]
    for path in sorted(logs)[:2]:
        logs[path] = [line.replace(old, new) for line in logs[path]]
    assert verdict(tmp_path, logs).ranks in ([], [ODD] if form == "a house" else [])


@pytest.mark.parametrize("form", FORMS)
def test_a_job_that_had_begun_was_refused_nothing(tmp_path: Path, form: str) -> None:
    logs = FORMS[form]()
    for lines in logs.values():
        lines.insert(1, "2026-02-03 04:00:01 step 1 loss 2.5")
    assert verdict(tmp_path, logs).kind != "launch"


@pytest.mark.parametrize("mark", ["# of guests: 3/6.", "### lobby ###", "gate#2 of \N{NULL}hall #1"])
@pytest.mark.parametrize("form", FORMS)
def test_text_may_hold_any_mark(tmp_path: Path, form: str, mark: str) -> None:
    logs = FORMS[form]()
    for lines in logs.values():
        lines.append(mark)
    found = verdict(tmp_path, logs)
    assert (found.kind, found.ranks) == ("launch", [ODD])


def _figures(at: int, rank: int, bad: int) -> str:
    values = [0, 1, 64, 4096, at, rank, bad, 7, 9]
    return '{"' + '", "'.join(f'k{n}": {value}, "w' for n, value in enumerate(values)) + '": 0}'


@pytest.mark.parametrize("form", ["records", "early"])
def test_numbers_that_meet_by_chance_are_no_refusal(tmp_path: Path, form: str) -> None:
    """Rows of figures hold any two numbers; and who had much to do after such a line was not refused by it."""
    logs = house()
    for rank in range(SIZE):
        own = [line for line in logs[f"g{rank}.log"] if "Vorschlag" in line]
        if form == "records":
            own += [
                _figures(at, rank, int(rank in (1, ODD) and at == 2)).replace('"w', '"x' * (rank + 1))
                for at in range(4)
            ]
        else:
            own += [f"<10:01:{rank:02}> Haus 7 neben Haus 9"] * (rank in (1, ODD))
            own += [f"<10:02:{at:02}> {'lese' if rank == ODD else 'warte'} Band {at}" for at in range(20)]
        logs[f"g{rank}.log"] = own
    assert verdict(tmp_path, logs).ranks == []


# What all but one tell at the start, what the one tells, who closes its door, what the one says of that, what the others say.
CLOSED: Mapping[str, tuple[str, str, str, str, str]] = {
    "a wheel": ("fox 2.4.1-gpu at /opt/fox", "fox 2.3.7-gpu at /home/eve/.venv", "peer {} refused: 2.3.7 against 2.4.1", "server closed our hello", "leaving before start"),
    "a size": (f"prêt, monde={SIZE}", f"prêt, monde={SIZE + 2}", "bonjour de {} refusé: " + f"il dit {SIZE + 2}, ici {SIZE}", "connexion fermée, nouvel essai", "abandon du maître"),
    "a form of words": ("спикер: формат 31", "спикер: формат 29", "гость {}: 29 вместо 31, нет", "дверь закрыта", "никто не начал"),
}  # fmt: skip


def closed(form: str, *, who: str = str(ODD), odd_says: str | None = None, refused: bool = True) -> Logs:
    usual, own, refusal, said, left = CLOSED[form]
    logs = {}
    for rank in range(SIZE):
        end = left if rank != ODD else said if odd_says is None else odd_says
        middle = [refusal.format(who)] if rank == 0 and refused else []
        logs[f"rank{rank}.log"] = [f"rank {rank} of {SIZE}", own if rank == ODD else usual, *middle, end]
    return logs


@pytest.mark.parametrize("form", CLOSED)
def test_who_closed_the_door_tells_on_whom_and_why(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, closed(form))
    assert (found.kind, found.ranks) == ("launch", [ODD])


@pytest.mark.parametrize("form", CLOSED)
@pytest.mark.parametrize("way", ["another", "nobody", "as all others", "no refusal"])
def test_a_closed_door_names_nobody_that_it_does_not_tell(tmp_path: Path, form: str, way: str) -> None:
    logs = {
        "another": closed(form, who="3"),
        "nobody": closed(form, who="x"),
        "as all others": closed(form, odd_says=CLOSED[form][4]),
        "no refusal": closed(form, refused=False),
    }[way]
    if way == "as all others":
        logs[f"rank{ODD}.log"][1] = CLOSED[form][0]
    assert verdict(tmp_path, logs).ranks == []
