"""Does an error's text say that storage failed, and not the program?

By the number of the system's error. Some only a file system gives (a handle of a server that forgot it, a structure that needs
cleaning, a mount that turned read-only). Others sockets and terminals give, too: these count with the path that Python puts
after the words. What a wrong path or a missing right brings about (ENOENT, EACCES, EISDIR) is the program's, and a full disk or
quota has a cause of its own.
"""

import errno
from typing import NamedTuple

from forensics.model.finding import Finding
from forensics.model.said import Said
from forensics.words import facts as words
from parsers.text.patterns import regex

_ERRNO = regex(r"\[Errno (?P<number>\d{1,3})\] (?P<words>[^:'\"\n]{1,80})(?:: ['\"](?P<path>[^'\"\n]{1,300})['\"])?")
_ALONE = frozenset({errno.ESTALE, errno.EROFS, errno.EUCLEAN, errno.EREMOTEIO})
_WITH_PATH = frozenset(
    {errno.EIO, errno.ENOTCONN, errno.ESHUTDOWN, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENOLINK, errno.ENXIO}
)  # fmt: skip
_NO_FILES = ("/dev/", "/proc/", "/sys/")


class StorageError(NamedTuple):
    """`name`: ESTALE, EIO, …; `path`: what was read or written, where the text says it."""

    name: str
    words: str
    path: str | None

    @property
    def holder(self) -> Said:
        """What is to be looked at."""
        return words.STORAGE_OF(path=self.path or words.ITS_FILES)

    @property
    def why(self) -> Said:
        return words.STORAGE_ANSWERED(name=self.name, words=self.words)


def storage_error(text: str) -> StorageError | None:
    """The failure of storage that a text tells."""
    for found in _ERRNO.finditer(text):
        number, path = int(found["number"]), found["path"]
        is_file = path is not None and not path.startswith(_NO_FILES)
        if number in _ALONE or (number in _WITH_PATH and is_file):
            return StorageError(errno.errorcode[number], found["words"].strip(), path)
    return None


def path_of(finding: Finding) -> str | None:
    """The file that the system's error names, in the lines that a finding cites."""
    texts = (ref.text for claim in finding.claims if claim.direction == "for" for ref in claim.refs)
    paths = (found["path"] for text in texts for found in _ERRNO.finditer(text))
    return next((path for path in paths if path and not path.startswith(_NO_FILES)), None)
