"""The page on Python: its examples run one after the other, and print what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "python.md"

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_print_what_the_page_shows() -> None:
    names: dict[str, object] = {}
    printed, shown = "", []
    for kind, text in BLOCK.findall(PAGE.read_text()):
        if kind == "text":
            shown.append((text, printed))
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(text, str(PAGE), "exec"), names)
        printed = output.getvalue()
    assert len(shown) >= 6
    for text, printed in shown:
        assert printed == text
