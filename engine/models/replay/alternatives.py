"""What one log leaves open of its stages: the same run as it would be if something else were true.

What looks alike in a log need not be with another input. Splits that a program asked for stay as
many, where files become more; and files that nothing cuts may get larger instead. Of two inputs
that are paired one may stay, where pairs of both become as many as the square; and how much goes to
pairs is a guess, as is what of the driver's time goes to rows that it fetched. A replay holds one
thing, and its interval reaches what the others would take. More logs tell which it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import REACHED, Times
from engine.models.stages.fetched_rows import time_on_rows
from engine.models.stages.partitioned_stage import Growth
from engine.models.stages.task_times import StageShape


def alternatives_of(replay: Replay) -> tuple[Replay, ...]:
    """The replays of a log that hold the other, as far as its stages leave that open."""
    stay = _changed(replay, lambda shape: shape.may_stay, growth=Growth.WORK)
    both, one = (
        _changed(replay, lambda shape: shape.pairs_open, pairs_share=1.0, pairs_power=power)
        for power in (2.0, 1.0)
    )
    found = tuple(found for found in (stay, both, one) if found is not None)
    return (*found, *_other_driver(replay))


def _other_driver(replay: Replay) -> tuple[Replay, ...]:
    """The driver with less and with more of its time on rows that it fetched, where no other log
    says how that grows."""
    shares = time_on_rows(replay.run, replay.graph, replay.shapes)
    if not shares or replay.driver_growth:
        return ()
    low, high = ({p: getattr(s, end) for p, s in shares.items()} for end in ("low", "high"))
    return replace(replay, on_rows=low), replace(replay, on_rows=high)


def _changed(
    replay: Replay, is_open: Callable[[StageShape], bool], **changes: Any
) -> Replay | None:
    """The replay with what is open of its stages changed, in those too that have their partitions;
    None where nothing is."""
    changed, shapes = dict[int, StageShape](), []
    for shape in replay.shapes:
        new = replace(shape, **changes) if is_open(shape) else shape
        followed = shape.follows and changed.get(shape.follows.stage.stage_id)
        if followed:
            new = replace(new, follows=followed)
        if new is not shape:
            changed[shape.stage.stage_id] = new
        shapes.append(new)
    return replace(replay, shapes=tuple(shapes)).fresh() if changed else None


def reaching(held: Times, others: Sequence[Times]) -> FloatArray:
    """(n,) spread of log time with which a 90 % interval just reaches the other times: none is
    narrower, and one that reaches them anyhow is no wider."""
    apart = [np.abs(np.log(other.seconds / held.seconds)) for other in others]
    return REACHED * np.max(apart, axis=0, initial=0.0) if apart else np.zeros(len(held.seconds))
