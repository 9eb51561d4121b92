"""ASCII replacements of non-ASCII signs: one table for widgets and commands."""

from __future__ import annotations

from collections.abc import Mapping

FORMS: Mapping[str, str] = {
    "×": "x",
    "±": "+/-",
    "–": "-",
    "—": "-",
    "−": "-",
    "·": "-",
    "•": "*",
    "…": "...",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "→": "->",
    "←": "<-",
    "↑": "^",
    "↓": "v",
    "⚠": "!",
    "✓": "+",
    "✗": "x",
    "◆": "@",
    "▾": "v",
    "⏎": "enter",
    "⇧": "shift+",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "␡": "^?",
}


def in_ascii(character: str) -> str:
    """The ASCII replacement of a character: for a letter the one without its accent, "?" for what
    has none.

    A lone surrogate, which stands for a byte that is not UTF-8, is "?" as well.
    """
    if character in FORMS:
        return FORMS[character]
    # Imported here: few texts contain a letter that needs it.
    import unicodedata

    letters = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return letters if letters and letters.isprintable() else "?"
