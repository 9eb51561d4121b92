"""What stands for a sign where only ASCII can be shown: one table for widgets and commands."""

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
    """The ASCII form of a character: of a letter the one without its accent, "?" for what has none.

    A lone surrogate, which stands for a byte that is no UTF-8, is "?" as well.
    """
    if character in FORMS:
        return FORMS[character]
    # Here: few texts hold a letter that needs it.
    import unicodedata

    letters = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return letters if letters and letters.isprintable() else "?"
