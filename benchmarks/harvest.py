"""Cuts formats at error and warning level out of a source checkout: what a program can print when something is wrong.

C and C++: calls whose name, or whose first argument, says a level (`WARN(`, `ucs_error(`, `NV_PRINTF(LEVEL_ERROR,`,
`LOG(ERROR) <<`) or that refuse (`TORCH_CHECK(`, `GLOO_ENFORCE(`), and `throw`. Python: calls whose name says a level,
`print` of words that complain, and `raise`. Go: calls whose name says a level. What stands between literals becomes a
plausible value: a number, a name, an address, by the expression's own name where it has one.
"""

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

Level = Literal["error", "warning", "raise", "print"]
_LANGUAGES = {".py": "python", ".go": "go"} | dict.fromkeys(
    (".c", ".cc", ".cpp", ".cu", ".h", ".hpp", ".cuh", ".cxx", ".inc", ".rs"), "c"
)
_ASIDE = re.compile(
    r"(?i)(?:^|/)(?:[\w-]*tests?|testing|[\w-]*examples?|benchmarks?|docs?|third[-_]party|3rd-?party|docker|tutorials?)(?:/|_)|_test\.|(?:^|/)test_|conftest"
)
_LEVEL_WORDS = {
    **dict.fromkeys(("error", "errors", "err", "errorf", "errors", "fatal", "fatalf", "crit", "critical", "exception", "alert", "emerg", "panic", "fail", "failure", "enforce", "check", "abort"), "error"),
    **dict.fromkeys(("warn", "warning", "warnings", "warningf", "warnf"), "warning"),
}  # fmt: skip
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CALL = re.compile(r"\b([A-Za-z_]\w*)(!?)\s*\(")
_LITERAL = re.compile(r'(?:\b[LuU]8?)?"((?:[^"\\\n]|\\.)*)"|`([^`]*)`')
_SPEC = re.compile(r"%(?:\([\w.]+\))?[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j|t|L)?([a-zA-Z%])")
_REGISTERS = re.compile(r"\s*reg(?:ister)?_\w+\(")  # a check of the call that declares a parameter: the text is help
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "", "0": ""}
_COMPLAINS = re.compile(
    r"(?i)\b(?:warn\w*|error|err|fail\w*|fatal|abort\w*|exception|crash\w*|kill\w*|corrupt\w*|invalid|lost|refused|denied|unable|cannot|can't"
    r"|could not|timed? ?-?out|unreachable|missing|mismatch\w*|exceed\w*|unexpected\w*|nan|overflow\w*|hang|stuck|stall\w*|dead|unhealthy|retry\w*)\b"
)
# What tells of a process, a peer, a device, a link, memory, storage or a wait that went wrong, not of an argument.
_DIAGNOSTIC = re.compile(
    r"(?i)\btimed?[- ]?out\b|\btimeouts?\b|\bhung\b|\bhang(?:s|ing)?\b|\bstuck\b|\bstall\w*|\bdead\w*|\bdied\b|\bkill\w*|\bcrash\w*|\babort\w*|\bterminat\w*"
    r"|\bconnect(?:ion)?\b.{0,40}(?:fail|refus|reset|clos|lost|broke)|(?:fail|unable|cannot|could not|error)\w*.{0,40}\bconnect|\bdisconnect\w*|\bunreachable|\breset\b|\brefused|\blost\b|\bbroken\b"
    r"|\bpeer\b|\bremote\b.{0,40}(?:fail|err|clos|exit)|\bheart-?beats?\b|\bunhealthy|\bunavailable|\bnot respond|\bno response|\bstraggl\w*"
    r"|out of memory|\boom\b|\bno space|\bcorrupt\w*|\bchecksum\w*|\bnans?\b|\binfs?\b|non-?finite|\boverflow|\bdesync|\bmismatch\w*"
    r"|\b(?:gpu|device|nic|hca|link|port|qp|ecc|pcie|xid|node|worker|rank|actor|process|daemon|agent|replica|engine)s?\b.{0,60}\b(?:fail|err|lost|down|exit|fault|abnormal|bad|drain|evict)"
    r"|(?:fail|err|lost|exit|fault)\w*.{0,60}\b(?:gpu|device|nic|hca|link|port|qp|ecc|pcie|node|worker|rank|actor|process|daemon|agent|replica|engine)s?\b"
    r"|\bcheckpoint\w*.{0,60}(?:fail|corrupt|err)|(?:fail|err)\w*.{0,60}checkpoint|\bretr(?:y|ies|ying)\b|\bpreempt\w*|\bsig(?:term|kill|nal|int|usr|abrt|segv)\b|\bexit(?:ed|ing)? (?:with |code|unexpect)"
    r"|\bcollective|\bbarrier|\brendezvous|\bn?ccl\b|\bcuda (?:error|fail)"
)
_FAULT = "Bad file descriptor"  # what stands where an error is quoted: it must not make the format diagnostic
_NAMED: tuple[tuple[str, str], ...] = (
    (r"rank|index|idx|num|count|size|id$|_id|step|port|len|pid|attempt|retr|local|world|iter|epoch|code|status|errno|\bn\b|\bi\b", "3"),
    (r"timeout|second|secs|elapsed|duration|interval|time|_ms|delay", "600"),
    (r"host|addr|ip\b|endpoint|url|node|peer|server|hostname", "10.0.0.7"),
    (r"path|file|dir|folder|fname", "/data/run/part_3"),
    (r"exc|^e$|err|reason|cause", _FAULT),
    (r"name|key|op|tag|group", "w3"),
)  # fmt: skip
_PRINTF = {
    "d": "3",
    "i": "3",
    "u": "3",
    "x": "1f",
    "X": "1F",
    "p": "0x7f3a1c",
    "s": "w3",
    "c": "x",
    "f": "0.5",
    "g": "0.5",
    "e": "1e-3",
    "v": "w3",
    "q": '"w3"',
    "r": "w3",
    "t": "true",
    "T": "w3",
    "w": "w3",
}


class Format(NamedTuple):
    """A format of a source. `text`: with plausible values, lines as printed; `cls`: of `raise` the class."""

    path: str
    line: int
    level: Level
    text: str
    cls: str = ""

    @property
    def is_diagnostic(self) -> bool:
        """Does it tell of something that went wrong with a process, a peer, a device or a wait?"""
        return _DIAGNOSTIC.search(self.text) is not None


def formats(source: Path, folders: Iterable[str] = ("",)) -> list[Format]:
    """Those of a bare git directory, a work tree or an unpacked wheel, below `folders`, each text once."""
    found: dict[tuple[str, str], Format] = {}
    for path, text in _files(source, tuple(folders)):
        read = {"python": _python, "go": _code, "c": _code}[_LANGUAGES[Path(path).suffix]]
        for one in read(path, text):
            if len(re.findall(r"[A-Za-z]{2,}", _literal_part(one.text))) >= 2:
                found.setdefault((one.level, one.text), one)
    return list(found.values())


def _literal_part(text: str) -> str:
    return text.replace("w3", "").replace(_FAULT, "")


def _is_wanted(path: str, folders: tuple[str, ...]) -> bool:
    return Path(path).suffix in _LANGUAGES and path.startswith(folders) and not _ASIDE.search(path)


def _files(source: Path, folders: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if not (source / "HEAD").is_file():
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source).as_posix()
            if path.is_file() and _is_wanted(name, folders):
                yield name, path.read_text("utf-8", "replace")
        return
    names = subprocess.run(
        ["git", "-C", source, "ls-tree", "-r", "-z", "--name-only", "HEAD"], capture_output=True, check=True
    ).stdout
    wanted = [name for name in names.decode("utf-8", "replace").split("\0") if _is_wanted(name, folders)]
    asked = "".join(f"HEAD:{name}\n" for name in wanted).encode()
    told = subprocess.run(
        ["git", "-C", source, "cat-file", "--batch"], input=asked, capture_output=True, check=True
    ).stdout
    at = 0
    for name in wanted:
        end = told.index(b"\n", at)
        head = told[at:end].split()
        at = end + 1
        if head[1:2] == [b"blob"]:
            size = int(head[2])
            yield name, told[at : at + size].decode("utf-8", "replace")
            at += size + 1


def _level(*names: str) -> Literal["error", "warning"] | None:
    for name in names:
        for word in _WORDS.findall(name):
            if (found := _LEVEL_WORDS.get(word.lower())) is not None:
                return found  # type: ignore[return-value]
    return None


def _value(expression: str) -> str:
    """What an expression may hold, by its own name."""
    name = expression.rsplit("(", 1)[0] if expression.endswith(")") else expression
    name = re.sub(r"([a-z])([A-Z])", r"\1_\2", name.split(".")[-1].split("->")[-1].split("::")[-1]).lower()
    return next((value for pattern, value in _NAMED if re.search(pattern, name)), "w3")


def _printf(text: str) -> str:
    return _SPEC.sub(lambda spec: "%" if spec[1] == "%" else _PRINTF.get(spec[1], "w3"), text)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda one: _ESCAPED.get(one[1], one[1]), text)


def _python(path: str, text: str) -> Iterator[Format]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            cls, said = _last_name(node.exc.func), _said(node.exc.args)
            if cls and said:
                yield Format(path, node.lineno, "raise", said, cls)
        elif isinstance(node, ast.Call):
            name = _last_name(node.func)
            level: Level | None = _level(name) if name[:1].islower() or name[:1] == "_" else None
            said = _said(node.args) if level or "print" in name else None
            if said and (level or _COMPLAINS.search(said)):
                yield Format(path, node.lineno, level or "print", said)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _said(arguments: list[ast.expr]) -> str | None:
    """The first argument that holds words, with values in it."""
    for argument in arguments[:2]:
        made = _text(argument)
        if made is not None and re.search(r"[A-Za-z]{3}", made):
            return _printf(made) if "%" in made else made
    return None


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else _value(ast.unparse(part.value))
            for part in node.values
            if isinstance(part, ast.Constant | ast.FormattedValue)
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        left = _text(node.left)
        return None if left is None else _printf(left)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        if left is None and right is None:
            return None
        return (left if left is not None else _value(ast.unparse(node.left))) + (
            right if right is not None else _value(ast.unparse(node.right))
        )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        inner = _text(node.func.value)
        return None if inner is None else re.sub(r"\{([^{}]*)\}", lambda hole: _value(hole[1]), inner)
    return None


def _code(path: str, text: str) -> Iterator[Format]:
    for call in _CALL.finditer(text):
        name, begin = call[1], call.end()
        end = _closing(text, begin)
        inside = text[begin:end]
        if '"' not in inside and "<<" not in text[end : end + 8]:
            continue
        before = text[max(0, call.start() - 40) : call.start()]
        is_thrown = re.search(r"\bthrow\s+(?:[\w:]+::)?$", before) is not None
        first = inside.split(",", 1)[0]
        level = "raise" if is_thrown else _level(name, first if '"' not in first and len(first) < 60 else "")
        if level is None or _REGISTERS.match(inside):
            continue
        streamed = text[end + 1 : text.find(";", end)] if text[end + 1 : end + 200].lstrip().startswith("<<") else ""
        said = _joined(streamed or inside)
        if said and re.search(r"[A-Za-z]{3}", said):
            yield Format(path, text.count("\n", 0, begin) + 1, level, said, name if is_thrown else "")


def _closing(text: str, begin: int) -> int:
    """Where the parenthesis closes that was opened before `begin`; 4,000 characters at most."""
    depth, at, last = 1, begin, min(len(text), begin + 4000)
    while at < last:
        letter = text[at]
        if letter == '"':
            found = _LITERAL.match(text, at)
            at = found.end() if found else at + 1
            continue
        if letter == "'" and text[at + 2 : at + 3] == "'":
            at += 3
            continue
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return at
        at += 1
    return last


def _joined(inside: str) -> str:
    """The text that the arguments make: a printf format with its values, or pieces with what stands between them."""
    pieces: list[tuple[str, str]] = []  # what stands before, the literal
    at = 0
    for found in _LITERAL.finditer(inside):
        pieces.append((inside[at : found.start()], found[1] if found[1] is not None else found[2]))
        at = found.end()
    if not pieces:
        return ""
    made = _unescaped(pieces[0][1])
    is_printf = _SPEC.search(made.replace("%%", "")) is not None
    for between, literal in pieces[1:]:
        plain = between.strip()
        if not plain:
            made += _unescaped(literal)
        elif re.fullmatch(r"PRI\w{1,6}|[A-Z_]{3,20}", plain):
            made += ("u" if made.endswith(("%", "%l", "%0")) else "") + _unescaped(literal)
        elif is_printf or "%" in literal:
            is_printf = True
            if made.count("%") == 0:  # an argument of the condition before
                made = _unescaped(literal)
        elif plain == "," and re.fullmatch(r"[\w.-]{0,40}", made):  # a name beside the text
            made = _unescaped(literal)
        elif re.fullmatch(r"[,<\s]*", plain):
            made += _unescaped(literal)
        else:
            made += _value(re.sub(r"^[,<\s]+|[,<\s]+$", "", plain).split("<<")[-1].strip()) + _unescaped(literal)
    if is_printf:
        return _printf(made).strip()
    made = re.sub(r"\{[\w:?#]{0,20}\}", lambda hole: _value(hole[0][1:-1]), made)  # of Rust and fmt
    rest = re.sub(r"^[,<\s]+", "", inside[at:].strip()).split("<<")[0].split(",")[0].strip()
    return (made + (_value(rest) if made.endswith((" ", ": ", "=", "'", "(")) and rest else "")).strip()
