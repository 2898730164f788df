"""Where a line speaks from: hosts, pods, containers, addresses, and that two of these names are of one place.

    10.12.0.31  r3i2n7.ib0.example.org r3i2n7        a line of /etc/hosts: an address and its names
    >>> trx5      ### gpu-b11 23:20 dump      == 10.20.3.9 ==        a heading: the lines below it are from there
    metrics_dgx02.jsonl   lynx/journal.json   fault/gpu-a3.example.net.2214.txt         a file of that place
    ip-10-3-1-7                                                       a name made of its address

A **name of a place** is what lines say behind a word for one (`host=`, `"_HOSTNAME":`), what stands before lines as a host's does, what a file of names
lists, a folder beside others that hold files called alike, what files of several folders are called, and a word with a number in it that the bundle uses in two files, or in a file's name
and inside. Not what counts devices, ranks or steps (`gpu0`, `epoch3`).

A name and the same name with a domain are one place, unless two places have that name (`n1.rack2`, `n1.rack7`). So are names that begin a longer
one of hexadecimal digits (containers). Names of two columns of lines that are alike (families.py) are one where each of one has one of the other.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, combinations, pairwise, takewhile

from parsers.schema.labels import OF_GROUP
from parsers.text.host_list import host_list
from parsers.text.patterns import regex
from parsers.text.unanimous import sole
from parsers.text.vocabulary import meaning_of, of_process
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.lines.introductions import PROCESS
from parsers.who.places.alike_paths import ADDRESS, folders_alike, names_of_path, stems_alike
from parsers.who.places.host_names import answers, file_of_names

_LABELLED = regex(
    r"(?i)(?<![A-Za-z-])(?:[A-Z]*_)*(?:host(?:_?name)?|node_?name|node|computer(?:name)?|machine|server|ip|addr(?:ess)?|pod(?:_name)?|节点|主机)[\"']?\s{0,2}[=:]\s{0,2}[\"']?"
    r"(?P<name>[A-Za-z0-9][\w.-]{1,250})"
)
OF_RECORD = regex(r"(?:\A|\s)(?P<name>[A-Za-z][\w.-]{0,250}):\d{1,10}:\d{1,10} ")
_SAID = regex(r"(?i)(?<![\w-])(?:host|on node|on)\s+(?P<name>[A-Za-z][\w.-]{0,240}\d[\w.-]{0,12})(?=[\s:,;]|$)")
_OF_PLACE = regex(
    rf"(?i)\s*(?:[a-z]+ ){{0,3}}(?:node|host|machine|pod|server)(?:[ _]?name)?\s?[=:]\s{{0,2}}[\"']?(?P<name>[a-z][\w.-]{{1,250}}|{ADDRESS.pattern})(?=[\s,;\"']|\Z)"
)
_ABOVE = 400
_DIGITS = regex(r"\d+")
_OWN_LINES = 60
_OWN_HOST = regex(
    rf"(?i)(?<![A-Za-z_-])(?:(?:host_?name|host|node_?name)[\"']?(?:\s{{0,2}}[=:]\s{{0,2}}[\"']?|\s)|on (?!(?:the )?(?:host|node|machine|server)))(?P<name>[A-Za-z][\w.-]{{1,250}}|{ADDRESS.pattern})"
)
OTHERS = "master|peer|head|coord|leader|connect|remote|next|prev|store|driver|neighbou?r"
OF_OTHERS = regex(rf"(?i){OTHERS}")
_WORD = regex(r"[A-Za-z0-9][\w.-]{1,250}")
_PART = regex(r"[A-Za-z0-9]+")
_HEX = regex(r"[0-9a-f]{12,64}")
_COUNTED = regex(
    r"(?!gpu\d{3})([A-Za-z_]*?)[_.-]?\d{1,4}"
)  # of a device there are no hundreds on a host: `gpu0118` is one
_OF_DEVICE = regex(r"(?i)(?:gpu|cuda|npu|card|core|cpu|default|thread|layer|slot|worker|trace|python|py|v)_?")
_HEADING = regex(r"[^\w]{0,8}(?:[a-z][a-z.]{1,30}/)?(?P<name>[A-Za-z0-9][\w.-]{1,250})[^\w]{0,8}(?P<rest>.{0,60})")
_TYPED = regex(  # at a prompt; behind a bare mark of comments only what is sent elsewhere
    r"(?:\([\w.-]{1,40}\) )?(?:[^\w\s]?[\w.-]{1,32}@(?P<at>[\w.-]{1,250})\b[^$#%>]{0,80}[$#%>]|\$|\+{1,3}(?= )|[#%>](?= (?:sudo )?ssh )) (?P<command>[a-z./].{0,200})"
)
_PROMPT = regex(
    r"(?:\([\w.-]{1,40}\) )?[\[(]?(?P<at>[A-Za-z][\w.-]{1,250})(?::\S{0,80})?[\])]?\s?[#$%] ?(?P<command>[a-z./].{0,200})"
)  # without a user
_SET_OFF = regex(r"(?P<mark>[=\-#*~+>])(?P=mark){1,39}\s?(?P<words>[^=*~\n]{1,80}?)\s?[=\-#*~+<]{0,40}")
_SET_OFF_BY = ("=", "-", "#", "*", "~", "+", ">")
_SHORT, _MOST_HEADS = 120, 64  # characters of a heading; of them
_BEHIND = 16  # characters
_FREE, _MOST_WORDS = regex(r"[A-Za-z0-9][\w.-]*"), 4
_SENT = regex(
    r"(?:\A[^\w\s]?[\w.-]{1,32}@(?=[^$#%>]{1,120}[$#%>] )|\bssh (?:-[A-Za-z]+ )*(?:[\w.-]{1,32}@)?|\bexec (?=[^-]{1,99}(?:-\w [^-]{1,60})?-- ))(?P<name>[A-Za-z][\w.-]{1,250})"
)
# of a list in a document
_ITEM = regex(r"\s*(?:- )?(?:([\"'])[^\"']{1,252}\1,?|[\w.-]{1,252},)\s*|\s*- [\w.-]{1,252}\s*")
_GLOG = regex(r"[IWEF]\d{4}|(?:ERR|E[A-Z])\d{4,6}")  # a level and a day; a message's number
_OF_CARDS = ("GPU-", "MIG-")  # before the id of a device
_SUFFIXED = regex(r"([a-z0-9.-]*-\d{1,5})-[a-z0-9]{5}")
_STAMPED = regex(r"[\d:.,/TZ +-]{0,40}|.{0,40}\d{1,2}:\d\d.{0,20}")
_HOSTS_LINE = regex(rf"({ADDRESS.pattern})[ \t]+([A-Za-z][\w.-]*(?:[ \t]+[A-Za-z][\w.-]*)*)\s*(?:#.*)?")
_CELLS = regex(r" {2,}|\t ?|(?<=\S),[ \t]*|\s*[|│┃]\s*")
PLACE_COLUMN = regex(
    r"(?:name|pod|host|node|hostname|pod[ _-]?name|node[ _-]?name|(?:pod|host|internal|node)?[ _-]?ip|address|instance)"
)
_FEWEST, _MOST_CELLS = 2, 24
_HERE = ("localhost", "127.0.0.1", "0.0.0.0", "none", "null", "true", "false", "unknown")
_LISTED = regex(r"(?=[^,\s]*\[\d+[,-])[A-Za-z][\w.-]*\[[\d,-]+\][\w.-]*")  # `gn17[5103]` is a process of gn17
# a number, or a name of a process: not where it runs
_NO_HOST = regex(rf"(?i)(?:(?:{'|'.join(PROCESS)})[-_.]?)?\d{{1,20}}")


def host_called(place: str | None, path: str, places: Mapping[str, str]) -> str | None:
    """The name of a place, where it may be a host's: no number, no name of a process, and no file, which is one process's. `places`: by path."""
    is_file = place is not None and place in (path, places.get(place))
    return None if place is None or is_file or _NO_HOST.fullmatch(place) else place


def typed_command(text: str) -> str | None:
    """What somebody typed at a prompt, or what a shell shows that it calls."""
    found = (_TYPED.match(text) or _PROMPT.match(text)) if any(mark in text for mark in "#$%>+") else None
    return found["command"] if found is not None else None


class Places:
    """Names of places in a bundle, put together."""

    def __init__(self, said: Begun, paths: Sequence[str], documented: Set[str], hosts: Set[str]) -> None:
        """`documented`: what documents call places of processes, where a path or a line has that name; `hosts`: those that they call hosts, whatever else
        a word and a number may be (`node25`)."""
        self._same: dict[str, str] = {}
        self._words, self._told = set[str](), set[str]()
        self._heads: defaultdict[str, set[str]] = defaultdict(set)  # path → hosts before its lines
        self.names = self._known(said, paths, frozenset(name for name in documented if not name.isdigit()), hosts)
        self._of_file: dict[str, str | None] = {}
        self._inside: dict[str, str] = {}
        for one in sorted(self.names):
            self._same.setdefault(one, one)
        self._with_domains()
        self._by_address(said)
        self._by_hex()
        self._by_suffix()
        self._by_tables(said)
        self._by_folders(paths)
        self._by_stems(paths)
        self._inside = self._told_inside(said)

    def join(self, one: str, other: str) -> None:
        """Both are names of one place."""
        first, second = self.of(one), self.of(other)
        if first != second:
            kept, other = sorted((first, second), key=_by_use)
            self._same[other] = kept
            self._of_file.clear()

    def call(self, name: str, place: str) -> None:
        """So is a place called, too; a name of another one is nobody's."""
        if self._same.setdefault(name, place) == name and not any(
            other != name and self.of(other) == name for other in self._same
        ):
            self.join(name, place)
        self._of_file.clear()

    def of(self, name: str) -> str:
        """The place that is called so, by one of its names: one that is no address, the shortest."""
        while (other := self._same.get(name, name)) != name:
            name = other
        return name

    def aliases(self) -> dict[str, list[str]]:
        """Place → all its names, that by which a person would call it first."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._same:
            found[self.of(name)].append(name)
        return {root: sorted(own, key=_by_use) for root, own in found.items()}

    def is_place(self, word: str) -> bool:
        return word in self._same

    def called(self, word: str | None) -> str | None:
        """The place that is called so, where one is."""
        return self.of(word) if word is not None and word in self._same else None

    def of_file(self, path: str) -> str | None:
        """The place that a path names, by what lines call a host before what else they hold (a job's id), its last part before the folders; none where
        one part names two, nor where several others speak in the file."""
        if path not in self._of_file:
            self._of_file[path], inner = None, [*reversed(path.split("/"))]
            for part in sorted(inner, key=lambda part: self._told.isdisjoint(self._in_part(part))):
                if found := {self.of(name) for name in self._in_part(part)}:
                    is_theirs = len(speak := {*map(self.of, self._heads[path])}) > 1 and found.isdisjoint(speak)
                    self._of_file[path] = None if is_theirs else sole(found)
                    break
            else:
                self._of_file[path] = self.of(here) if (here := self._inside.get(path)) is not None else None
        return self._of_file[path]

    def of_line(self, one: Said) -> str | None:
        """The place that a line names before it, or that its file is from."""
        return self.called(one.line.host) or self.of_file(one.file)

    def apart(self, paths: Iterable[str]) -> dict[str, str]:
        """Path → the place that it names, of files that are called alike but for that, each of another place."""
        alike: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for path in paths:
            if (place := self.of_file(path)) is not None and not place.isdigit() and (names := self.named(path)):
                alike[path.replace(max(names, key=len), "@")][path] = place
        whole = [own for own in alike.values() if len(set(own.values())) == len(own) > 1]
        return {path: place for own in whole for path, place in own.items()}

    def named(self, path: str) -> list[str]:
        """The names of places in a path."""
        return [name for part in path.split("/") for name in self._in_part(part)]

    def _in_part(self, part: str) -> Iterator[str]:
        """Names between marks, the longest first, each character once."""
        words = [match.span() for match in _PART.finditer(part)][:24]
        taken: list[tuple[int, int]] = []
        for count in range(len(words), 0, -1):
            for (begin, _), (_, end) in zip(words, words[count - 1 :], strict=False):
                name = part[begin:end]
                if name in self._same and all(end <= first or last <= begin for first, last in taken):
                    taken.append((begin, end))
                    yield name

    def heading(self, text: str) -> str | None:
        """The place that a line is the heading of: it names it and nothing else but a time and a few words, set off; or a command was typed there, or sent there."""
        if (place := self.typed(text)) is not None:
            return place
        if len(text) >= 120 or _ITEM.fullmatch(text):
            return None
        bare = text.strip()
        if (found := _HEADING.fullmatch(bare)) is not None and self.is_place(found["name"].rstrip(".-")):
            is_set_off = not text[:1].isalnum()
            is_alone = not found["rest"] or (is_set_off and _STAMPED.fullmatch(found["rest"]))
            if is_alone and (is_set_off or text.rstrip().endswith(":")):
                return self.of(found["name"].rstrip(".-"))
        if (told := _OF_PLACE.fullmatch(bare)) is not None and self.is_place(told["name"].rstrip(".-")):
            return self.of(told["name"].rstrip(".-"))
        return self._set_off(bare)

    def _set_off(self, text: str) -> str | None:
        """The one place among the few words of a line between marks: `=== dmesg of n7 ===`; where a number counts something else, it is a record."""
        found = _SET_OFF.fullmatch(text) if text[:1] in _SET_OFF_BY else None
        words = [word.rstrip(".-") for word in _FREE.findall(found["words"])] if found is not None else []
        place = sole(self.of(word) for word in words if self.is_place(word))
        others = [word for word in words if not self.is_place(word)]
        is_plain = len(others) <= _MOST_WORDS and not any(any(map(str.isdigit, word)) for word in others)
        return place if is_plain else None

    def headings(self, own: Sequence[Said]) -> dict[int, str]:
        """Line → the place that it, or the last heading above it, names."""
        found: dict[int, str] = {}
        last = None
        for one in own:
            last = self.heading(one.raw) or last
            found |= {one.number: last} if last is not None else {}
        return found

    def typed(self, text: str) -> str | None:
        """The place whose a command's answer is, that somebody typed."""
        if (found := _TYPED.match(text)) is not None:
            return self._of_command(found["at"], found["command"])
        bare = _PROMPT.fullmatch(text.rstrip()) if any(mark in text for mark in "#$%") else None
        return self.of(bare["at"]) if bare is not None and self.is_place(bare["at"]) else None

    def _of_command(self, at: str | None, command: str) -> str | None:
        """The one place that a command names behind its first word, and before another (`ssh n1 ps`, `kubectl exec w-1 -- ps`); else where its prompt is.
        An option may name somebody else (`--master_addr n1`)."""
        named = {
            self.of(name)
            for before, word in pairwise(command.split()[:-1])
            if self.is_place(name := word.rpartition("@")[2]) and not (before[0] == "-" and OF_OTHERS.search(before))
        }
        return sole(named) if named else self.called(at)

    def above(self, text: str) -> str | None:
        """The place that a line tells first, above lines that are indented below it: `Data for node: n1.lab  Num slots: 2`."""
        found = _OF_PLACE.match(text[:_ABOVE])
        return self.called(found["name"].rstrip(".-")) if found is not None else None

    def _told_inside(self, said: Begun) -> dict[str, str]:
        """Path → the place that a file says it is from, where it names one alone, and the files of its shape of name each another one."""
        shapes: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
        for path, own in said.items():
            if not self.named(path):
                lines = (one.raw[:400] for one in own[:_OWN_LINES] if not OF_OTHERS.search(one.raw[:400]))
                names = {found["name"].rstrip(".-") for line in lines for found in _OWN_HOST.finditer(line)}
                shapes[_DIGITS.sub("#", path)][path] = {self.of(name) for name in names if self.is_place(name)}
        found: dict[str, str] = {}
        for path, own in said.items():
            place = sole(self.of(name) for name in answers(own) if self.is_place(name))
            found |= {path: place} if place is not None and not self.named(path) else {}
        for of_shape in shapes.values():
            each = [name for told in of_shape.values() for name in told]
            if len(of_shape) > 1 and len(each) == len(set(each)) == len(of_shape) and all(of_shape.values()):
                found |= {path: min(told) for path, told in of_shape.items()}
        self._of_file.clear()
        return found

    # --- which words are names

    def _known(self, said: Begun, paths: Sequence[str], documented: Set[str], hosts: Set[str]) -> set[str]:
        names: set[str] = set()
        told: set[str] = set()  # of places, by words before them
        used: defaultdict[str, set[str]] = defaultdict(set)
        dotted: set[str] = set()
        before: set[str] = set()  # hosts before lines
        kernels: set[str] = set()  # of these those of kernels
        in_paths = {word for path in paths for word in names_of_path(path)}
        names |= {address for path in paths for address in ADDRESS.findall(path)} | (documented & in_paths)
        for path, own in said.items():
            for one in own[:400]:
                line, text = one.line, one.raw[:_ABOVE]
                if line.host:
                    before.add(line.host)
                    self._heads[path].add(line.host)
                    kernels |= {line.host} if " kernel: " in text else set()
                told |= {one.introduces.host} if one.introduces is not None and one.introduces.host else set()
                records = {found["name"].rstrip(".-") for found in OF_RECORD.finditer(text)}
                self._heads[path] |= records
                asked = (pattern.finditer(text) for pattern in (_LABELLED, _SAID, _SENT))
                told |= records | {found["name"].rstrip(".-") for found in chain.from_iterable(asked)}
                for listed in _LISTED.findall(text) if "[" in text else ():
                    names |= {*host_list(listed, 4096)}
                words = dict.fromkeys(word.rstrip(".-") for word in _WORD.findall(text))
                names |= words.keys() & documented
                dotted |= {word for word in words if "." in word}
                for word in words:
                    if (any(map(str.isdigit, word)) and not word[0].isdigit()) or ADDRESS.fullmatch(word):
                        used[word].add(path)
                        if word in in_paths:
                            names.add(word)
            told |= {*answers(own)}
            if listed_names := file_of_names(own):
                names |= listed_names
        self._words, self._told = {*used}, told | before
        names |= self._told
        names |= {word for word, where in used.items() if len(where) > 1 and _may_be(word)}
        names |= _beside(names, used, said)
        names |= _headed_words(said)
        folders = folders_alike(paths)
        names |= {name for name in dotted if name.partition(".")[0] in names | folders}
        files = {name for path in paths if "." in (name := path.rpartition("/")[2])}
        folders |= stems_alike(paths)
        sure = ((before | documented) & folders) | kernels  # whatever else their letters are short for
        sure |= {name for name in hosts if name in self._words or name in in_paths}
        sure |= _beside(sure, used, said, is_sure=True)
        found = {name for name in names | folders if _is_name(name, is_told=name in told)} | sure
        return {name for name in found if name.lower() not in _HERE and name not in files}

    # --- which are one

    def _with_domains(self) -> None:
        short: defaultdict[str, set[str]] = defaultdict(set)
        for name in self.names:
            if "." in name and not ADDRESS.fullmatch(name):
                short[name.partition(".")[0]].add(name)
        for first, own in short.items():
            longest = f"{max(own, key=len)}."
            is_one = all(longest.startswith(f"{one}.") for one in own)
            if is_one and (first in self.names or len(own) == 1):
                self._same.setdefault(first, first)
                for one in own:
                    self.join(first, one)

    def _by_address(self, said: Begun) -> None:
        addresses = [name for name in self.names if ADDRESS.fullmatch(name)]
        lines = (one.raw.strip() for own in said.values() for one in own[:400])
        listed: defaultdict[str, list[list[str]]] = defaultdict(list)
        for found in filter(None, map(_HOSTS_LINE.fullmatch, lines)):
            listed[found[1]].append(found[2].split())
        for address, told in listed.items():
            if address in _HERE or any({*told[0]}.isdisjoint(names) for names in told):
                continue  # two documents, or two lines of one, say that it is another host's
            for name in dict.fromkeys(chain.from_iterable(told)):
                self._same.setdefault(name, name)
                self._same.setdefault(address, address)
                self.join(address, name)
        for name in self.names:
            for address in addresses if "-" in name else ():
                if name.endswith("-" + address.replace(".", "-")) or name == address.replace(".", "-"):
                    self.join(name, address)

    def _by_suffix(self) -> None:
        """A pod and what its controller puts behind its name."""
        for name in [*self._same]:
            if (found := _SUFFIXED.fullmatch(name)) and found[1] in self._same:
                self.join(name, found[1])

    def _by_tables(self, said: Begun) -> None:
        """By tables of places, `NAME  IP  NODE`, whose columns have as many names: one pod on each node."""
        for own in said.values():
            for at, one in enumerate(own[:_OWN_LINES]):
                cells = [cell.strip().lower() for cell in _CELLS.split(one.raw.strip())]
                columns = [column for column, cell in enumerate(cells) if PLACE_COLUMN.fullmatch(cell)]
                if len(columns) < _FEWEST or len(cells) > _MOST_CELLS:
                    continue
                table = [*_rows(own[at + 1 :], len(cells))]
                for first, second in combinations(columns, 2):
                    pairs = {(row[first].strip(), row[second].strip()) for row in table}
                    names = [{*column} for column in zip(*pairs, strict=True)]
                    if pairs and all(len(column) == len(pairs) for column in names) and not names[0] & names[1]:
                        self.join_known(pairs)

    def _by_folders(self, paths: Sequence[str]) -> None:
        """By folders beside each other, called as the ends of names of places: `worker-1/` of lm-ft-worker-1, where each is the end of another one's."""
        siblings: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for path in paths:
            parts = path.split("/")
            for at, name in enumerate(parts[:-1]):
                siblings["/".join(parts[:at]), _DIGITS.sub("#", name)].add(name)
        known = [name for name in {*self._same, *self._words} if "-" in name]
        for folders in siblings.values():
            ends = {
                folder: [name for name in known if name.endswith(f"-{folder}")]
                for folder in folders
                if any(map(str.isalpha, folder)) and folder not in self._same
            }
            whole = {folder: own[0] for folder, own in ends.items() if len({*map(self.of, own)}) == 1}
            whole = {folder: name for folder, name in whole.items() if name in self._same}
            if len(whole) == len(folders) == len({*map(self.of, whole.values())}) > 1:
                for folder, name in whole.items():
                    self._same[folder] = folder
                    self.join(folder, name)

    def _by_stems(self, paths: Iterable[str]) -> None:
        """What a file alone is called, and a folder in it, are one place: `tmux-gpu-p03.txt`, `gpu-p03/log/workerlog.1`."""
        folders = folders_alike(paths) & self.names
        for name in sorted(self.names - self._words - folders) if folders else ():
            parts = [found.span() for found in _PART.finditer(name)]
            held = {name[begin:end] for begin, _ in parts for _, end in parts if begin < end} & folders
            if len(held) == 1:
                self.join(name, held.pop())

    def join_known(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Joins the names of each pair, of which one is known."""
        for pair in pairs:
            are_names = all(_WORD.fullmatch(name) and not name.isdigit() and name not in _HERE for name in pair)
            if are_names and any(map(self.is_place, pair)):
                for name in pair:
                    self._same.setdefault(name, name)
                self.join(*pair)

    def _by_hex(self) -> None:
        hexes = sorted(name for name in self.names if _HEX.fullmatch(name))
        for one, other in pairwise(hexes):
            if other.startswith(one):
                self.join(one, other)


def _rows(own: Iterable[Said], cells: int) -> Iterator[list[str]]:
    """The lines below a header, as long as they have as many cells."""
    return takewhile(lambda row: len(row) == cells, (_CELLS.split(one.raw.strip()) for one in own))


def _by_use(name: str) -> tuple[bool, int, str]:
    return ADDRESS.fullmatch(name) is not None or name.isdigit() or not name.isascii(), len(name), name


def _is_name(name: str, *, is_told: bool = False) -> bool:
    is_figure = name.isdigit() or (ADDRESS.fullmatch(name) is None and name.replace(".", "").isdigit())
    return not is_figure and _may_be(name, is_told=is_told)


def _may_be(word: str, *, is_told: bool = False) -> bool:
    """May it be a place's: no device, rank or step with its number, no figure, no file? `is_told`: something says that it is, so that it is no figure."""
    if ADDRESS.fullmatch(word):
        return True
    if _GLOG.fullmatch(word) or word.startswith(_OF_CARDS):
        return False
    counted = _COUNTED.fullmatch(word)
    before = counted[1] if counted is not None and not counted[1].rstrip("_").lower().endswith("node") else ""
    if before and (_OF_DEVICE.fullmatch(before) or of_process(before) or OF_GROUP.search(before)):
        return False
    is_figure = bool(before) and not is_told and meaning_of(before) is not None
    return not is_figure and (not word[0].isdigit() or _HEX.fullmatch(word) is not None)


def _beside(names: Set[str], used: Mapping[str, Set[str]], said: Begun, *, is_sure: bool = False) -> set[str]:
    """Words that differ in numbers alone from names of places, behind the same words as these in one file."""
    shapes = {_DIGITS.sub("#", name) for name in names if name in used}
    asked = {word for word in used if word not in names and _DIGITS.sub("#", word) in shapes}
    asked = asked if is_sure else {*filter(_may_be, asked)}
    known: set[tuple[str, str, str]] = set()
    others: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for path in {path for word in asked for path in used[word]}:
        for one in said[path][:400]:
            for found in _WORD.finditer(text := one.raw[:400]):
                if (word := found[0].rstrip(".-")) in asked or word in names:
                    behind = text[max(0, found.start() - _BEHIND) : found.start()]
                    at = (path, _DIGITS.sub("#", behind), _DIGITS.sub("#", word))
                    others[at] |= {word} & asked
                    known |= {at} if word in names else set()
    return {word for at in known for word in others[at]}


def _headed_words(said: Begun) -> set[str]:
    """Words without a number that prompts and headings name, where lines alike that tell of processes have one of several such at one place."""
    heads: set[str] = set()
    for one in (one for own in said.values() for one in own[:400] if len(one.raw) < _SHORT):
        text = one.raw.strip()
        if "$" in text or "#" in text or text[:1] in (*_SET_OFF_BY, "[") or text.endswith(":"):
            for form in (_TYPED, _PROMPT):
                heads |= {found["at"]} if (found := form.match(text)) is not None and found["at"] else set()
            words = [word.rstrip(".-") for word in _FREE.findall(text) if not text[:1].isalnum() or text[-1] == ":"]
            heads |= {*words} if len(words) <= _MOST_WORDS + 1 else set()
    heads = {word for word in heads if not any(map(str.isdigit, word)) and word.lower() not in _HERE}
    alike: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for path, own in said.items() if 1 < len(heads) <= _MOST_HEADS else ():
        for one in own[:400]:
            if one.introduces is None and "pid" not in one.raw.lower():
                continue
            words = [word for word in _FREE.findall(one.line.text[:_ABOVE]) if word in heads]
            if len(words) == 1:
                alike[path, _DIGITS.sub("#", one.line.text[:_ABOVE].replace(words[0], "@"))] |= {*words}
    return {word for own in alike.values() if len(own) > 1 for word in own}
