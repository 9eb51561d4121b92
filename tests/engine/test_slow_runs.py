"""Runs in which something went wrong, told from others of the same."""

from __future__ import annotations

import numpy as np
import pytest

from engine import fit
from engine.belief import Points, believe
from engine.cluster import Cluster, Workload
from engine.evidence import left_out_runs
from engine.profile import Profile, Run
from engine.slow_runs import slow_notices, slow_runs, unusual_notices, without
from engine.training import lessons_of


def runs(**times: tuple[float, ...]) -> list[Run]:
    """Times by number of nodes, as `n4=(...)`."""
    return [
        Run(
            seconds,
            Cluster.of_nodes(instance_type="m", nodes=int(name[1:]), vcpus=4.0),
            Workload(1.0),
        )
        for name, several in times.items()
        for seconds in several
    ]


CALM = {"n4": (180.0, 181.0), "n8": (105.0, 106.0), "n16": (67.0, 68.0)}


def test_a_run_of_three_that_took_twice_as_long_is_found() -> None:
    found = slow_runs(runs(n2=(330.0, 335.0, 760.0), **CALM))
    assert [(one.run.seconds, round(one.times, 2)) for one in found] == [(760.0, 2.29)]


@pytest.mark.parametrize(
    "times",
    [
        {"n2": (330.0, 760.0)},
        {"n2": (330.0, 335.0, 390.0)},
        {"n2": (330.0, 740.0, 760.0)},
        {"n2": (150.0, 335.0, 340.0)},
        {"n2": (330.0, 470.0, 760.0), "n4": (120.0, 250.0, 390.0), "n8": (60.0, 90.0, 180.0)},
    ],
    ids=["one of two", "little", "two of three", "faster", "all scatter"],
)
def test_what_may_be_usual_stays(times: dict[str, tuple[float, ...]]) -> None:
    assert slow_runs(runs(**{**CALM, **times})) == []


def test_noise_is_seldom_taken_for_it() -> None:
    """Not one of a thousand runs of tables that scatter by 2 to 20 %."""
    random = np.random.default_rng(0)
    found = 0
    for scatter in (0.02, 0.05, 0.1, 0.2):
        for _ in range(100):
            drawn = 100.0 * np.exp(scatter * random.normal(size=(6, 3)))
            found += len(slow_runs(runs(**{f"n{k}": tuple(row) for k, row in enumerate(drawn, 1)})))
    assert found < 7


def test_one_run_of_each_of_two_configurations_hides_neither() -> None:
    found = slow_runs(
        runs(n2=(330.0, 335.0, 760.0), n4=(180.0, 183.0, 400.0), n8=(105.0, 106.0, 107.0))
    )
    assert [one.run.seconds for one in found] == [760.0, 400.0]


def test_it_moves_neither_the_times_nor_the_intervals_and_is_said() -> None:
    calm = runs(n2=(330.0, 335.0), **CALM)
    slow = runs(n2=(760.0,))
    found = fit(Profile("job", (*calm, *slow))).predict(cluster=calm[0].cluster)
    usual = fit(Profile("job", tuple(calm))).predict(cluster=calm[0].cluster)
    assert (found.seconds, found.low, found.high) == (usual.seconds, usual.low, usual.high)
    assert [notice.code for notice in found.warnings if notice.code == "slow-runs"]
    assert "slow-runs" not in [notice.code for notice in usual.warnings]


def test_it_is_no_reason_for_another_run() -> None:
    """What is believed of a place, and so what a run there is worth, is as without it."""
    calm = runs(n2=(330.0, 335.0), **CALM)
    slow = runs(n2=(760.0,))
    asked = Points.of([calm[0].cluster], [Workload(1.0)], Profile("job", tuple(calm)))
    found, usual = (
        believe(fit(Profile("job", made)), asked) for made in ((*calm, *slow), tuple(calm))
    )
    assert found.noise[0] == usual.noise[0]
    assert found.mean[0] == usual.mean[0]
    assert found.covariance[0, 0] == usual.covariance[0, 0]


def test_repetitions_are_enough_or_not_without_it() -> None:
    (known,) = lessons_of(Profile("job", tuple(runs(n4=(100.0, 101.0, 300.0)))))
    assert (known.runs, known.repeated, known.settled) == (3, 2, True)


def test_one_line_names_the_run_or_their_number() -> None:
    every = runs(n2=(330.0, 335.0, 760.0), n4=(180.0, 183.0, 400.0))
    both = slow_runs(every)
    assert slow_notices(both)[0].text.startswith("2 runs took up to 2.3 times as long")
    assert slow_notices(both[:1])[0].text.startswith("one run took 2.3 times as long")
    assert slow_notices([]) == []
    assert len(without(every, both)) == 4


HARD = ~np.eye(8, dtype=bool)


def test_a_run_made_once_that_stands_out_is_named() -> None:
    made = runs(**{f"n{n}": (100.0 + n,) for n in range(2, 10)})
    errors = np.asarray([0.02, -0.03, 0.01, 0.8, -0.02, 0.03, 0.0, -0.01])
    (notice,) = unusual_notices(made, errors, HARD)
    assert notice.code == "unusual-run"
    assert notice.text == "the run of 105 s took 2.2 times as long as the other runs foretell"


@pytest.mark.parametrize("why", ["usual", "fast", "repeated", "the hardest", "few"])
def test_a_run_that_may_be_right_is_not_named(why: str) -> None:
    made: list[Run | None] = [*runs(**{f"n{n}": (100.0 + n,) for n in range(2, 10)})]
    errors = np.asarray([0.02, -0.03, 0.01, 0.8, -0.02, 0.03, 0.0, -0.01])
    hard = HARD.copy()
    if why == "usual":
        errors = np.asarray([0.4, -0.3, 0.5, 0.8, -0.6, 0.3, -0.2, -0.1])
    elif why == "fast":
        errors = -errors
    elif why == "repeated":
        made[3] = None
    elif why == "the hardest":
        hard[3] = False
    else:
        made, errors, hard = made[:5], errors[:5], hard[:5, :5]
    assert unusual_notices(made, errors, hard) == []


def test_the_default_model_names_it_and_still_counts_it() -> None:
    """Twice the time of the law on 6 nodes, where 4 and 8 are as it says."""
    times = {n: 40.0 + 900.0 / n for n in (2, 3, 4, 6, 8, 10, 12, 16)}
    calm = fit(Profile("job", tuple(runs(**{f"n{n}": (t,) for n, t in times.items()}))))
    assert [notice for notice in calm.fit_notices if notice.code == "unusual-run"] == []
    times[6] *= 2.0
    found = fit(Profile("job", tuple(runs(**{f"n{n}": (t,) for n, t in times.items()}))))
    said = [notice.text for notice in found.fit_notices if notice.code == "unusual-run"]
    assert len(said) == 1
    assert said[0].startswith("the run of 380 s took ")
    assert found.runs_used(Workload(1.0)) == len(times)


def test_left_out_predictions_are_of_runs_not_of_configurations() -> None:
    """A table of repetitions: each run has its own pair, as in the other models."""
    profile = Profile("job", tuple(runs(n32=(40.0, 41.0), n2=(330.0, 335.0, 341.0), **CALM)))
    found = left_out_runs(profile, fit(profile).validation)
    assert len(found) == len(profile.runs)
    assert all(pair.run is not None for pair in found)
    assert len({pair.estimated_seconds for pair in found}) == 5
