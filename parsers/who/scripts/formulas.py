"""What scripts and settings compute ranks from: sums and products of named numbers.

    RANK=$((NODE_RANK*4+g))        RANK=str(node * G + g)        $r = $n*4 + $g        rank_formula = "node*slots+slot"        RANK=$((SGE_TASK_ID - 1))
    # global number is NODE_INDEX * 4 + slot          rule="node*8+gpu"          # each one's rank is 2*PROCNO + slot
    environment=RANK="%(process_num)d"        NODE=$((VC_TASK_INDEX+1))        env RANK=$r … -J tr.$r

An expression is read as a sum of products of names and numbers, with + - * and parentheses, or the rest of such a sum (`(INDEX+5)%8`); a name in a
product, or behind %, to which the file gives one number is that number. Nothing is evaluated by anybody's language, and what has another form is none. Names are those of shells (`$x`, `${x}`, `$$x`, `$env:x`), systemd (`%i`), supervisord (`%(x)02d`), or bare.

What a name means is told by its own words (vocabulary.py), by what it is given to (`LOCAL_RANK=$g`), or by its place: in `k·x + y` with
k above 1, x counts nodes, each with k processes, and y the processes of a node.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.text.vocabulary import of_process, words_of
from parsers.who.lines.beginnings import Begun
from parsers.who.scripts.loops import INSTANCE, counted_on, unquoted

_LINES = 400
_CHARACTERS = 1000
_DEPTH, _TERMS = 8, 8
_NAME = r"\$\{\w{1,40}##?\*[-_.]\}|\$?\$?\{?\$?(?:env:)?[A-Za-z_]\w{0,60}\}?|%\(\w{1,60}\)\d{0,2}[ds]|%[iI]"
_ASSIGNED = regex(  # within each other, too: environment=RANK="%(process_num)d"
    r"(?:(?<=[\s\"',;{(@:=\[])|\A)(?=(?:\$(?:env:)?)?(?P<dash>--?)?(?P<name>[A-Za-z_][\w-]{0,60})(?P<is>(?:[\"']\]?)?\s{0,24}[=:]\s{0,2}| )[\"']?"
    r"(?P<value>\$?\$?\(\([^()]{0,120}(?:\([^()]{1,60}\)[^()]{0,60})?\)\)"
    r"|(?:str|int)\([^()]{1,120}(?:\([^()]{0,60}\)[^()]{0,60})?\)"
    rf"|(?:{_NAME}|\d{{1,7}}(?![\w.]))(?:\s{{0,2}}[-+*]\s{{0,2}}(?:{_NAME}|\d{{1,7}}(?![\w.])))*))"
)
_FIELD = regex(
    r"(?:(?P<of>\w{1,60}):\s+\(v\d\w*:metadata\.\w{1,20}\[[^\n\]]{0,100}(?:index|ordinal)[^\n\]]{0,20}\]\))|name:\s*(?P<name>\w{1,60})\s+valueFrom:\s+fieldRef:\s+fieldPath:\s*(?P<field>[^\n]{0,120}(?:index|ordinal)[^\n]{0,20})"
)
_COMPUTED = regex(r"(?<![A-Za-z_])(?:GLOBAL_|WORLD_)?RANK=\"?\$\(\((?P<sum>[^\n]{1,160}?)\)\)")
_SAID = regex(  # in words, or in a setting that is not called after a rank
    r"(?i)\b(?:rank|global|world|process|worker|number|formula|rule|id|index)\b[^\n*+]{0,30}?(?<![\w.*+/-])"
    r"(?P<sum>(?:[a-z_]\w{0,40}\s?\*\s?(?:[a-z_]\w{0,40}|\d{1,4})|\d{1,4}\s?\*\s?[a-z_]\w{0,40})\s?\+\s?[a-z_]\w{0,40}"
    r"|[a-z_]\w{0,40}\s?\+\s?(?:[a-z_]\w{0,40}\s?\*\s?(?:[a-z_]\w{0,40}|\d{1,4})|\d{1,4}\s?\*\s?[a-z_]\w{0,40}))(?!\w|\s?[*+/(\[-])"
)
_IN_WORDS = regex(r"(?i)\b(node|host|machine|local) (rank|index|number|id)\b")
_RANK_IS = regex(
    r"(?i)(?<![a-z_] )(?<![a-z_])(?:the |their |its |global |world |own |mpi )?rank (?:is|=|:=|will be) {1,2}\Z"
)
_TOKEN = regex(rf"\s*(?:(?P<name>{_NAME})|(?P<number>\d{{1,7}})|(?P<mark>[-+*()%]))")
_REST = regex(rf"\s*(?:\((?P<sum>[^()]*)\)|(?P<name>{_NAME}))\s*%\s*\$?\{{?(?P<by>\w{{1,40}})\}}?\s*")
_EITHER = regex(r"\s*(?P<name>[A-Za-z_]\w{0,60}) = [^\n]{1,200}? if [^\n]{1,200}? else (?P<other>[^\n]{1,120})")
_ITEM = regex(r"\b[A-Za-z_]\w{0,40}\[[\"'](\w{1,60})[\"']\]")  # of a dictionary
_ATTRIBUTE = regex(r"(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?:\(\))?")  # of an object, or what one of its methods says
# what a script is called with
_PASSED = regex(r"(?:^|[\s;])(?P<name>[A-Za-z_]\w{0,40})=[\"']?\$\{?(?P<argument>[1-9])\b")
_VARIABLE = r"\{\{ ?(?:[\w.]+\.)?\w{1,40} ?\}\}|\$?\{\w{1,40}\}|\$[A-Za-z_]\w{0,40}"
_TEMPLATE = regex(
    rf"(?P<name>[\w-]{{1,80}}\.\w{{1,8}})(?P<words>(?:[ \t]+[\"']?(?:{_VARIABLE}|[\w./:-]{{1,80}})[\"']?){{1,12}})"
)
_TEMPLATE_WORD = regex(r"(?<!\S)[\"']?(?:(?:\{\{ ?(?:[\w.]+\.)?|\$?\{|\$)(?P<name>[A-Za-z_]\w{0,40})|\S)(?: ?\}\})?\S*")
_OF_CALL = "argument_"
_ARGUMENT = regex(r"\$[1-9](?=[ +*)\-])")  # in a sum
_BARE = regex(r"[A-Za-z_]\w*|[iI]\Z")
_INDEX = regex(
    r"(?i)(?:_|^)(?:id|index|idx|num|number|nr|procid|procno|ordinal|slot)\Z|^%?i\Z|[a-z](?:Index|Id)\Z|process_num"
)
_NODE = regex(r"(?i)n|(?:\w{1,30}_)?(?:node|host|machine|server)s?(?:_\w{1,20})?")
_OF_MPI = regex(r"(?:OMPI_COMM_WORLD|MV2_COMM_WORLD|PMIX?)_RANK")  # which of its tasks, that MPI has begun

_COUNTING = ("id", "index", "idx", "num", "number", "nr", "rank", "ordinal")
# Words that any number is called by.
_OF_ANY = frozenset(("rank", "id", "index", "idx", "number", "nr", "n", "i", "node"))
ORDINAL = "host_ordinal"
# of each group: `group_size`, `ngpus`, `num_devices`, `GPUS_ON_NODE`
_SIZE = regex(
    r"(?i)(?:^|_)(?:size|count|replicas)\Z|^(?:n|num|nb|nr)_?(?:of_)?(?:gpu|dev|npu|card|proc|rank|slot|worker|local|acc)"
    r"|s_?(?:per|on)_?(?:node|host|machine|task)"
)
_OF_NODES = regex(r"(?i)(?:^|_)(?:node|machine|host)(?:_?(?:rank|id|index|nr))?\Z")
_ON_NODE = regex(r"(?i)local|gpu|cuda|npu|device|card|slot")

Sum = Mapping[tuple[str, ...], int]  # names of a product, sorted → how many of it; () is the number alone


class Formula(NamedTuple):
    """`what`: rank or node_rank. With `node`, its number is that of the node × `each` + the place there (`each` null: as many as each node
    tells), `local`; else it is `counter` + `offset`, the rest of it by `modulus`."""

    file: str
    line: int
    what: str
    node: str | None = None
    each: int | None = None
    counter: str | None = None
    offset: int = 0
    modulus: int | None = None
    local: str | None = None
    argument: int | None = None  # of its script, which is the counter
    size: str | None = None  # what the processes of each node are called
    base: str | None = None  # what is added to the place there: the first rank of each node
    first: int = 0  # the number of the first node, or, beside a base, of the first process there
    node_argument: int | None = None  # of its script, which is the number of the node

    @property
    def is_nameless(self) -> bool:
        """Is its counter what its script is called with, and nothing else?"""
        return (self.counter or "").startswith(_OF_CALL)

    @property
    def is_plain(self) -> bool:
        """Does it take the number of its counter as it is?"""
        return not self.offset and self.modulus is None

    def of(self, number: int) -> int:
        """What it makes of the number of its counter."""
        made = number + self.offset
        return made if self.modulus is None else made % self.modulus


class Given(NamedTuple):
    """A number that a file gives to a name."""

    file: str
    line: int
    name: str
    number: int


class Called(NamedTuple):
    """What scripts call the numbers that they make ranks of: the words of those that ranks are just given from, the last words of those of nodes,
    and the words of each of places on a node."""

    ranks: frozenset[str]
    nodes: frozenset[str]
    places: frozenset[tuple[str, ...]]


class RankSum(NamedTuple):
    """What a file makes ranks of, as it stands there; a name that the file computes of others is written out, one to which it gives a number is that."""

    terms: Sum
    modulus: int | None
    what: str = "rank"  # or the number of a node


class Scripts(NamedTuple):
    """What the lines of a bundle compute: `is_computed`, a rank in a way that is no other name of a number, read or not; `sums`: all of ranks."""

    formulas: list[Formula]
    given: list[Given]
    is_computed: bool
    sums: list[RankSum]


def scripts_of(said: Begun) -> Scripts:
    """The lines of files → what they compute ranks and nodes from, and the numbers that they give to names."""
    made: list[Formula] = []
    whole: list[RankSum] = []
    given: list[Given] = []
    templates = _templates(said)
    for path, lines in said.items():
        own = lines[:_LINES]
        passed = unanimous(
            (found["name"], int(found["argument"])) for one in own for found in _PASSED.finditer(unquoted(one.raw))
        )
        in_order = sorted(passed.items(), key=lambda item: of_process(item[0]) == "local_rank")
        arguments = {f"${number}": f"${name}" for name, number in in_order}
        sums = [
            (one.number, *own_sum)
            for one in own
            if any(mark in one.raw for mark in ("=", ":", "--"))
            for own_sum in assigned(_called_with(_joined(unquoted(one.raw)), arguments))
        ]
        are_fields = any("fieldPath" in one.raw or "(v1:metadata" in one.raw for one in own)
        text = "\n".join(one.raw[:200] for one in own) if are_fields else ""
        sums += [
            (1 + text.count("\n", 0, f.start()), f["name"] or f["of"], {("completion_index",): 1}, None)
            for f in _FIELD.finditer(text)
        ]
        alias = {
            key[0]: name
            for _, name, read, modulus in sums
            if (key := next(iter(read), ())) and read == {key: 1} and len(key) == 1 and modulus is None
        }
        sums += [(one.number, "rank", read, None) for one in own if "*" in one.raw for read in _said(one.raw)]
        sources = unanimous((name, key) for key, name in alias.items() if _counts(key))
        words = templates.get(path.rpartition("/")[2], {})
        sources |= {name: words[number] for name, number in passed.items() if number in words}
        passed |= {words[number]: number for number in passed.values() if number in words}
        numbers = unanimous((name, None if read.keys() - {()} else read.get((), 0)) for _, name, read, _ in sums)
        constants = {name: number for name, number in numbers.items() if number}
        counted = counted_on(unquoted(one.raw) for one in own)
        # what systemd calls the instance of a template, and what is given from that
        counted |= {"i", *(found["name"] for one in own for found in INSTANCE.finditer(one.raw))}
        whole += _rank_sums(sums, constants)
        for line, name, read, modulus in sums:
            if not read.keys() - {()}:
                given.append(Given(path, line, name, read.get((), 0)))
                continue
            what = _what(name) or _what(alias.get(name, ""))
            if what is None or (len(read) > 1 and (name,) in read):
                continue
            one = _formula(Formula(path, line, what), _named(read, sources), constants, passed, counted)
            rest = constants.get(modulus, 0) if modulus and not modulus.isdigit() else int(modulus or 0)
            if one is not None and (modulus is None or (rest > 1 and one.counter is not None)):
                made.append(one._replace(modulus=rest or None))
    # what counts nodes in one formula is no rank in another: `main.py --rank $SLURM_PROCID`, which says `rank = SLURM_PROCID * ngpus + gpu`
    nodes = {one.node for one in made if one.what == "rank" and one.node is not None}
    formulas = list(dict.fromkeys(one for one in made if one.what != "rank" or one.counter not in nodes))
    is_computed = any(computed(unquoted(one.raw)) is not None for own in said.values() for one in own)
    return Scripts(formulas, given, is_computed, whole)


def _rank_sums(sums: Sequence[tuple[int, str, Sum, str | None]], constants: Mapping[str, int]) -> Iterator[RankSum]:
    made = unanimous((name, tuple(sorted(read.items()))) for _, name, read, rest in sums if rest is None)
    inner = {
        name: dict(own)
        for name, own in made.items()
        if {*dict(own)} - {()} and (name,) not in dict(own) and not _is_word(dict(own))
    }
    for _, name, read, rest in sums:
        by = constants.get(rest, 0) if rest and not rest.isdigit() else int(rest or 0)
        what = _what(name)
        if what is None or not read.keys() - {()} or (rest is not None and by < 2):
            continue
        for _ in range(_DEPTH):
            if not any(word in inner or word in constants for key in read for word in key):
                break
            read = _written_out(read, inner, constants)
        if len(read) <= _TERMS:
            yield RankSum(read, by or None, what)


def _is_word(read: Sum) -> bool:
    """Is it a word alone, as in prose: `node_rank = position in HOSTS`?"""
    return all(len(key) == many == 1 and key[0].isalpha() and key[0].islower() for key, many in read.items())


def _written_out(read: Sum, inner: Mapping[str, Sum], constants: Mapping[str, int]) -> Sum:
    total: Sum = {(): 0}
    for key, many in read.items():
        term: Sum = {(): many}
        for word in key:
            term = _times(term, {(): constants[word]} if word in constants else inner.get(word, {(word,): 1}))
        total = _added(total, term, 1)
    return total


def _templates(said: Begun) -> dict[str, dict[int, str]]:
    """Name of a script → the number of each argument → what whoever calls it, gives it: `start.sh {{ node_index }} {{ gpus }}`, `start.sh $IDX 4`."""
    scripts = {name for path in said if "." in (name := path.rpartition("/")[2])}
    lines = (one.raw for own in said.values() for one in own[:_LINES] if "{" in one.raw or "$" in one.raw)
    found: list[tuple[str, tuple[tuple[int, str], ...]]] = []
    for call in (call for line in lines for call in _TEMPLATE.finditer(line[:_CHARACTERS]) if call["name"] in scripts):
        words = enumerate(_TEMPLATE_WORD.finditer(call["words"]), 1)
        found.append((call["name"], tuple((at, word["name"]) for at, word in words if word["name"])))
    return {name: dict(own) for name, own in unanimous(found).items()}


def _called_with(text: str, names: Mapping[str, str]) -> str:
    """A line with what its script is called with by the name that it gives to it, or by its place."""
    return _ARGUMENT.sub(lambda found: names.get(found[0], f"${_OF_CALL}{found[0][1]}"), text)


def _counts(name: str) -> bool:
    """Is a name known to count processes, nodes or pods, so that what it is given to counts them, too?"""
    return name == ORDINAL or of_process(name) is not None


def _named(read: Sum, sources: Mapping[str, str]) -> Sum:
    """A sum with the names that others were given from."""
    return {tuple(sorted(sources.get(name, name) for name in key)): many for key, many in read.items()}


def called(ranks: Sequence[Formula]) -> Called:
    """What formulas of ranks call what they are made of: `RANK=str(ctx.partitionId())` → partition."""
    plain = (one.counter for one in ranks if one.counter and not one.offset and not one.modulus)
    words = (next((word for word in reversed(words_of(name)) if word not in _COUNTING), "") for name in plain)
    return Called(
        frozenset(word for word in words if len(word) > 3),
        frozenset(words_of(one.node)[-1] for one in ranks if one.node) - _OF_ANY,
        frozenset(tuple(words_of(one.local)) for one in ranks if one.local is not None),
    )


def computed(text: str) -> str | None:
    """The expression that a line computes a rank by; None where it has none, or one that is another name of a number."""
    found = _COMPUTED.search(text)
    if found is None:
        return None
    read = parsed(found["sum"])
    is_name = read is not None and len(read) == 1 and all(len(key) == 1 and many == 1 for key, many in read.items())
    return None if is_name else found["sum"].strip()


def is_of_node(name: str) -> bool:
    """Is a name that of a node's number?"""
    return _what(name) == "node_rank"


def _what(name: str) -> str | None:
    """Is a name that of a rank, or of a node's number?"""
    meaning = of_process(name.removesuffix("_formula"))
    if meaning in ("rank", "node_rank"):
        return meaning
    return "node_rank" if name.upper() in ("NODE", "NODE_INDEX", "NODE_ID", "NR") else None


def assigned(text: str) -> Iterator[tuple[str, Sum, str | None]]:
    """(name, sum, what it is the rest by) of all that is given to names; of `0 if … else 1 + t["index"]` both."""
    if " else " in text and (either := _EITHER.match(text)) is not None:
        other = _ITEM.sub(r"\1", either["other"])
        yield from ((found, read, rest) for found, read, rest in assigned(f"{either['name']} = {other}"))
    for found in _ASSIGNED.finditer(text):
        if found["is"] == " " and not found["dash"]:
            continue
        value = found["value"]
        if value.isidentifier() and text[found.end("value") :][:1] in tuple(".[("):
            continue  # what is in it, or what it says
        if value.startswith(("str(", "int(")):
            value = _ATTRIBUTE.sub(r"\1", value[4:-1])
        elif "((" in value:
            value = value[value.index("((") + 2 : -2]
        rest = _REST.fullmatch(value)
        if (read := parsed(rest["sum"] or rest["name"] if rest else value)) is not None:
            yield found["name"], read, rest["by"] if rest else None


def _said(text: str) -> Iterator[Sum]:
    """Sums that are said to be who is who: the number of a node, by how many each has, and a place there."""
    text = _joined(text[:_CHARACTERS])
    for found in _SAID.finditer(text):
        read = parsed(found["sum"])
        products = [key for key, number in (read or {}).items() if len(key) > 1 or number > 1]
        is_rank = _RANK_IS.search(text[: found.start("sum")]) is not None
        if read is not None and len(products) == 1 and (is_rank or any(map(_NODE.fullmatch, products[0]))):
            yield read


def _joined(text: str) -> str:
    """A text in which names of numbers are a word each: `node rank` → node_rank."""
    return _IN_WORDS.sub(r"\1_\2", text) if "node " in text or " rank" in text or "ost " in text else text


def parsed(text: str) -> Sum | None:
    """An expression as a sum of products; None where it is none."""
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None or len(tokens) > 64:
            return None
        tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
        at = found.end()
    reader = _Reader(tokens)
    read = reader.sum(0)
    return read if read is not None and reader.at == len(tokens) else None


class _Reader:
    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens, self.at = tokens, 0

    def _next(self, *marks: str) -> str | None:
        if self.at < len(self._tokens) and self._tokens[self.at] in [("mark", mark) for mark in marks]:
            self.at += 1
            return self._tokens[self.at - 1][1]
        return None

    def sum(self, depth: int) -> Sum | None:
        total = self._product(depth)
        while total is not None and (mark := self._next("+", "-")):
            more = self._product(depth)
            total = None if more is None else _added(total, more, 1 if mark == "+" else -1)
        return total

    def _product(self, depth: int) -> Sum | None:
        whole = self._one(depth)
        while whole is not None and self._next("*"):
            more = self._one(depth)
            whole = None if more is None else _times(whole, more)
        return whole

    def _one(self, depth: int) -> Sum | None:
        if depth > _DEPTH or self.at >= len(self._tokens):
            return None
        kind, word = self._tokens[self.at]
        if kind == "mark":
            if not self._next("("):
                return None
            inner = self.sum(depth + 1)
            return inner if self._next(")") else None
        self.at += 1
        if kind == "number":
            return {(): int(word)}
        if "##" in word or "#*" in word:  # what is behind the last dash of a name
            return {(ORDINAL,): 1}
        name = _BARE.search(word.replace("env:", ""))
        return None if name is None else {(name[0],): 1}


def _added(one: Sum, other: Sum, sign: int) -> Sum:
    names = {*one, *other}
    return {name: total for name in names if (total := one.get(name, 0) + sign * other.get(name, 0))} or {(): 0}


def _times(one: Sum, other: Sum) -> Sum:
    total: dict[tuple[str, ...], int] = {}
    for name, number in one.items():
        for own, more in other.items():
            key = tuple(sorted((*name, *own)))
            total[key] = total.get(key, 0) + number * more
    return total


def _formula(
    empty: Formula, read: Sum, constants: Mapping[str, int], passed: Mapping[str, int], counted: Set[str]
) -> Formula | None:
    names = {key: number for key, number in read.items() if key}
    offset = read.get((), 0)
    is_of_call = any(name.startswith(_OF_CALL) for key in names for name in key)
    if len(names) == 1:
        [(key, number)] = names.items()
        if is_of_call:
            is_plain = empty.what == "rank" and len(key) == number == 1
            argument = int(key[0].removeprefix(_OF_CALL))
            return empty._replace(counter=key[0], offset=offset, argument=argument) if is_plain else None
        is_task = empty.what == "node_rank" and _OF_MPI.fullmatch(key[0]) is not None
        is_index = len(key) == 1 and number == 1 and (_INDEX.search(key[0]) or key[0] in {*passed, *counted} or is_task)
        return empty._replace(counter=key[0], offset=offset, argument=passed.get(key[0])) if is_index else None
    is_flat = {*names.values()} == {1} and all(len(key) == 1 for key in names)
    names, first = (names, -offset) if is_flat else _from_zero(names, offset)
    if len(names) != 2 or first is None:
        return None
    empty = empty._replace(first=first)
    (one, many), (other, few) = sorted(names.items(), key=lambda item: (-len(item[0]), -item[1]))
    if is_flat and empty.what == "rank" and first >= 0:
        names_ = {one[0], other[0]}
        given = {
            name for name in names_ if of_process(name) == "local_rank" or name in passed or name.startswith(_OF_CALL)
        }
        given = given or names_ & counted or {name for name in names_ if _ON_NODE.search(name)}
        base = names_ - given
        local = {None} if first else given  # counted from another number it is no place: `RANK=$((BASE + $1 - 1))`
        return empty._replace(local=local.pop(), base=base.pop()) if len(given) == len(base) == 1 else None
    are_places = any(_ON_NODE.search(name) and name not in constants and not _SIZE.search(name) for name in one)
    if few != 1 or is_of_call or are_places or len(other) != 1 or _OF_NODES.search(other[0]):
        return None  # place × nodes + node, in another order than that of launchers
    if len(one) == 1 and many > 1:
        return empty._replace(node=one[0], each=many, local=other[0], node_argument=passed.get(one[0]))
    if len(one) != 2 or many != 1:
        return None
    sizes = [name for name in one if of_process(name) == "processes_per_node"]
    sizes = sizes or [name for name in one if _SIZE.search(name) and of_process(name) != "nodes"]
    sizes = sizes or [name for name in one if constants.get(name, 0) > 1 and of_process(name) != "nodes"]
    if len(sizes) == 1:
        node = next(name for name in one if name != sizes[0])
        of_call = passed.get(node)
        each = constants.get(sizes[0])
        return empty._replace(node=node, each=each, local=other[0], size=sizes[0], node_argument=of_call)
    return None


def _from_zero(names: Mapping[tuple[str, ...], int], offset: int) -> tuple[dict[tuple[str, ...], int], int | None]:
    """A sum of nodes and places there without what makes its first node 0, and that node's number: of `(n-1)*g + s` `n*g + s`, 1."""
    for key in names if not offset else ():
        for size in key if len(key) > 1 else ():
            if names.get((size,), 0) < 0:
                return {own: many for own, many in names.items() if own != (size,)}, -names[size,]
    many = max(names.values(), default=0)
    if offset < 0 and many > 1 and -offset % many == 0:
        return dict(names), -offset // many
    return dict(names), None if offset else 0
