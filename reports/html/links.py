"""Ranks, hosts and places in the program lead to where the page shows them: #rank=17, #rank=0-7, #host=node0004, and the
class of stacks that stands at loop.py:251."""

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

from markupsafe import Markup, escape

from forensics.model.incident import Incident
from reports.layout import ranks_phrase
from reports.sanitize import clean

_RUN = r"\d{1,7}(?:-\d{1,7})?"
_OTHER = "(?<!local )(?<!node )(?<!group )"  # numbers that count within a host, hosts, or within a group
_RANKS = re.compile(
    rf"{_OTHER}\brank (?P<one>\d{{1,7}})\b(?![-、])|{_OTHER}\branks (?P<runs>{_RUN}(?:(?:, | and |,){_RUN}\b)*)"
    rf"|{_OTHER}\brank (?P<listed>{_RUN}(?:、{_RUN})*)",
    re.I,
)
_PIECE = re.compile(_RUN)
_PLACE = re.compile(r"[^\s()\[\],;（），；。：“”]+:\d+")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_WORD = 32  # characters of a path in a sentence
STACKS = 40  # classes that the page lists
_SAYS_HOST = ("(", "host ", "hosts ", "on ", "of ")  # before a name that might be a word of the sentence


class Links:
    """Of one incident. Nothing is linked where the page draws no ranks. `anchor`: of a class of stacks. `spoken`: a text in
    the language of the page."""

    def __init__(
        self, incident: Incident | None, anchor: Callable[[object], str], spoken: Callable[[str], str] = str
    ) -> None:
        self._spoken = spoken
        views = incident.views if incident else None
        self._is_drawn = views is not None and bool(views.grid)
        self._hosts = frozenset(host.host for host in views.hosts) if views and self._is_drawn else frozenset()
        self._places: dict[str, str] = {}
        for stack in sorted(views.stacks[:STACKS], key=lambda stack: stack.count) if views else ():
            for place in _PLACE.findall(" ".join(stack.frames)):
                self._places.setdefault(place, anchor(stack))

    def text(self, text: str) -> Markup:
        """A sentence with each rank, each run of ranks, each host and each place in a stack as a link."""
        text = clean(self._spoken(text))
        out, end = Markup(), 0
        for begin, stop, address in self._found(text):
            out += escape(text[end:begin]) + _link(address, text[begin:stop])
            end = stop
        return out + escape(text[end:])

    def headline(self, text: str) -> Markup:
        """A sentence in large type: of a long path its end, the whole as title."""
        out, end = Markup(), 0
        text = clean(self._spoken(text))
        for found in _PLACE.finditer(text):
            if (short := path_end(found[0])) != found[0]:
                inner = Markup('<span class="path" title="{}">{}</span>').format(found[0], short)
                address = self._places.get(found[0])
                out += self.text(text[end : found.start()])
                out += Markup('<a href="#{}">{}</a>').format(address, inner) if address else inner
                end = found.end()
        return out + self.text(text[end:])

    def ranks(self, ranges: str, runs: int = 4) -> Markup:
        """ "0-2,4" → "ranks 0-2, 4", each run a link."""
        return self.text(ranks_phrase(ranges, runs))

    def host(self, name: str) -> Markup:
        return _link(f"host={quote(name, safe='')}", clean(name)) if name in self._hosts else escape(clean(name))

    def _found(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Begin, end and address of each link, in order."""
        end = 0
        for link in sorted([*self._in_program(text), *(self._of_job(text) if self._is_drawn else ())]):
            if link[0] >= end:  # a name that holds another one stays whole
                yield link
                end = link[1]

    def _in_program(self, text: str) -> Iterator[tuple[int, int, str]]:
        for found in _PLACE.finditer(text):
            if found[0] in self._places:
                yield *found.span(), self._places[found[0]]

    def _of_job(self, text: str) -> Iterator[tuple[int, int, str]]:
        for begin, end, ranks in _runs(text):
            yield begin, end, f"rank={ranks}"
        for found in _NAME.finditer(text):
            name = self._host_in(found[0])
            says = re.search(r"\d", name) or text.endswith(_SAYS_HOST, 0, found.start()) or found.start() == 0
            if name and says:
                yield found.start(), found.start() + len(name), f"host={quote(name, safe='')}"

    def _host_in(self, word: str) -> str:
        return next((name for name in (word, word.rstrip(".-")) if name in self._hosts), "")


def path_end(place: str) -> str:
    """ "filelock/_api.py:333" as it is; of what is longer than a word may be the last part."""
    return place if len(place) <= _WORD else place.rsplit("/", 1)[-1]


def _runs(text: str) -> Iterator[tuple[int, int, str]]:
    """ "rank 7" as a whole, "ranks 0-3, 5" and "rank 0-3、5" run by run."""
    for found in _RANKS.finditer(text):
        if found["one"]:
            yield *found.span(), found["one"]
        else:
            runs = "runs" if found["runs"] else "listed"
            yield from ((*piece.span(), piece[0]) for piece in _PIECE.finditer(text, *found.span(runs)))


def _link(address: str, text: str) -> Markup:
    return Markup('<a href="#{}">{}</a>').format(address, text)
