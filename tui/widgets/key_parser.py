"""Keys from the bytes of a terminal: an Escape that arrives together with another key is a key of
its own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.message import Message

ESCAPE = "\x1b"

ESCAPE_ALONE = "[27u"
"""Appended to an Escape, this makes it an explicit Escape key in kitty's keyboard protocol, which
Textual parses without waiting for further bytes. No terminal needs to send it."""

_CONTINUED = "[]OPX^_\\\\" + ESCAPE
"""Characters after an Escape that continue a terminal's sequence: keys, mouse, replies."""

_WORDWISE = "bf\t\x7f"
"""Keys that terminals send as Escape and a character only: option with an arrow or backspace,
back-tab."""

_KEY_AFTER = re.compile(f"{ESCAPE}(?=[^{re.escape(_CONTINUED + _WORDWISE)}])")


class KeyParser(XTermParser):
    """Textual's parser, except that an Escape and a key that arrive together, or within the tenth
    of a second for which it waits, are two keys.

    Terminals send the same bytes for alt with that key. On a slow line several keys arrive at once:
    Textual read "escape, 2" as a trade mark sign and "escape, e" as a meaningless key, so that the
    dialog stayed open and the rest was typed into it.
    """

    def __init__(self, debug: bool = False, *, alt_keys: bool = False) -> None:
        """Create a parser; with `alt_keys` (the user has bound some) Escape and a key stay one
        key."""
        super().__init__(debug)
        self._alt_keys = alt_keys
        self._held = False

    def feed(self, data: str) -> Iterable[Message]:
        """The messages in `data`."""
        if self._alt_keys or not data:
            return super().feed(data)
        waiting = self._held and self._timeout_time is not None
        self._held = data.endswith(ESCAPE)
        bytes_in = f"{ESCAPE if waiting else ''}{data}"
        separated = _KEY_AFTER.sub(ESCAPE + ESCAPE_ALONE, bytes_in)
        return super().feed(separated[1:] if waiting else separated)
