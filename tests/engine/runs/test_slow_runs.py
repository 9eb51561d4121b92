"""Runs in which something went wrong, told from others of the same."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from engine import fit
from engine.cluster import Cluster, Workload
from engine.evidence import left_out_runs
from engine.experiments.belief import belief_at
from engine.experiments.known_runs import lessons_of
from engine.experiments.points import Points
from engine.models.base import Prediction
from engine.profile import Profile, Run
from engine.runs.slow_runs import (
    SuspectedOutlier,
    excluded_runs,
    slow_notices,
    unusual_notices,
    without,
)


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
    found = excluded_runs(runs(n2=(330.0, 335.0, 760.0), **CALM))
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
    assert excluded_runs(runs(**{**CALM, **times})) == []


def test_it_takes_odds_of_ten_and_a_quarter_longer() -> None:
    """Two runs of 100 s and a third: a Student law of noise against one of 1.25 to 4 times."""
    for times in np.arange(1.05, 2.0, 0.005):
        found = bool(excluded_runs(runs(n4=(100.0, 100.0, 100.0 * times))))
        logs = np.array([0.0, 0.0, math.log(times)])
        near = logs[logs <= math.log(1.25)]
        dof = 4.0 + len(near) - 1.0
        scale = math.sqrt((4.0 * 0.02**2 + near.var() * len(near)) / dof * 1.5)
        wrong = 0.02 / math.log(4.0 / 1.25) / (0.98 * t.pdf(logs[2], dof, scale=scale))
        assert found == (times >= 1.25 and wrong > 10.0)


def test_a_fifth_longer_is_usual_however_alike_the_others_are() -> None:
    assert excluded_runs(runs(n4=(*np.linspace(100.0, 100.2, 40), 120.0))) == []


def test_noise_is_seldom_taken_for_it() -> None:
    """Not one of a thousand runs of tables that scatter by 2 to 20 %."""
    random = np.random.default_rng(0)
    found = 0
    for scatter in (0.02, 0.05, 0.1, 0.2):
        for _ in range(100):
            drawn = 100.0 * np.exp(scatter * random.normal(size=(6, 3)))
            found += len(
                excluded_runs(runs(**{f"n{k}": tuple(row) for k, row in enumerate(drawn, 1)}))
            )
    assert found < 7


def test_one_run_of_each_of_two_configurations_hides_neither() -> None:
    found = excluded_runs(
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
        belief_at(fit(Profile("job", made)), asked) for made in ((*calm, *slow), tuple(calm))
    )
    assert found.noise[0] == usual.noise[0]
    assert found.mean[0] == usual.mean[0]
    assert found.covariance[0, 0] == usual.covariance[0, 0]


def test_made_once_it_is_no_reason_for_another_run_either() -> None:
    """What is believed of a place is about as sure as if it had not been made."""
    every = runs(**{f"n{n}": (2.0 * t if n == 6 else t,) for n, t in LAW.items()})
    calm = [run for run in every if run.cluster.nodes != 6]
    clusters = [Cluster.of_nodes(instance_type="m", nodes=n, vcpus=4.0) for n in (5, 6, 9)]
    asked = Points.of(clusters, [Workload(1.0)] * 3, Profile("job", tuple(calm)))
    found, usual = (belief_at(fit(Profile("job", tuple(made))), asked) for made in (every, calm))
    assert found.mean == pytest.approx(usual.mean, abs=0.05)
    assert np.all(found.deviation < 1.3 * usual.deviation)


def test_repetitions_are_enough_or_not_without_it() -> None:
    (known,) = lessons_of(Profile("job", tuple(runs(n4=(100.0, 101.0, 300.0)))))
    assert (known.runs, known.repeated, known.settled) == (3, 2, True)


def test_one_line_names_the_run_or_their_number() -> None:
    every = runs(n2=(330.0, 335.0, 760.0), n4=(180.0, 183.0, 400.0))
    both = excluded_runs(every)
    assert slow_notices(both)[0].text.startswith("2 runs took up to 2.3 times as long")
    assert slow_notices(both[:1])[0].text.startswith("one run took 2.3 times as long")
    assert slow_notices([]) == []
    assert len(without(every, both)) == 4


def test_times_of_hundreds_are_written_out() -> None:
    """A run that hung over night was said to have taken "1.5e+02 times as long"."""
    made = runs(n2=(330.0, 335.0, 50_000.0))
    assert "took 150 times as long" in slow_notices(excluded_runs(made))[0].text
    unusual = [SuspectedOutlier(made[2], 1520.0, 0.0), SuspectedOutlier(made[0], 2.23, 0.0)]
    text = unusual_notices(unusual)[0].text
    assert text.startswith(
        "the run of 50,000 s and the run of 330 s took 2.2 to 1,500 times as long"
    )


def test_so_much_more_input_than_was_run_is_written_out() -> None:
    """ "(1e+03 times the most)" was said of a thousand times the input."""
    places = [Cluster.of_nodes(instance_type="m4.large", nodes=nodes, vcpus=2, memory_gib=8.0)
              for nodes in (2, 4, 8)]  # fmt: skip
    made = [Run(60.0 + 9000.0 / (place.nodes or 1), place, Workload(10e9)) for place in places]
    asked = fit(Profile("made", tuple(made))).predict(cluster=places[0], workload=Workload(1e13))
    (said,) = [one.text for one in asked.warnings if one.code == "memory-not-proven"]
    assert "(1,000 times the most)" in said


def test_a_run_is_named_by_where_it_stands() -> None:
    (made,) = runs(n4=(300.0,))
    named = [replace(made, source=source) for source in ("runs.csv:4", "jobs/runs.csv:5")]
    said = unusual_notices([SuspectedOutlier(run, 2.0, 0.0) for run in (*named, made)])[0].text
    assert said.startswith("runs.csv:4, runs.csv:5 and the run of 300 s took 2 times as long")


def test_a_run_that_counts_for_less_is_named() -> None:
    made = runs(n4=(300.0,), n6=(50.0,), n8=(210.0,), n9=(220.0,))
    assert unusual_notices([]) == []
    (one,) = unusual_notices([SuspectedOutlier(made[0], 2.23, 0.001)])
    assert one.code == "unusual-run"
    assert one.text == (
        "the run of 300 s took 2.2 times as long as the other runs predict, as if something went "
        "wrong: counted for next to nothing"
    )
    others = zip(made, (2.23, 0.5, 1.6, 1.8), (0.001, 0.02, 0.05, 0.01), strict=True)
    (several,) = unusual_notices([SuspectedOutlier(*one) for one in others])
    assert several.text == (
        "the run of 300 s, the run of 50 s and 2 more took 0.5 to 2.2 times as long as the other "
        "runs predict, as if something went wrong: counted as at most 0.05 of a run"
    )


LAW = {n: 40.0 + 900.0 / n for n in (2, 3, 4, 6, 8, 10, 12, 16)}


def answered(times: dict[int, float], asked: int) -> tuple[Prediction, list[str]]:
    """What the default model says of so many nodes, and of unusual runs."""
    made = runs(**{f"n{n}": (t,) for n, t in times.items()})
    found = fit(Profile("job", tuple(made)))
    cluster = Cluster.of_nodes(instance_type="m", nodes=asked, vcpus=4.0)
    said = [notice.text for notice in found.fit_notices if notice.code == "unusual-run"]
    assert found.runs_used(Workload(1.0)) == len(times)
    return found.predict(cluster=cluster), said


@pytest.mark.parametrize(
    "wrong", [{6: 2.0}, {10: 1.6}, {4: 2.5, 12: 1.7}], ids=["slow", "half as long again", "two"]
)
def test_a_run_in_which_something_went_wrong_hardly_counts(wrong: dict[int, float]) -> None:
    """Beside it, where it had moved the time by a fifth and more, and the bounds by a half."""
    usual, nothing = answered(LAW, 7)
    assert nothing == []
    found, said = answered({n: t * wrong.get(n, 1.0) for n, t in LAW.items()}, 7)
    assert len(said) == 1
    assert found.seconds == pytest.approx(usual.seconds, rel=0.05)
    assert found.high / found.low < 1.3 * usual.high / usual.low


@pytest.mark.parametrize("hardest", [1, 2, 3])
def test_the_hardest_runs_may_meet_a_memory_cliff(hardest: int) -> None:
    small = sorted(LAW)[:hardest]
    _, said = answered({n: t * (2.5 if n in small else 1.0) for n, t in LAW.items()}, 7)
    assert said == []


def test_data_that_just_fits_beside_a_steep_cliff_is_no_wrong_run() -> None:
    """Ten times the time on 2 and 3 nodes, and on 4 as if there were no cliff."""
    _, said = answered({n: t * (10.0 if n < 4 else 1.0) for n, t in LAW.items()}, 7)
    assert said == []


def test_few_runs_all_count() -> None:
    few = {n: LAW[n] for n in (2, 4, 6, 8, 12)}
    assert answered({**few, 6: 2.0 * few[6]}, 7)[1] == []


def test_made_twice_it_counts() -> None:
    made = runs(**{f"n{n}": (t,) for n, t in LAW.items() if n != 6}, n6=(380.0, 384.0))
    found = fit(Profile("job", tuple(made)))
    assert "unusual-run" not in [notice.code for notice in found.fit_notices]


def test_a_scatter_of_runs_is_seldom_taken_for_it() -> None:
    """Tables of twelve runs that scatter by 2 to 15 %: one of forty may name one."""
    random = np.random.default_rng(0)
    named = 0
    for scatter in (0.02, 0.04, 0.08, 0.15):
        for _ in range(10):
            noise = np.exp(scatter * random.normal(size=12)).tolist()
            nodes = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
            law = zip(nodes, noise, strict=True)
            named += len(answered({n: (40.0 + 900.0 / n) * e for n, e in law}, 7)[1])
    assert named <= 1


def test_left_out_predictions_are_of_runs_not_of_configurations() -> None:
    """A table of repetitions: each run has its own pair, as in the other models."""
    profile = Profile("job", tuple(runs(n32=(40.0, 41.0), n2=(330.0, 335.0, 341.0), **CALM)))
    found = left_out_runs(profile, fit(profile).validation)
    assert len(found) == len(profile.runs)
    assert all(pair.run is not None for pair in found)
    assert len({pair.estimated_seconds for pair in found}) == 5


def test_what_went_wrong_in_a_named_run_is_no_error_of_the_model() -> None:
    """Eight runs, one of them twice as long: the mean left-out error is that of the other seven."""
    made = {n: 2.0 * t if n == 6 else t for n, t in LAW.items()}
    found = fit(Profile("job", tuple(runs(**{f"n{n}": (t,) for n, t in made.items()}))))
    assert len(found.validation.actual_seconds) == len(LAW) - 1
    assert made[6] not in found.validation.actual_seconds
    assert found.validation.mean_relative_error < 0.05


def test_a_run_is_named_where_its_parameters_are_asked() -> None:
    """Beside a larger input with other parameters whose runs scatter so much that all together
    doubt none."""
    scatter = np.exp(0.2 * np.random.default_rng(2).normal(size=len(LAW))).tolist()
    calm = {n: 2.0 * t if n == 6 else t for n, t in LAW.items()}
    wild = {n: 3.0 * t * e for (n, t), e in zip(LAW.items(), scatter, strict=True)}
    made = [
        replace(run, workload=Workload(size, parameters={"k": k}))
        for size, k, times in ((1.0, 1.0, calm), (2.0, 50.0, wild))
        for run in runs(**{f"n{n}": (t,) for n, t in times.items()})
    ]
    found = fit(Profile("job", tuple(made)))
    cluster = Cluster.of_nodes(instance_type="m", nodes=7, vcpus=4.0)
    told = [
        [one.code for one in found.predict(cluster=cluster, workload=workload).warnings]
        for workload in (Workload(1.0, parameters={"k": 1.0}), None)
    ]
    assert [codes.count("unusual-run") for codes in told] == [1, 0]
