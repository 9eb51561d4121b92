"""When the nodes of a dependency graph may start."""

from __future__ import annotations

import math

from engine.scheduling.dependencies import Dependencies


def test_a_node_starts_its_delay_after_the_last_of_the_ends_before_it() -> None:
    """Ends may be told in any order: 2 waits for 0, which ends last, though 1 is told last."""
    graph = Dependencies([(), (), (0, 1)], [0.0, 3.0, 0.5])
    assert list(graph.started_by(1.0)) == [(0.0, 0)]
    assert graph.next_start == 3.0
    assert list(graph.started_by(3.0)) == [(3.0, 1)]
    assert graph.next_start == math.inf
    graph.end(0, 9.0)
    graph.end(1, 4.0)
    assert list(graph.started_by(9.4)) == []
    assert list(graph.started_by(9.5)) == [(9.5, 2)]


def test_what_ends_as_it_starts_lets_others_start_in_the_same_moment() -> None:
    """Moments such as a job's submission have no tasks."""
    graph = Dependencies([(), (0,), (1,)], [1.0, 0.0, 0.0])
    started = []
    for moment, index in graph.started_by(1.0):
        started.append(index)
        graph.end(index, moment)
    assert started == [0, 1, 2]
    assert not graph.upcoming
