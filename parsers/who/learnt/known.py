"""What the beginnings of a bundle's files have taught of who speaks in which (speakers.py), and how it goes with a file."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from parsers.schema.labels import NO_LABELS, Labels
from parsers.schema.names import NO_NAMES, Names
from parsers.schema.parser import Source
from parsers.text.encodings import without_prefix
from parsers.who.places.contexts import host_called


class Known(msgspec.Struct, frozen=True):
    """`ranks`, `labels`, `collectors`, `documented`: by path; collectors put something before all lines, `documented` are ranks that
    documents tell of files or of their folders. `names`: who is called what. `claims`: rows of the table `ranks`."""

    ranks: Mapping[str, int] = msgspec.field(default_factory=dict)
    labels: Mapping[str, Labels] = msgspec.field(default_factory=dict)
    claims: Sequence[dict[str, Any]] = ()
    collectors: Mapping[str, str] = msgspec.field(default_factory=dict)
    names: Names = NO_NAMES
    documented: Mapping[str, int] = msgspec.field(default_factory=dict)
    hosts: Mapping[str, str] = msgspec.field(default_factory=dict)
    columns: Mapping[str, str] = msgspec.field(default_factory=dict)  # of a file's records that count the ranks
    places: Mapping[str, str] = msgspec.field(default_factory=dict)  # whose numbers of processes a file uses
    sections: Mapping[str, Sequence[tuple[int, str]]] = msgspec.field(default_factory=dict)  # see Labels

    def of(self, source: Source) -> Source:
        """The file with what was learnt of it; what its path tells in words stands."""
        is_told = source.rank is not None or source.path not in self.ranks
        rank = self.documented.get(source.path, source.rank if is_told else self.ranks[source.path])
        before = self.collectors.get(source.path, "").encode()
        opener = partial(without_prefix, source.open, before) if before else source.open
        labels = self.labels.get(source.path, NO_LABELS)
        labels = replace(labels, sections=sections) if (sections := self.sections.get(source.path)) else labels
        here = self.hosts.get(source.path)
        place = here or self.places.get(source.path)
        if (place, 0) not in self.names.places:
            place = self.names.place_of(source.path) or place
        counts = self.columns.get(source.path) if rank is None else None
        is_told = bool(self.names or self.names.hosts or counts)
        labels = replace(labels, names=replace(self.names, here=place, counts=counts)) if is_told else labels
        called = host_called(here, source.path, self.hosts)
        host = called if source.host is None else source.host
        return replace(source, open=opener, rank=rank, host=host, labels=labels)
