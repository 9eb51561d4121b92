"""How sure several logs are: the prior's interval, scaled by what left-out logs show of it."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from depth import cases
from made_runs import BLOCK, Job, Stage, observed
from sparkplan_runs import codes, executors, fit, run_of, width

from engine.cluster import Workload
from engine.models.base import Prediction
from engine.models.replay.model import ReplayModel
from engine.models.replay.priors import LOG_NOISE
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit
from engine.profile import Run

PLACES = [(4, 0.5), (4, 1.0), (8, 0.5), (8, 1.0), (4, 2.0)]


def of(*runs: Run) -> ReplayModel:
    found = fit(*runs)
    assert isinstance(found, ReplayModel)
    return found


def logs(*slow: float) -> list[Run]:
    """One log at each of the first places, all of whose tasks took so many times as long."""
    return [run_of(*place, slow=times) for place, times in zip(PLACES, slow, strict=False)]


def ask(model: ReplayModel, *, slots: int = 8, scale: float = 2.0) -> Prediction:
    size = run_of(4, scale).workload.input_bytes
    assert size is not None
    return model.predict(cluster=executors(slots), workload=Workload(size))


def test_one_log_has_the_prior_alone() -> None:
    found = of(*logs(1.0))
    assert (found.factor, found.validation) == (1.0, None)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_logs_that_predict_each_other_are_as_sure_as_the_prior(count: int) -> None:
    """Where they were observed; what they narrow is what lies between them."""
    found = of(*logs(*[1.0] * count))
    assert found.factor == 1.0
    assert width(ask(found)) < width(ask(of(*logs(1.0))))


def test_logs_that_contradict_each_other_are_less_sure() -> None:
    agreeing, contradicting = of(*logs(1.0, 1.0, 1.0, 1.0)), of(*logs(1.0, 1.6, 0.7, 1.0))
    assert contradicting.factor > 1.3
    assert width(ask(contradicting)) > 1.3 * width(ask(agreeing))


def test_errors_count_by_what_was_expected_of_them() -> None:
    """An error of a fifth says more between neighbours than over three doublings."""
    near = of(run_of(4, 1.0), run_of(4, 1.1, slow=1.2))
    far = of(run_of(4, 0.5), run_of(4, 4.0, slow=1.2))
    assert near.factor > 1.2
    assert far.factor == 1.0


def test_the_order_of_logs_does_not_matter() -> None:
    runs = logs(1.0, 1.3, 0.8)
    factors = [of(*order).factor for order in permutations(runs)]
    assert factors == pytest.approx([factors[0]] * len(factors), rel=1e-9)


def test_a_repetition_is_no_further_configuration() -> None:
    runs = logs(1.0, 1.3, 0.8)
    assert of(*runs, runs[1]).factor == pytest.approx(of(*runs).factor, rel=0.01)


def test_the_interval_holds_the_next_run() -> None:
    """Of jobs whose runs vary as the prior expects, between logs, where nothing else is open."""
    random, held = np.random.default_rng(3), []
    for _ in range(cases(30, deep=60)):
        times = np.exp(LOG_NOISE * random.standard_normal(5))
        found = ask(of(*logs(*times[:4])), slots=8, scale=1.0)
        assert found.high is not None
        held.append(found.low <= run_of(8, 1.0, slow=times[4]).seconds <= found.high)
    assert np.mean(held) >= 0.8


def test_what_one_number_of_slots_of_one_machine_took_is_doubtful_of_another() -> None:
    """The wanted number's own log counts for more, and the interval is wider."""
    runs = [run_of(4, 0.5), run_of(8, 1.0, slow=1.2)]
    local = [
        replace(run, config={**run.config, "spark.master": "local-cluster[8,1,1024]"})
        for run in runs
    ]
    of_cluster, of_machine = (ask(of(*logs), slots=4, scale=1.0) for logs in (runs, local))
    assert of_machine.seconds < 0.99 * of_cluster.seconds
    assert width(of_machine) > 1.05 * width(of_cluster)


def iterated(iterations: int, *, blocks: int = 16) -> Run:
    """A stage and a second of the driver in each iteration."""
    stages = [
        Stage(
            np.full(16, 2.0), job=place, input_bytes=0.0 if place else blocks * BLOCK, more=REPEATED
        )
        for place in range(iterations)
    ]
    jobs = [Job(() if place == 0 else (place - 1,), 1.0) for place in range(iterations)]
    return replace(
        observed(stages, jobs, slots=4), workload=Workload(blocks * BLOCK, iterations=iterations)
    )


REPEATED = {"name": "map at job.py:7"}


def test_logs_of_other_iterations_foretell_each_other_by_these() -> None:
    """In five iterations 45 s, in twenty four times as long."""
    few, many = iterated(5), iterated(20)
    both = of(few, many)
    assert both.factor == 1.0
    assert both.validation.predicted_seconds == pytest.approx((few.seconds, many.seconds), rel=0.03)
    for log in (few, many):
        found = both.predict(cluster=executors(4), workload=log.workload)
        assert width(found) < 0.5
        assert "extrapolating-iterations" not in codes(found.warnings)


def test_the_driver_of_other_iterations_does_not_show_what_grows_with_the_input() -> None:
    few, same, many = iterated(5), iterated(5, blocks=64), iterated(20, blocks=64)
    one, grown, longer = (Replay.of(run) for run in (few, same, many))
    assert pair_fit(one, grown).driver == pytest.approx((3.0, 0.0))
    assert pair_fit(one, longer).driver == (0.0, 0.0)
