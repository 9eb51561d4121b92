"""Keys from the bytes of a terminal: an Escape that comes together with the next key is one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.message import Message

ESCAPE = "\x1b"

ESCAPE_ALONE = "[27u"
"""What makes an Escape of the character before it, in the protocol of kitty: no terminal need send
it, Textual reads it without waiting for what may follow."""

_CONTINUED = "[]OPX^_\\\\" + ESCAPE
"""What goes on after an Escape in what a terminal sends: keys, the mouse, answers."""

_WORDWISE = "bf\t\x7f"
"""Keys of terminals that have no other bytes: option with an arrow or backspace, back-tab."""

_KEY_AFTER = re.compile(f"{ESCAPE}(?=[^{re.escape(_CONTINUED + _WORDWISE)}])")


class KeyParser(XTermParser):
    """As Textual's, but an Escape and a key that arrive together, or within the tenth of a second
    in which it waits, are these two.

    Terminals send the same bytes for alt with that key. On a slow line keys come several at once:
    Textual read "escape, 2" as a trade mark sign and "escape, e" as a key that means nothing, so
    that the dialog stayed open and the rest was typed into it.
    """

    def __init__(self, debug: bool = False, *, alt_keys: bool = False) -> None:
        """Create a parser; with `alt_keys` (somebody has bound some) they stay what they are."""
        super().__init__(debug)
        self._alt_keys = alt_keys
        self._held = False

    def feed(self, data: str) -> Iterable[Message]:
        """The messages that `data` makes."""
        if self._alt_keys or not data:
            return super().feed(data)
        waiting = self._held and self._timeout_time is not None
        self._held = data.endswith(ESCAPE)
        told = f"{ESCAPE if waiting else ''}{data}"
        parted = _KEY_AFTER.sub(ESCAPE + ESCAPE_ALONE, told)
        return super().feed(parted[1:] if waiting else parted)
