"""What `grep -H` printed of several logs, taken apart again: each log is a member of its own.

    n2.log:2026-11-29 23:29:47 step 10 loss 2.06         logs/n5.out:118:Traceback (most recent call last):          n5.out-119-  File "fit.py", line 9

The file's name stands before nearly every line, of two files at least, and behind it the number of the line where all have one. What is called as a
file of a program's source is, or is below /proc or /sys, is none: others read that. What stands between, a command line, stays a member at its lines.
Source: grep's manual, --with-filename, --line-number, --context.
"""

from collections import defaultdict

from parsers.text.patterns import regex

_NEARLY, _FEWEST, _LINES, _MOST = 0.9, 2, 3, 4096  # of the lines; files, lines of each of two, files
_BEFORE = regex(
    rb"(?!/proc/|/sys/)(?P<name>(?:~?/|\.{1,2}/)?(?:[\w.@%+-]+/)*(?:[\w.@%+-]*\w\.(?:log|out|err|txt|stdout|stderr)(?:\.\d{1,6})?|(?:log|out|err)\.[\w-]+)):"
)
_NUMBER = regex(rb"\d{1,9}[:-]")


def may_be(head: bytes) -> bool:
    """Is it worth reading the whole file? By its first bytes."""
    names = [found["name"] for line in head.split(b"\n", 40)[:40] if (found := _BEFORE.match(line))]
    return len(names) >= _LINES


def parts_of(data: bytes) -> tuple[dict[str, bytes], bytes]:
    """A whole file → name of a log → its lines, and what is of none; nothing where it is of one piece."""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    names = {found["name"] for line in lines if (found := _BEFORE.match(line))}
    own: defaultdict[bytes, list[bytes]] = defaultdict(list)
    rest: list[bytes] = []
    for line in lines:
        found = _BEFORE.match(line)
        name = found["name"] if found else next((one for one in names if line.startswith(one + b"-")), None)
        if name is not None:
            own[name].append(line[len(name) + 1 :])
        rest.append(line if name is None and line != b"--" else b"")
    told, filled = sum(map(len, own.values())), sum(1 for line in lines if line.strip() and line != b"--")
    several = sum(1 for said in own.values() if len(said) >= _LINES)
    if several < _FEWEST or len(own) > _MOST or told < _NEARLY * filled:
        return {}, b""
    is_numbered = all(_NUMBER.match(line) for said in own.values() for line in said)
    texts = {
        name: [_NUMBER.sub(b"", line, count=1) if is_numbered else line for line in said] for name, said in own.items()
    }
    return {name.decode("utf-8", "replace"): b"\n".join([*said, b""]) for name, said in texts.items()}, b"\n".join(rest)
