"""stdout and stderr that cannot encode every character: signs are replaced by ASCII forms."""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from tui.format import cells_of, escaped
from tui.read_progress import ReadProgress
from tui.widgets.glyphs import locale_is_utf8

FORMS = "sparkplan-ascii"
"""Name of the codec error handler that writes the ASCII forms (`tui.widgets.ascii_forms`)."""

NOT_WRITTEN = frozenset({errno.EBADF, errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Error numbers of a write to a closed stream or a full disk."""


def make_ready() -> None:
    """Install the ASCII error handler: a stream that cannot encode × or – writes "x" or "-" instead
    of failing. For a terminal in a locale without UTF-8 the encoding is set to ASCII: Python would
    send it UTF-8."""
    codecs.register_error(FORMS, in_ascii_forms)
    replace_closed()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if is_utf8(stream) and stream.isatty() and not locale_is_utf8(os.environ):
            reconfigure(encoding="ascii", errors=FORMS)
        else:
            reconfigure(errors=FORMS)


def replace_closed() -> None:
    """Replace streams that the caller closed (`>&-`), for which Python has None; it would print
    messages among the data where that is stderr. Input is then empty and messages are dropped; data
    fail like a write to a closed stream, but only if there are any."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def write_data_whole() -> None:
    """Put a buffer before an unbuffered stdout (`PYTHONUNBUFFERED`, as in many containers): Python
    takes a write to one for done where a full disk has room for its beginning alone. Each line is
    still sent at once.

    For the command's own process: the stream below is closed with the new one.
    """
    unbuffered = getattr(sys.stdout, "buffer", None)
    if isinstance(unbuffered, io.RawIOBase):
        buffered = io.BufferedWriter(unbuffered)
        sys.stdout = io.TextIOWrapper(buffered, encoding=sys.stdout.encoding, line_buffering=True)


def say(message: str) -> None:
    """Print a line for the user on stderr (see `wrapped`); if stderr cannot be written, the exit
    code alone has to do."""
    with suppress(OSError):
        print(wrapped(message, sys.stderr), file=sys.stderr, flush=True)


LEAST_COLUMNS = 30
"""In a narrower terminal lines are left as they are."""


def wrapped(line: str, stream: TextIO) -> str:
    """A line for a stream: in a terminal broken between words, a row of a table between its cells;
    later lines are indented by two further blanks. Else unchanged, so that a warning is one line of
    a log file."""
    if not stream.isatty():
        return line
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:  # no terminal after all, or one that is gone
        return line
    if columns < LEAST_COLUMNS or cells_of(line) <= columns:
        return line
    # A row whose first cells are empty begins far to the right.
    indent = " " * min(len(line) - len(line.lstrip()), columns // 2)
    return _filled(line.lstrip(), columns, indent)


_CELL = re.compile(r"( *)(\S+(?: \S+)*)")
"""Words with single blanks between them, and the wider gap before them."""


def _filled(text: str, columns: int, indent: str) -> str:
    """Lines of at most `columns` terminal cells, the later ones indented by two more than the
    first. A longer word has a line of its own."""
    later = f"{indent}  "
    units = list[tuple[str, str]]()
    for gap, cell in _CELL.findall(text):
        words = [cell] if cells_of(cell) <= columns - len(later) else cell.split()
        units += [(gap, words[0]), *((" ", word) for word in words[1:])]
    lines = [indent]
    for gap, unit in units:
        if not lines[-1].strip():
            lines[-1] += unit
        elif cells_of(lines[-1] + gap + unit) <= columns:
            lines[-1] += gap + unit
        else:
            lines.append(later + unit)
    return "\n".join(lines)


SILENT_SECONDS = 3.0
"""A pipe that delivers nothing for so long is mentioned: nobody may be writing to it."""


@contextmanager
def stderr_progress(sources: Sequence[str]) -> Iterator[Callable[[int, int | None], None]]:
    """A progress callback that prints to stderr when reading takes long, and when the first source
    is a pipe that delivers nothing at first."""
    progress, first = ReadProgress(say, in_lines=True), sources[0] if sources else ""
    if first != STDIN and not _is_pipe(first):
        yield progress
        return
    named = "standard input" if first == STDIN else first
    silent = threading.Timer(
        SILENT_SECONDS, say, [f"sparkplan: waiting for {escaped(named)}: nothing has come yet"]
    )
    silent.daemon = True
    silent.start()

    def report(done: int, total: int | None) -> None:
        silent.cancel()
        progress(done, total)

    try:
        yield report
    finally:
        silent.cancel()


def _is_pipe(source: str) -> bool:
    try:
        return Path(source).is_fifo()
    except OSError:  # a name that no file system takes
        return False


STDIN = "-"
"""The source that is read from standard input."""


def drop_unwritten() -> None:
    """Discard what could not be written, so that Python does not try it again at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def error_location(error: OSError) -> str | None:
    """The file of an error; "standard output" for data, None where it is not known."""
    if error.filename:
        return str(error.filename)
    return "standard output" if error.errno in NOT_WRITTEN else None


def is_utf8(stream: TextIO) -> bool:
    """Whether the stream encodes every character; one in memory has no encoding."""
    encoding = getattr(stream, "encoding", None)
    return encoding is None or encoding.lower().replace("-", "").startswith("utf")


def in_ascii_forms(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: the ASCII forms of the characters that cannot be encoded, and where to
    go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # Imported here: with an encoding for every character the table is not needed.
    from tui.widgets.ascii_forms import in_ascii

    return "".join(map(in_ascii, error.object[error.start : error.end])), error.end
