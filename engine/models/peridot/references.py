"""Which runs of a profile are PERIDOT's references, and their stage groups side by side (IV-A)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.catalog import InstanceType
from engine.cluster import Workload
from engine.errors import ModelDoesNotFit
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.peridot.stage_groups import StageGroup, matched_groups, stage_groups
from engine.models.stages.data_shape import application_family
from engine.models.workloads import logs_of, sharing_parameters
from engine.notices import Notice
from engine.profile import Profile, Run, completed_runs
from engine.runs.configurations import configurations, size_levels
from engine.units import format_number, format_share

MATCHING_SHARE = 0.5
"""Runs of which less of the stages' time matches than this are not the same application."""

_OTHER_MODELS = "use --model sparkplan"


@dataclass(frozen=True, eq=False)
class References:
    """r reference runs at equal cores, and the g stage groups that all of them have.

    Args:
        runs: the references, in order of size.
        elsewhere: runs of the same application on other cores: no references, but tests.
        groups: (g,) the groups as the largest reference has them.
        partitions, group_seconds, gap_seconds: (r, g) of each group in each reference; the gap is
            the time since the group before (what no matched group covers).
    """

    runs: tuple[Run, ...]
    elsewhere: tuple[Run, ...]
    groups: tuple[StageGroup, ...]
    partitions: FloatArray
    group_seconds: FloatArray
    gap_seconds: FloatArray
    notices: tuple[Notice, ...] = ()

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def every_run(self) -> tuple[Run, ...]:
        """References and tests."""
        return (*self.runs, *self.elsewhere)

    @property
    def cores(self) -> int:
        """E of Eq. 1: task slots of every reference."""
        return self.runs[0].cluster.slots or 1

    @property
    def instance(self) -> InstanceType | None:
        """The type that they ran on, None where it is not known."""
        return self.runs[0].cluster.instance

    @property
    def workload(self) -> Workload:
        """That of the largest reference; iterations and parameters are those of all."""
        return self.runs[-1].workload

    @cached_property
    def sizes(self) -> FloatArray:
        """(r,) input of each reference."""
        return np.asarray([run.workload.input_bytes for run in self.runs], dtype=float)

    @cached_property
    def seconds(self) -> FloatArray:
        """(r,) T: time of each reference from end to end."""
        return np.asarray([run.seconds for run in self.runs])

    @cached_property
    def configurations(self) -> IntArray:
        """(k,) configuration of each run, the references first, then those elsewhere."""
        return configurations((*self.runs, *self.elsewhere))

    @cached_property
    def variable(self) -> BoolArray:
        """(g,) which groups process other numbers of partitions for other inputs (IV-A): those of
        some two sizes share no number between their least and their most. What differs between
        repetitions of one size alone does not come from the input."""
        levels = size_levels(self.sizes)
        same = [self.partitions[levels == level] for level in np.unique(levels)]
        least = np.asarray([rows.min(axis=0) for rows in same])
        most = np.asarray([rows.max(axis=0) for rows in same])
        return np.asarray(least.max(axis=0) > most.min(axis=0))


def find_references(profile: Profile) -> References:
    """The references of a profile.

    Of several clusters that could serve the one with the widest range of sizes does.

    Raises:
        ModelDoesNotFit: with one line on what is missing, when there are none.
    """
    logs = logs_of(profile.runs)
    _check_one_application(logs)
    runs = _usable(logs)
    clusters: dict[tuple[int | None, str | None], list[Run]] = {}
    for run in runs:
        key = (run.cluster.slots, run.cluster.instance_name)
        clusters.setdefault(key, []).append(run)
    chosen = max(clusters.values(), key=lambda group: (_range(group), len(group)))
    if _one_size(chosen):
        raise _no_pair(runs, clusters)
    chosen = sorted(chosen, key=_size)
    cores, here = chosen[0].cluster.slots, chosen[0].cluster.instance
    elsewhere = [run for run in runs if run.cluster.slots != cores and run.cluster.instance == here]
    return _side_by_side(tuple(chosen), tuple(elsewhere))


def _usable(logs: Sequence[Run]) -> list[Run]:
    """Of runs that tell stages and slots those with a size; those that did all their work, or at
    least came to their end, where there are enough of them."""
    if not logs:
        raise ModelDoesNotFit(
            "peridot needs two event logs, and here is no run that shows its stages",
            remedy="give the logs of two runs of the application, on equal cores, with inputs of "
            f"different size, or {_OTHER_MODELS}",
        )
    sized = [run for run in logs if run.workload.input_bytes]
    if len(logs) > 1 and not sized:
        raise ModelDoesNotFit(
            "peridot compares runs by their input, and no log says how much was read",
            remedy=f"write input_size into a profile of them, or {_OTHER_MODELS}",
        )
    if len(sized) < 2:
        raise ModelDoesNotFit(
            "peridot needs two reference runs, and here is one",
            remedy="add the log of a run on the same cores with an input of another size, or "
            f"{_OTHER_MODELS}",
        )
    ended = [run for run in sized if run.complete]
    enough = (runs for runs in (completed_runs(sized), ended) if not _one_size(runs))
    sized = next(enough, sized)
    reference = max(sized, key=_size).workload
    sharing = sharing_parameters(sized, reference.parameters)
    return [run for run in sharing if run.workload.iterations == reference.iterations]


def _check_one_application(runs: Sequence[Run]) -> None:
    """Raises ModelDoesNotFit for logs of several applications (`application_family`)."""
    names = {run.application: None for run in runs if run.application}
    if len({application_family(run) for run in runs if run.application}) > 1:
        shown = ", ".join(list(names)[:3]) + (", ..." if len(names) > 3 else "")
        raise ModelDoesNotFit(
            f"the logs are of different applications ({shown}), and peridot compares runs of one",
            remedy="give logs of one application at a time",
        )


def _no_pair(
    runs: Sequence[Run], clusters: dict[tuple[int | None, str | None], list[Run]]
) -> ModelDoesNotFit:
    """Why no two runs serve: other cores, other types, or one size."""
    if _one_size(runs):
        return ModelDoesNotFit(
            "peridot needs references of two input sizes, and all runs here read about the same",
            remedy=f"add the log of a run with, say, half the input, or {_OTHER_MODELS}",
        )
    counts = sorted({slots or 0 for slots, _ in clusters})
    where = (
        f"on different numbers of cores ({', '.join(map(str, counts))})"
        if len(counts) > 1
        else "on different instance types"
    )
    return ModelDoesNotFit(
        f"peridot needs references of two input sizes on equal cores; these ran {where}",
        remedy=f"add a log of another input size on the cores of one of them, or {_OTHER_MODELS}",
    )


def _side_by_side(runs: tuple[Run, ...], elsewhere: tuple[Run, ...]) -> References:
    groups = [stage_groups(run) for run in runs]
    indices = matched_groups(groups)
    _check_matching(runs, groups, indices)
    columns = [
        [groups[row][index] for index in chosen]
        for row, chosen in enumerate(zip(*indices, strict=True))
    ]
    ends = np.asarray([[group.end_seconds for group in row] for row in columns])
    starts = np.asarray([[group.start_seconds for group in row] for row in columns])
    before = np.concatenate((np.zeros((len(runs), 1)), ends[:, :-1]), axis=1)
    return References(
        runs,
        elsewhere,
        groups=tuple(columns[-1]),
        partitions=np.asarray([[float(group.partitions) for group in row] for row in columns]),
        group_seconds=ends - starts,
        gap_seconds=starts - before,
        notices=_unmatched(runs, groups, indices),
    )


def _check_matching(
    runs: Sequence[Run], groups: Sequence[Sequence[StageGroup]], indices: Sequence[tuple[int, ...]]
) -> None:
    for row, run in enumerate(runs):
        total = sum(group.seconds for group in groups[row])
        same = sum(groups[row][chosen[row]].seconds for chosen in indices)
        if not indices or same < MATCHING_SHARE * total:
            other = runs[0] if row else runs[-1]
            raise ModelDoesNotFit(
                f"the stages of {run.source or 'a run'} and {other.source or 'another'} do not "
                f"match: {len(indices)} groups with {format_share(same / total if total else 0.0)} "
                "of its stages' time are the same",
                remedy=f"give logs of the same code on inputs of other sizes, or {_OTHER_MODELS}",
            )


def _unmatched(
    runs: Sequence[Run], groups: Sequence[Sequence[StageGroup]], indices: Sequence[tuple[int, ...]]
) -> tuple[Notice, ...]:
    """What to say of groups that not all references have."""
    unmatched = []
    for row, run in enumerate(runs):
        known = {chosen[row] for chosen in indices}
        left = [group for index, group in enumerate(groups[row]) if index not in known]
        if left:
            seconds = sum(group.seconds for group in left)
            unmatched.append(
                f"{len(left)} of {len(groups[row])} in {run.source or 'a run'} "
                f"({format_number(seconds)} s, first {left[0].name})"
            )
    if not unmatched:
        return ()
    shown = "; ".join(unmatched[:3]) + ("; ..." if len(unmatched) > 3 else "")
    return (
        Notice(
            "groups-do-not-match",
            f"stage groups without a counterpart in the other references: {shown}; their time "
            "counts as fixed",
            "give references large enough that Spark plans them alike",
        ),
    )


def _size(run: Run) -> float:
    return run.workload.input_bytes or 0.0


def _one_size(runs: Sequence[Run]) -> bool:
    """Whether all runs, if any, are of one size."""
    return not size_levels(np.asarray([_size(run) for run in runs])).any()


def _range(runs: Sequence[Run]) -> float:
    """Largest input over smallest."""
    sizes = [_size(run) for run in runs]
    return max(sizes) / min(sizes)
