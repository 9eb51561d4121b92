"""What the planner starts with: the options of the command line as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.state import AS_RUN, AS_TOLD, NO_LIMITS, Job, Limits, PlanState, Terms
from tui.widgets.glyphs import GlyphChoice

if TYPE_CHECKING:
    from tui.pins import Pin
    from tui.tour.guide import TourOptions

DEFAULT_SAMPLE = "nightly-features"
"""What opens when no source is named: many tasks of a second or more, so that nodes matter."""


@dataclass(frozen=True, kw_only=True)
class AppOptions:
    """What the command line may set; the rest is set in the planner.

    Args:
        keys: action -> keys that the user chose. vi: h, j, k, l move.
        start: every input at once, in place of the others: a scenario. pins: those kept with it.
        tour: begins with the guided walkthrough, played so.
    """

    sources: tuple[str, ...] = ()
    ran_on: str | None = None
    catalog: str | None = None
    terms: Terms = AS_TOLD
    model: str = "sparkplan"
    job: Job = AS_RUN
    instances: tuple[str, ...] = ()
    deadline_seconds: float | None = None
    budget_usd: float | None = None
    max_nodes: int = 64
    confidence: float = 0.9
    spot: bool = False
    mix: int = 2
    limits: Limits = NO_LIMITS
    glyphs: GlyphChoice = "auto"
    theme: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    vi: bool = False
    start: PlanState | None = None
    pins: tuple[Pin, ...] = ()
    tour: TourOptions | None = None

    def state(self) -> PlanState:
        """The state that the planner starts with."""
        if self.start is not None:
            return self.start
        return PlanState(
            sources=self.sources or (DEFAULT_SAMPLE,),
            ran_on=self.ran_on,
            catalog=self.catalog,
            terms=self.terms,
            model=self.model,
            job=self.job,
            instances=self.instances,
            deadline_seconds=self.deadline_seconds,
            deadline_chosen=self.deadline_seconds is not None,
            budget_usd=self.budget_usd,
            max_nodes=self.max_nodes,
            confidence=self.confidence,
            spot=self.spot,
            mix=self.mix,
            limits=self.limits,
        )
