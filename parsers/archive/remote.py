"""A bundle behind a URL that fsspec opens (s3://…, gs://…, hdfs://…, file://…) → its files as parser.Source streams.

Only the person's own URL is opened; nothing that stands in a bundle is. Credentials and endpoints come from where the library
of the storage looks for them (for s3fs the AWS_… variables). Source: fsspec's AbstractFileSystem, `find` and `open`.
"""

import io
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO, cast

from parsers.archive.archives import BLOCK
from parsers.archive.members import Over


def is_url(path: str) -> bool:
    """Whether a path names a storage: no file's name of a bundle begins so, as "a:/" is one with an empty name in it."""
    scheme, found, _ = path.partition("://")
    return bool(found) and scheme.replace("+", "").replace("-", "").isalnum()


def listed(url: str) -> Iterator[tuple[str, int, partial[BinaryIO]]]:
    """(path below the URL, size, opener) of every file there, one for the URL of a file. Raises OSError."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise OSError("a URL needs the libraries of its storage: pip install 'collective-forensics[dask]'") from error
    try:
        storage, root = url_to_fs(url)
        found = storage.find(root, detail=True)
    except OSError:
        raise
    except Exception as error:  # each storage has errors of its own
        raise OSError(_said(error)) from error
    if not found:
        raise FileNotFoundError(2, "no file there")
    for name, entry in sorted(found.items()):
        path = name.removeprefix(root).lstrip("/") or name.rpartition("/")[2]
        yield path, int(entry["size"]), partial(open_remote, storage, name)


def open_remote(storage: Any, name: str) -> BinaryIO:
    """One file. Raises OSError."""
    try:
        inner = storage.open(name, "rb")
    except OSError:
        raise
    except Exception as error:
        raise OSError(_said(error)) from error
    return cast(BinaryIO, io.BufferedReader(_Remote(inner), BLOCK))


def _said(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


class _Remote(Over):
    """A file of a storage; `loss` says what could not be read behind its first byte."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self._inner, self._at = inner, 0
        self.loss: str | None = None

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = int(self._inner.seek(offset, whence))
        return self._at

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        try:
            data = self._inner.read(len(buffer))
        except Exception as error:
            if not self._at:
                raise OSError(_said(error)) from error
            self.loss = f"not read beyond byte {self._at}: {_said(error)}"
            return 0
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
