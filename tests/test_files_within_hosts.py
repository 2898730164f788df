"""Files of several hosts in one text: a tool's heading of a host, and below it the headings of its files."""

from collections.abc import Callable

import pytest

from parsers.archive.gathered import parts_of

HOSTS = ("venus", "mars", "pluto")
FORMS: dict[str, Callable[[str], str]] = {
    "ansible": lambda host: f"{host} | CHANGED | rc=0 >>",
    "ansible in vain": lambda host: f"{host} | FAILED | rc=1 >>",
    "clush": lambda host: f"---------------\n{host}\n---------------",
    "dshbak": lambda host: f"----------------\n{host}\n----------------",
    "parallel-ssh": lambda host: f"[1] 21:47:02 [SUCCESS] {host}",
    "parallel-ssh with a user": lambda host: f"[2] 21:47:02 [SUCCESS] tr@{host} Stderr:",
}
FILES = {
    "tail": lambda at: f"==> /var/log/tr/slot{at}.log <==",
    "tail of a folder": lambda at: f"==> logs/slot{at}.log <==",
}


@pytest.mark.parametrize("head", FILES)
@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_of_the_host_above_it(form: str, head: str) -> None:
    lines = [
        line
        for host in HOSTS
        for line in (
            FORMS[form](host),
            *(part for at in range(2) for part in (FILES[head](at), f"mixing block {HOSTS.index(host)}{at}", "")),
        )
    ]
    text = "\n".join(lines).encode()
    parts = parts_of(text)
    assert [(one.host, one.name.rpartition("/")[2]) for one in parts] == [
        (host, f"slot{at}.log") for host in HOSTS for at in range(2)
    ]
    assert [text[one.begin : one.end].decode().strip() for one in parts] == [
        f"mixing block {HOSTS.index(host)}{at}" for host in HOSTS for at in range(2)
    ]
    assert len({one.name for one in parts}) == len(parts)


def test_files_after_words_of_a_host_are_nobodys() -> None:
    lines = [
        "venus | CHANGED | rc=0 >>",
        "load 0.4",
        "mars | CHANGED | rc=0 >>",
        "load 0.7",
        "$ tail -n 2 *.log",
        "==> a.log <==",
        "x",
        "==> b.log <==",
        "y",
    ]
    assert [one.host for one in parts_of("\n".join(lines).encode())] == ["venus", "mars", None, None]
