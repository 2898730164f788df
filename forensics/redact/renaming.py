"""Bundle → what each of its names becomes."""

import csv
import re
from functools import cache
from importlib import resources

from forensics.redact.bundles import hosts_of, names_in
from forensics.redact.names import Found, Renaming
from parsers import PARSERS, Evidence
from parsers.schema.parser import LineParser


@cache
def words_of_formats() -> frozenset[str]:
    """Words that parsers look for and the table of sites knows: a name like these cannot be told from them."""
    found = (anchor for parser in PARSERS if isinstance(parser, LineParser) for anchor in parser.anchors)
    anchors = [anchor.decode("utf-8", "replace") for anchor in found]
    table = resources.files("forensics.data").joinpath("stack_sites.csv").read_text()
    cells = [cell for row in csv.reader(table.splitlines()) for cell in row]
    return frozenset(word.lower() for text in (*anchors, *cells) for word in re.findall("[A-Za-z]{2,}", text))


def renaming_of(path: str, evidence: Evidence) -> Renaming:
    """The renaming of a bundle, from its tables and from its texts. Raises parsers.BundleError."""
    keep = words_of_formats()
    found = Found.of([Found(hosts=hosts_of(evidence.tables)), *names_in(path, keep)])
    return Renaming.of(found, keep)
