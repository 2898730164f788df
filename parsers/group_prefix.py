"""How PyTorch's process groups begin a line: which group it is about, and the printer's number in it.

[PG 0 Rank 3]   [PG 1 (tp) Rank 0]   [PG ID 2 PG GUID 9(dp) Rank 4]
"""

from parsers.patterns import regex

_N = r"\d{1,18}"
GROUP = regex(
    rf"\[PG (?:ID )?(?P<id>{_N})(?: PG GUID (?P<name>[^\s(\]]+))?(?: ?\((?P<desc>[^)]*)\))? Rank (?P<rank>{_N})\]"
)
