"""Whole numbers that stand as text in a log or a name, which others wrote."""

from __future__ import annotations

MOST_DIGITS = 18
"""What Spark counts has no more; Python refuses to read thousands."""


def whole_number(text: str | None) -> int | None:
    """The number that text of digits says; None for any other text."""
    if text is None or len(text) > MOST_DIGITS or not text.isascii() or not text.isdigit():
        return None
    return int(text)
