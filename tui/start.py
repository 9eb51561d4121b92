"""What the planner starts with: the options of the command line as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.state import PlanState
from tui.widgets.glyphs import GlyphChoice

if TYPE_CHECKING:
    from tui.pins import Pin
    from tui.tour.guide import TourOptions

DEFAULT_SAMPLE = "nightly-features"
"""What opens when no source is named: many tasks of a second or more, so that nodes matter."""

ON_SAMPLE = PlanState(sources=(DEFAULT_SAMPLE,))


@dataclass(frozen=True, kw_only=True)
class AppOptions:
    """What the command line may set; the rest is set in the planner.

    Args:
        start: every input. pins: those kept with a scenario.
        keys: action -> keys that the user chose. vi: h, j, k, l move.
        tour: begins with the guided walkthrough, played so.
    """

    start: PlanState = ON_SAMPLE
    pins: tuple[Pin, ...] = ()
    glyphs: GlyphChoice = "auto"
    theme: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    vi: bool = False
    tour: TourOptions | None = None
