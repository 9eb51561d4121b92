"""What goes out on stdout and stderr where not every character can: signs get their ASCII form."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from contextlib import suppress
from typing import TextIO

from tui.read_progress import ReadProgress
from tui.widgets.glyphs import locale_is_utf8

FORMS = "sparkplan-ascii"
"""The name of the error handler that knows the forms (`tui.widgets.ascii_forms`)."""

NOT_WRITTEN = frozenset({errno.EBADF, errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a write fails with whose stream is closed, or whose disk is full."""


def make_ready() -> None:
    """Texts hold signs such as × and –; a stream that cannot show them gets "x" and "-", not a
    crash. A terminal in a locale without UTF-8 is taken at its word: Python would send it UTF-8."""
    codecs.register_error(FORMS, in_ascii_forms)
    stand_in_for_closed()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if is_utf8(stream) and stream.isatty() and not locale_is_utf8(os.environ):
            reconfigure(encoding="ascii", errors=FORMS)
        else:
            reconfigure(errors=FORMS)


def stand_in_for_closed() -> None:
    """Python has None for a stream that its caller closed (`>&-`), and prints messages among the
    data where that is stderr. Input is then empty and messages go nowhere; data fail as a write to
    a closed stream does, but only where there are any."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def say(message: str) -> None:
    """A line for the user; where stderr takes none, the exit code alone has to do."""
    with suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def long_reading() -> ReadProgress:
    """Says how far reading is, where it takes so long that one wonders."""
    return ReadProgress(say, in_lines=True)


def drop_unwritten() -> None:
    """What could not be written is not tried again, and lost again, when Python ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def place_of(error: OSError) -> str | None:
    """Where it went wrong, None where that is not known: files have their names, and what cannot be
    written without one is data."""
    if error.filename:
        return str(error.filename)
    return "standard output" if error.errno in NOT_WRITTEN else None


def is_utf8(stream: TextIO) -> bool:
    """Whether every character reaches whoever reads the stream; one in memory has no encoding."""
    encoding = getattr(stream, "encoding", None)
    return encoding is None or encoding.lower().replace("-", "").startswith("utf")


def in_ascii_forms(error: UnicodeError) -> tuple[str, int]:
    """What stands for the characters that could not be encoded, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # Here: where every character can be shown, nobody needs the table.
    from tui.widgets.ascii_forms import in_ascii

    return "".join(map(in_ascii, error.object[error.start : error.end])), error.end
