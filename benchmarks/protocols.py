"""How `accuracy.py` parts the runs of a table: which are fitted, and which are asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.profile import Run

TRAINING_SIZES = (3, 5, 7)
SAME_SIZE = 0.02
SPLITS = 5


def contexts(runs: Sequence[Run], *, sizes_apart: bool = False) -> list[list[Run]]:
    """Runs that differ in nodes (and, unless `sizes_apart`, size) alone; those of at least 5."""
    groups = _grouped(
        runs,
        lambda run: (
            *run.cluster.composition,
            parameters_of(run),
            run.workload.input_bytes if sizes_apart else None,
        ),
    )
    return [group for group in groups if len(group) >= 5]


def parameters_of(run: Run) -> tuple[object, ...]:
    return (run.workload.iterations, *sorted(run.workload.parameters.items()))


def trials(runs: Sequence[Run]) -> Iterator[tuple[str, list[Run], list[Run]]]:
    """(protocol, training runs, asked runs) of one context."""
    for place, run in enumerate(runs):
        yield "left out", [*runs[:place], *runs[place + 1 :]], [run]
    for count in TRAINING_SIZES:
        if len(runs) > count:
            places = a_optimal(runs, count)
            rest = [run for place, run in enumerate(runs) if place not in places]
            yield f"k={count}", [runs[place] for place in places], rest
    largest = max(run.cluster.nodes or 0 for run in runs)
    small = [run for run in runs if (run.cluster.nodes or 0) <= largest / 2]
    if len(small) >= 3:
        yield "extrapolation", small, [run for run in runs if run.cluster.nodes == largest]
    fewest = min(run.cluster.nodes or 0 for run in runs)
    one = [run for run in runs if run.cluster.nodes == fewest]
    more = [run for run in runs if run.cluster.nodes != fewest and _sized_as(run, one)]
    if more:
        yield "one count", one, more


def _sized_as(run: Run, others: Sequence[Run]) -> bool:
    """Whether one of the others read as much, within `SAME_SIZE`."""
    return any(abs(_size(other) / _size(run) - 1.0) <= SAME_SIZE for other in others)


def _size(run: Run) -> float:
    return run.workload.input_bytes or 1.0


def a_optimal(runs: Sequence[Run], count: int) -> list[int]:
    """Greedy A-optimal choice: each next run minimises trace((I + X'X)^-1) over Ernest's terms,
    each divided by its largest. With it Ernest's rows on c3o come out nearly as `PUBLISHED`: 9.3 /
    7.9 / 8.3 for 9.6 / 8.0 / 8.3, and with further terms 5.1 / 4.2 / 4.3 for 5.1 / 4.0 / 4.1."""
    machines = np.asarray([run.cluster.nodes or 0 for run in runs], dtype=float)
    size = np.asarray([_size(run) for run in runs])
    terms = np.stack((np.ones_like(machines), size / machines, np.log(machines), machines), axis=1)
    terms /= terms.max(axis=0)
    information, places = np.eye(4), list[int]()
    for _ in range(count):
        traces = {
            place: np.trace(np.linalg.inv(information + np.outer(row, row)))
            for place, row in enumerate(terms)
            if place not in places
        }
        places.append(min(traces, key=traces.__getitem__))
        information += np.outer(terms[places[-1]], terms[places[-1]])
    return places


def together(runs: Sequence[Run]) -> Iterator[tuple[str, list[Run], list[Run]]]:
    """(protocol, training runs, asked runs) of a job with all of its types and parameters."""
    random = np.random.default_rng(0)
    for _ in range(SPLITS):
        order = [runs[place] for place in random.permutation(len(runs))]
        cut = max(1, len(runs) // 10)
        yield "together", order[cut:], order[:cut]
    smallest = [min(runs, key=_size)]
    one_size = [run for run in runs if _sized_as(run, smallest)]
    larger = [run for run in runs if not _sized_as(run, smallest)]
    if larger and len(one_size) >= 3:
        yield "larger sizes", one_size, larger
    parameters = _grouped(runs, parameters_of)
    if len(parameters) < 2:
        return
    same = _grouped(
        runs, lambda run: (*run.cluster.composition, run.workload.input_bytes, parameters_of(run))
    )
    for protocol, groups in (("new context", same), ("new parameters", parameters)):
        for asked in groups:
            left_out = {id(run) for run in asked}
            yield protocol, [run for run in runs if id(run) not in left_out], asked


def workloads(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that differ in their configuration alone; those of at least 10 on several types."""
    groups = _grouped(runs, lambda run: (run.workload.input_bytes, parameters_of(run)))
    return [group for group in groups if len(group) >= 10]


def spread_design(runs: Sequence[Run], count: int, first: int) -> list[int]:
    """`count` configurations, each as far as can be from those before in cores, memory per core
    and size of machine."""
    kinds = [run.cluster.instance for run in runs]
    features = np.log(
        [
            ((run.cluster.nodes or 0) * kind.vcpus, kind.memory_gib / kind.vcpus, kind.vcpus)
            for run, kind in zip(runs, kinds, strict=True)
            if kind is not None
        ]
    )
    features = (features - features.mean(axis=0)) / np.maximum(features.std(axis=0), 1e-9)
    places = [first]
    while len(places) < count:
        apart = ((features[:, None] - features[places][None]) ** 2).sum(axis=-1).min(axis=1)
        places.append(int(np.argmax(apart)))
    return places


def _grouped(runs: Sequence[Run], key: Callable[[Run], object]) -> list[list[Run]]:
    groups: dict[object, list[Run]] = defaultdict(list)
    for run in runs:
        groups[key(run)].append(run)
    return list(groups.values())
