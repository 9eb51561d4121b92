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
    # Letters that Unicode does not decompose.
    "ß": "ss",
    "ẞ": "SS",
    "ø": "o",
    "Ø": "O",
    "ł": "l",
    "Ł": "L",
    "ı": "i",
    "đ": "d",
    "Đ": "D",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "Œ": "OE",
}


def in_ascii(character: str) -> str:
    r"""The ASCII replacement of a character: for a letter the one without its accent, for what has
    none its code (`\u540d`), as names of such characters must stay apart from each other.

    An accent by itself, behind its letter, is left out, and so is a variation selector, which only
    says how the sign before it is drawn. A lone surrogate, which stands for a byte
    that is not UTF-8, is its code as well.
    """
    if character in FORMS:
        return FORMS[character]
    # Imported here: few texts contain a letter that needs it.
    import unicodedata

    letters = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    if letters and letters.isprintable():
        return letters
    belongs_to_last = unicodedata.name(character, "").startswith(
        ("COMBINING ", "VARIATION SELECTOR")
    )
    return "" if belongs_to_last else character.encode("ascii", "backslashreplace").decode()
