"""Splits chunks of bytes into lines of bounded length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO

from engine.errors import BadInput

LONGEST_LINE_BYTES = 64 << 20
"""Longer lines are skipped and counted; no relevant event is that long."""

MOST_WITHOUT_LINE_BYTES = 1 << 30
"""A source with that much text without a line end is no event log (a decompression bomb)."""


class Lines:
    """Splits chunks into complete lines, in batches.

    `too_long` counts lines that were skipped for their length; `torn` is the rest after the last
    line end (empty when the file ended properly).
    """

    def __init__(self, chunks: Iterable[bytes], name: str) -> None:
        self.too_long = 0
        self.torn = b""
        self._chunks = chunks
        self._name = name

    def batches(self) -> Iterator[list[bytes]]:
        """Lists of complete lines.

        Raises:
            BadInput: for a source that has no lines.
        """
        parts: list[bytes] = []
        length = blank = 0
        for chunk in self._chunks:
            if not length and chunk.isspace():
                blank += len(chunk)
                if blank > MOST_WITHOUT_LINE_BYTES:
                    raise self._no_log("a gigabyte of blank lines")
                continue
            lines = BytesIO(chunk).readlines()  # five times as fast as bytes.split
            last = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
            if not lines:
                length += len(last)
                if length <= LONGEST_LINE_BYTES:
                    parts.append(last)
                elif length > MOST_WITHOUT_LINE_BYTES:
                    raise self._no_log("a gigabyte of text without a line end")
                continue
            if length + len(lines[0]) > LONGEST_LINE_BYTES:
                self.too_long += 1
                del lines[0]
            elif parts:
                lines[0] = b"".join((*parts, lines[0]))
            parts, length = [last], len(last)
            yield lines
        if length > LONGEST_LINE_BYTES:
            self.too_long += 1
        else:
            self.torn = b"".join(parts)

    def _no_log(self, why: str) -> BadInput:
        return BadInput(
            f"not an event log: {why}", where=self._name, remedy="give a file that Spark wrote"
        )
