"""The terms of Ernest's law and its extensions: their values, and that more data is never less."""

import numpy as np
import pytest

from engine.cluster import Cluster, Workload
from engine.models.curves.terms import (
    ERNEST_TERMS,
    EXTRA_TERMS,
    memory_pressure,
    parallel,
    per_machine,
    quasi_linear,
    serial,
    serial_data,
    square_root,
    tree_aggregation,
)
from engine.models.ernest import Ernest, ErnestExtended
from engine.models.model import Model
from engine.profile import Profile, Run


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (serial, 1.0),
        (parallel, 0.125),
        (tree_aggregation, np.log(4.0)),
        (per_machine, 4.0),
        (square_root, 2.0),
        (serial_data, 0.5),
        (memory_pressure, 0.5 / 16.0),
        (quasi_linear, 0.125 * (np.log2(500001.0) / np.log2(1000001.0)) ** 2),
    ],
)
def test_terms(term: object, value: float) -> None:
    found = term(np.array([4.0]), np.array([0.5]))
    assert found == pytest.approx(value)


@pytest.mark.parametrize("term", ERNEST_TERMS + EXTRA_TERMS, ids=lambda term: term.name)
def test_terms_never_fall_with_the_scale_and_are_never_negative(term: object) -> None:
    machines = np.array([0.25, 1.0, 2.0, 100.0])
    for small, large in ((0.01, 0.02), (0.5, 1.0), (1.0, 50.0)):
        low = term.of(machines, np.full(4, small))
        high = term.of(machines, np.full(4, large))
        assert (low >= 0.0).all()
        assert (high >= low).all()


@pytest.mark.parametrize("model", [Ernest(), ErnestExtended()], ids=lambda model: model.name)
def test_repetitions_are_left_out_together(model: Model) -> None:
    """A repetition of what was seen tests nothing."""
    runs = tuple(
        Run(
            seconds,
            Cluster.of_nodes(instance_type="m", nodes=2**k, vcpus=4.0, memory_gib=16.0),
            Workload(1.0),
        )
        for k, seconds in enumerate((110.0, 58.0, 40.0, 24.0, 21.0))
    )
    once, twice = (
        model.fit(Profile("job", own), models={}).validation for own in (runs, (*runs, *runs))
    )
    assert twice.predicted_seconds == pytest.approx(once.predicted_seconds * 2)
