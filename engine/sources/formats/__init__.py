"""File formats other than logs: run tables, profiles, resource profiles, workflow values.

A new format of a SOURCE is a file here and a line in `SOURCE_FORMATS` (docs/adding_a_model.md).
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.sources.source_contents import SourceContents


class SourceFormat(NamedTuple):
    """A kind of text that is a SOURCE; its module is imported when it is needed.

    Args:
        kind: what it is called on screens and in errors.
        module, parser: where its parser is, and the name of this: a function of the text and of the
            file's name that returns `SourceContents`, or raises `BadInput` with `file:line`.
        key: stands in the first bytes of every such text; None where `looks_like(start) -> bool` of
            the module says whether they begin one.
    """

    kind: str
    module: str
    parser: str = "parse"
    key: re.Pattern[bytes] | None = None

    def begins(self, start: bytes) -> bool:
        """Whether a text with these first bytes is of this format."""
        if self.key is not None:
            return self.key.search(start) is not None
        return bool(import_module(self.module).looks_like(start))

    def parse(self, text: str, source: str) -> SourceContents:
        """What the text holds; `source` is the file's name in errors.

        Raises:
            BadInput: with `file:line`, for a text that cannot be used.
        """
        contents: SourceContents = getattr(import_module(self.module), self.parser)(text, source)
        return contents


SOURCE_FORMATS = (
    SourceFormat(
        "profile",
        "engine.sources.formats.profile_file",
        "contents",
        key=re.compile(rb"^\s*[\"']?format[\"']?\s*:\s*[\"']?sparkplan-profile", re.MULTILINE),
    ),
    SourceFormat("run table", "engine.sources.formats.run_table"),
)
"""The formats, in the order in which a text is held against them."""


def source_format(start: bytes) -> SourceFormat | None:
    """The format of a text with these first bytes; None if it is none of them."""
    return next((known for known in SOURCE_FORMATS if known.begins(start)), None)
