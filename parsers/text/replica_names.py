"""Names of what replicas hold alike: hashes and norms of parameters; not of data, files, versions, addresses."""

from parsers.text.patterns import regex

HEX = r"[0-9A-Za-z_.-]{0,30}(?:hash|crc(?:32c?)?|checksum|哈希|校验和?|sha(?:1|256|512)?|md5|digest|fingerprint)[0-9A-Za-z_]{0,12}"
FIGURE = r"[0-9A-Za-z_.]{0,30}(?:norm|checksum|absmax|sum)[0-9A-Za-z_]{0,12}"
OF = r"(?:\([0-9A-Za-z_. ]{1,24}\))?"  # crc32(params)
IS_PLAIN = rf"(?i)^(?:(?:[^=]* )?{HEX}{OF}(?: *[=:] *| )|(?:[^=]* )?{FIGURE}(?: *[=:] *| ))"
_OTHER = (
    "data|batch|input|sample|token|config|git|commit|file|shard|image|code|version|seed|uuid|request|trace|span|session"
    "|comm|ptr|addr|object|frame|(?:^|[_.-])(?:id|at)=|(?:^|[_.-])run"
)
ELSE = rf"(?i)^[^=]*(?:{_OTHER})"  # not of the replica
MODULES = (
    r"(?i)(?:(?:image|token|frame)s?[._])?(?:en|de)coders?|(?:batch|input|image|token)s?[._]?(?:layer|norm|proj|emb|conv)[a-z]*|(?:down|up)sample"
    r"|embed[a-z]*[._]?tokens?"
)  # which hold words of those and are called so all the same
_PLAIN, _NO_REPLICA, _MODULES = regex(IS_PLAIN), regex(ELSE), regex(MODULES)


def says_what(name: str) -> bool:
    """Does a name say that its value is a hash or a figure of what a rank holds? A text of hexadecimal digits may be anything else."""
    return _PLAIN.search(f"{name}=") is not None


def is_of_replica(name: str) -> bool:
    """May what a name says be held alike by all replicas? Not data, files, versions, addresses."""
    return _NO_REPLICA.search(_MODULES.sub("", f"{name}=")) is None
