"""A one-line text editor as a value: text and cursor, and the effect of keys on them."""

from __future__ import annotations

from typing import NamedTuple


class LineEdit(NamedTuple):
    """`text` with a cursor before character `cursor`; while `selected`, typing replaces all of
    it."""

    text: str = ""
    cursor: int = 0
    selected: bool = False

    @classmethod
    def of(cls, text: str) -> LineEdit:
        """`text`, selected, with the cursor at its end."""
        return cls(text, len(text), selected=bool(text))

    def insert(self, typed: str) -> LineEdit:
        """The line with `typed` at the cursor, or in place of the selection."""
        if self.selected:
            return LineEdit(typed, len(typed))
        text = self.text[: self.cursor] + typed + self.text[self.cursor :]
        return LineEdit(text, self.cursor + len(typed))

    def press(self, key: str) -> LineEdit | None:
        """The line after an editing key (by Textual's name); None for a key that does not edit."""
        before, after = self.text[: self.cursor], self.text[self.cursor :]
        if self.selected and key in ("backspace", "delete", "ctrl+h", "ctrl+d"):
            return LineEdit()
        if key in ("left", "ctrl+b"):
            return LineEdit(self.text, max(0, self.cursor - 1))
        if key in ("right", "ctrl+f"):
            return LineEdit(self.text, min(len(self.text), self.cursor + 1))
        if key in ("home", "ctrl+a"):
            return LineEdit(self.text, 0)
        if key in ("end", "ctrl+e"):
            return LineEdit(self.text, len(self.text))
        if key in ("backspace", "ctrl+h"):
            return LineEdit(before[:-1] + after, max(0, self.cursor - 1))
        if key in ("delete", "ctrl+d"):
            return LineEdit(before + after[1:], self.cursor)
        if key == "ctrl+u":
            return LineEdit(after, 0)
        if key == "ctrl+k":
            return LineEdit(before, self.cursor)
        if key == "ctrl+w":
            kept = before.rstrip().rpartition(" ")[0]
            return LineEdit(kept + after, len(kept))
        return None

    def window(self, width: int) -> tuple[str, int]:
        """The part of the text visible in `width` cells, and the cursor's cell in it."""
        start = max(0, self.cursor - width + 1)
        return self.text[start : start + width], self.cursor - start
