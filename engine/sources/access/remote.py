"""Event logs in remote stores (S3, Google Cloud Storage, Azure, HDFS), through fsspec.

A path with a scheme that fsspec knows is a SOURCE like a local one: a file, a rolling folder or a
folder of logs. Each store's library finds its own credentials (files and environment variables).
Files are streamed, never stored.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import BadInput, EngineError, ServiceUnavailable, UnknownName
from engine.sources.access.codecs import ExplainedFile
from engine.sources.access.folders import MOST_FILES, LogFiles, logs_among

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
_LOCAL = "file"

_ALIASES = {"s3n": "s3", "abfss": "abfs"}
"""Scheme -> one of the same library that fsspec knows, and knows before that is installed."""
USUAL = ("s3", "s3a", "gs", "abfs", "abfss", "hdfs", "webhdfs", "dbfs", "file")
"""Schemes listed in an error."""

BLOCK_BYTES = 8 << 20
"""Read-ahead block size: few round trips to an object store, little memory."""

_TALKATIVE = (
    *("fsspec", "s3fs", "gcsfs", "adlfs", "azure", "botocore", "aiobotocore", "google"),
    *("aiohttp", "asyncio", "urllib3"),
)
"""Loggers that print warnings and tracebacks if logging is not configured."""

_REFUSED = re.compile(r"credential|forbidden|unauthori|permission|accessdenied|auth", re.I)
"""Exception names that mean missing, unknown or refused credentials."""


def scheme_of(source: str) -> str | None:
    """The scheme of a SOURCE, in lower case; None where it has none."""
    match = _SCHEME.match(source)
    return match[1].lower() if match else None


def local_path(source: str) -> Path | None:
    """The path that a `file://` address names; None for any other source."""
    if scheme_of(source) != _LOCAL:
        return None
    path = source[len("file://") :].removeprefix("localhost")
    if not path.startswith("/"):
        raise BadInput(
            "names no path of this machine", where=_named(source), remedy="write file:///path"
        )
    return Path(path)


def check_remote(source: str) -> None:
    """Checks a remote source without contacting the store.

    Raises:
        BadInput: for an unknown scheme, a missing library, or a password in the address.
    """
    _file_system(source, connect=False)


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """An entry of a remote folder, as a SOURCE; `size_bytes` is None for a folder."""

    source: str
    name: str
    size_bytes: int | None = None
    folder: bool = False


def list_remote(source: str, *, limit: int = 1000) -> tuple[RemoteEntry, ...]:
    """At most `limit` entries of a remote folder itself, folders first, by name.

    Raises:
        BadInput: when it is no folder, or cannot be read by this user.
        ServiceUnavailable: when the store does not answer.
    """
    remote = RemotePlace(source)
    if not remote.is_folder:
        raise BadInput("is not a folder", where=_named(source), remedy="leave out the last /")
    return tuple(remote.entries())[:limit]


@dataclass(slots=True)
class RemotePlace:
    """A file or folder behind a remote path.

    Args:
        source: the path as it was given.
    """

    source: str
    is_folder: bool = field(default=False, init=False)
    _files: Any = field(init=False)
    _path: str = field(init=False)
    _names: dict[Path, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Checks whether the path is a file or a folder.

        Raises:
            BadInput: when it cannot be read by this user.
            ServiceUnavailable: when the store does not answer.
        """
        self._files = _file_system(self.source)
        try:
            self._path = str(self._files._strip_protocol(self.source))
            self.is_folder = self._files.info(self._path)["type"] == "directory"
        except Exception as error:
            raise _explained(error, self.source) from None

    @property
    def path(self) -> Path:
        """The path in the store, for `open` and for its name."""
        return Path(self._path)

    def entries(self) -> list[RemoteEntry]:
        """The entries of the folder itself, folders first, by name.

        Raises:
            ServiceUnavailable: when the store does not answer.
        """
        try:
            listed = self._files.ls(self._path, detail=True)
        except Exception as error:
            raise _explained(error, self.source) from None
        entries = []
        for info in listed:
            name = str(info["name"]).rstrip("/").rpartition("/")[2]
            folder = info["type"] == "directory"
            source = f"{self.source.rstrip('/')}/{name}"
            if name and str(info["name"]).rstrip("/") != self._path.rstrip("/"):
                entries.append(RemoteEntry(source, name, None if folder else info["size"], folder))
        return sorted(entries, key=lambda entry: (not entry.folder, entry.name.lower()))

    def logs(self) -> list[LogFiles]:
        """The logs in the folder and its subfolders.

        Raises:
            BadInput: when there are too many files.
            ServiceUnavailable: when the store does not answer.
        """
        try:
            self._names = {Path(name): name for name in map(str, self._files.find(self._path))}
        except Exception as error:
            raise _explained(error, self.source) from None
        if len(self._names) > MOST_FILES:
            raise BadInput(
                f"more than {MOST_FILES} files", where=_named(self.source),
                remedy="name fewer of them",
            )  # fmt: skip
        return logs_among(self._names, Path(self._path))

    def open(self, path: Path) -> ExplainedFile:
        """Opens one of the files in the folder, or the file itself by its `path`.

        Raises:
            BadInput, ServiceUnavailable: when it cannot be opened.
        """
        full = self._names.get(path, self._path)
        try:
            file = self._files.open(full, "rb", block_size=BLOCK_BYTES)
        except Exception as error:
            raise _explained(error, self.source) from None
        return ExplainedFile(file, (Exception,), lambda error: _explained(error, self.source))


def _file_system(source: str, *, connect: bool = True) -> Any:
    """The fsspec file system of a source; without `connect` only checks that it is available."""
    scheme = scheme_of(source) or ""
    name = _ALIASES.get(scheme, scheme)
    if "::" in source:
        raise BadInput(
            "chained addresses are not read", where=_named(source), remedy="give the log itself"
        )
    if re.match(r"[^/@]*:[^/@]*@", source[len(scheme) + 3 :]):
        raise BadInput(
            "a password in the address is not taken, as others could read it",
            where=f"{scheme}://",
            remedy="give it the way the store's own tools take it",
        )
    _silence_loggers()
    try:
        from fsspec import available_protocols, filesystem, get_filesystem_class
    except ImportError:
        raise _missing(source, scheme, "fsspec") from None
    if name not in available_protocols():
        raise UnknownName("scheme", scheme, USUAL, where=_named(source))
    try:
        kind = get_filesystem_class(name)
        if not connect:
            return None
        return filesystem(name, **kind._get_kwargs_from_urls(source))
    except ImportError as error:
        needed = re.search(r"[Ii]nstall (?:the )?[`'\"]?([\w-]+)", str(error))
        raise _missing(source, scheme, needed[1] if needed else error.name or "") from None
    except Exception as error:
        raise _explained(error, source) from None


def _silence_loggers() -> None:
    """Keeps the libraries' log messages off the terminal; an application's handlers still get
    them."""
    import logging

    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


def _missing(source: str, scheme: str, library: str) -> BadInput:
    needs = f"reading {scheme}:// needs {library}" if library else f"{scheme}:// cannot be read"
    if scheme == "hdfs":
        remedy = "install pyarrow beside a Hadoop client, or write webhdfs://NAMENODE:9870/..."
    else:
        extra = "'sparkplan[cloud]'"
        remedy = f"pip install {extra}, or pipx inject sparkplan {extra}"
    return BadInput(needs, where=_named(source), remedy=remedy)


def _explained(error: Exception, source: str) -> EngineError:
    """A one-line explanation of an exception of a store's library. Its own text is left out, since
    it may quote the request with its signature."""
    where, kind = _named(source), type(error).__name__
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return BadInput("no such file or folder", where=where, remedy="check the path")
    if isinstance(error, PermissionError) or _REFUSED.search(kind):
        return BadInput(
            f"the store does not let this user in ({kind})", where=where,
            remedy="check its credentials, as its own command-line tool finds them",
        )  # fmt: skip
    number = error.errno if isinstance(error, OSError) else None
    reason = f": {os.strerror(number)}" if number is not None and number > 0 else ""
    return ServiceUnavailable(
        f"the store does not answer ({kind}{reason})", where=where,
        remedy="try again, or copy the log and give the file",
    )  # fmt: skip


def _named(source: str) -> str:
    """The source without a query string, which could contain a signature."""
    return source.partition("?")[0][:200]
