"""Parsing of whole numbers in untrusted text: logs and file names."""

from __future__ import annotations

MOST_DIGITS = 18
"""Spark's counters have no more digits; Python refuses to parse thousands."""


def whole_number(text: str | None) -> int | None:
    """The number, if the text is ASCII digits only; else None."""
    if text is None or len(text) > MOST_DIGITS or not text.isascii() or not text.isdigit():
        return None
    return int(text)
