"""The options with which the planner starts, as one frozen value."""

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
"""The sample that opens when no source is named: many tasks of a second or more, so that the number
of nodes matters."""

ON_SAMPLE = PlanState(sources=(DEFAULT_SAMPLE,))


@dataclass(frozen=True, kw_only=True)
class AppOptions:
    """What the command line may set; the rest is set in the planner.

    Args:
        start: every input. pins: the pins saved with a scenario.
        keys: action -> keys of the user's settings. vi: h, j, k, l move.
        tour: start with the guided tour, played with these options.
    """

    start: PlanState = ON_SAMPLE
    pins: tuple[Pin, ...] = ()
    glyphs: GlyphChoice = "auto"
    theme: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    vi: bool = False
    tour: TourOptions | None = None
