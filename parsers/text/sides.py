"""Which side of a part of a model, or of a process, a name tells of: what it was given, or what it gave."""

from parsers.text.vocabulary import words_of

TAKEN = frozenset(("recv", "recvd", "received", "receives", "receive", "in", "input", "inputs", "rx", "incoming"))
GIVEN = frozenset(
    ("send", "sent", "sends", "out", "output", "outputs", "tx", "outgoing", "produced", "returned", "result")
)


def side_of(said: str, *, of_ways: bool = False) -> str:
    """taken, given, or nothing where words tell neither or both; `of_ways`: by whence and whereto, too (`gradient from next`)."""
    told = {word.lower() for word in words_of(said)}
    taken, given = bool(told & TAKEN), bool(told & GIVEN)
    if of_ways and not (taken or given):
        taken, given = "from" in told, "to" in told
    return "" if taken == given else "taken" if taken else "given"
