"""The characters that widgets draw with, chosen once for the terminal's character set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple

Dots = Literal["braille", "half", "ascii"]
GlyphChoice = Literal["auto", "unicode", "blocks", "ascii"]


class Glyphs(NamedTuple):
    """One coherent set of characters; each is a single cell wide."""

    name: str
    dots: Dots
    ascii_only: bool
    axis_x: str
    axis_y: str
    corner: str
    tick_x: str
    tick_y: str
    ruler: str
    ruler_tick: str
    marker: str
    vertical: str
    above: str
    below: str
    before: str
    after: str
    track: str
    filled: str
    knob: str
    focus: str
    ellipsis: str

    @property
    def signs(self) -> str:
        """One sign per curve, drawn at its end and at the crosshair."""
        return _SIGNS[self.name]


UNICODE = Glyphs(
    name="unicode", dots="braille", ascii_only=False, axis_x="─", axis_y="│", corner="└",
    tick_x="┬", tick_y="┤", ruler="━", ruler_tick="┯", marker="◆", vertical="┊", above="↑",
    below="↓", before="←", after="→", track="─", filled="━", knob="●", focus="▸", ellipsis="…",
)  # fmt: skip

# The kernel console and other bitmap fonts: code page 437 has these, but no braille.
BLOCKS = UNICODE._replace(
    name="blocks", dots="half", ruler="═", ruler_tick="╤", marker="♦", vertical="│", filled="═",
    knob="█", focus="►",
)  # fmt: skip

ASCII = Glyphs(
    name="ascii", dots="ascii", ascii_only=True, axis_x="-", axis_y="|", corner="+", tick_x="+",
    tick_y="+", ruler="=", ruler_tick="#", marker="@", vertical=":", above="^", below="v",
    before="<", after=">", track="-", filled="=", knob="O", focus=">", ellipsis="~",
)  # fmt: skip

_SIGNS = {"unicode": "●▲■▼★○", "blocks": "•▲■▼♣○", "ascii": "o*#%+="}

_BY_NAME = {glyphs.name: glyphs for glyphs in (UNICODE, BLOCKS, ASCII)}


def locale_is_utf8(environ: Mapping[str, str]) -> bool:
    """Whether the locale set by the user is UTF-8.

    Python itself turns the C locale into UTF-8 (PEP 538 sets LC_CTYPE to C.UTF-8, PEP 540 changes
    the encoding), so neither `locale` nor `sys.stdout.encoding` can tell. The variables can, if
    that LC_CTYPE is ignored.
    """
    language = environ.get("LANG", "")
    ctype = environ.get("LC_CTYPE", "")
    coerced = ctype == "C.UTF-8" and language in ("", "C", "POSIX")
    chosen = environ.get("LC_ALL") or ("" if coerced else ctype) or language
    return chosen.partition(".")[2].partition("@")[0].lower().replace("-", "") == "utf8" or (
        chosen.upper() in ("UTF-8", "UTF8")
    )


def choose_glyphs(choice: GlyphChoice = "auto", environ: Mapping[str, str] | None = None) -> Glyphs:
    """The set named by `choice`; `auto` goes by the locale and TERM in `environ`.

    Args:
        choice: an explicit set, or `auto`.
        environ: environment variables; those of the process by default.
    """
    if choice != "auto":
        return _BY_NAME[choice]
    variables = os.environ if environ is None else environ
    if "web_driver" in variables.get("TEXTUAL_DRIVER", ""):
        return UNICODE  # a browser, whatever the locale of the server
    if not locale_is_utf8(variables):
        return ASCII
    return BLOCKS if variables.get("TERM") == "linux" else UNICODE
