"""The ranges of the goal's sliders: by the plan, by evidence whose plan is still being built, or
none."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.state import PlanState, evidence_key
from tui.views.goal import Ranges

if TYPE_CHECKING:
    from engine import Profile
    from tui.answers import Answer, BuiltPlan

NOTHING_KNOWN = Ranges(known=frozenset())
"""The ranges before anything is read."""


class SliderRanges:
    """The ranges by the last plan, and by what has been read since."""

    def __init__(self) -> None:
        self._planned = NOTHING_KNOWN
        self._planned_sources: frozenset[str] = frozenset()
        self._read = NOTHING_KNOWN
        self._read_key: Hashable = None

    def of(self, state: PlanState) -> Ranges:
        """The ranges for a state. Those of evidence that is not open any more say nothing about it:
        a deadline out of them would count as chosen."""
        return self._read if self._read_key == evidence_key(state) else self._planned_for(state)

    def _planned_for(self, state: PlanState) -> Ranges:
        """The ranges of the plan as long as some of its evidence is open: they stay while logs are
        added to it, or read again."""
        is_open = not self._planned_sources.isdisjoint(state.sources)
        return self._planned if is_open else NOTHING_KNOWN

    def set_read(self, state: PlanState, profile: Profile) -> None:
        """Set the ranges that the evidence alone gives: of the deadline and the data size. A budget
        needs a cost."""
        if run := profile.largest_run:
            before, self._read_key = self._planned_for(state), evidence_key(state)
            self._read = replace(
                before,
                seconds=run.seconds,
                input_size=run.workload.input_bytes,
                unit=profile.input_unit,
                known=before.known | {"deadline"},
            )

    def set_planned(self, state: PlanState, built: BuiltPlan, answer: Answer | None) -> None:
        """Set the ranges by a plan for new evidence."""
        run, best = built.profile.largest_run, answer.best if answer else None
        self._planned_sources, self._read_key = frozenset(state.sources), None
        self._planned = Ranges(
            seconds=run.seconds if run else (best.seconds if best else Ranges.seconds),
            usd=best.cost_usd if best and best.cost_usd else Ranges.usd,
            input_size=run.workload.input_bytes if run else None,
            unit=built.profile.input_unit,
        )

    def rename_sources(self, names: Mapping[str, str]) -> None:
        """Follow renamed sources; old name -> new name."""
        self._planned_sources = frozenset(names.get(each, each) for each in self._planned_sources)
