"""What goes out on stdout and stderr where not every character can: signs get their ASCII form."""

from __future__ import annotations

import codecs
import os
import sys
from typing import TextIO

from tui.widgets.glyphs import locale_is_utf8

FORMS = "sparkplan-ascii"
"""The name of the error handler that knows the forms (`tui.widgets.ascii_forms`)."""


def make_ready() -> None:
    """Texts hold signs such as × and –; a stream that cannot show them gets "x" and "-", not a
    crash. A terminal in a locale without UTF-8 is taken at its word: Python would send it UTF-8."""
    codecs.register_error(FORMS, in_ascii_forms)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if is_utf8(stream) and stream.isatty() and not locale_is_utf8(os.environ):
            reconfigure(encoding="ascii", errors=FORMS)
        else:
            reconfigure(errors=FORMS)


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
