"""The advice speaks of the choice that is recommended, whatever the goal; it says what that rests
on."""

from functools import cache

import numpy as np
import pytest
from depth import DEEP

from engine import fit, load_catalog, read
from engine.batch import ClusterBatch
from engine.catalog import Catalog
from engine.choosing.recommendation import Choice
from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.experiments.advice import Advice, advise
from engine.experiments.belief import LARGEST_SPREAD, SMALLEST_SPREAD
from engine.forecast import Forecast
from engine.models.base import FittedModel
from engine.optimiser import recommend
from engine.profile import Profile, Run

TYPES = ["m5.*", "c5.*", "r5.*", "m4.*"]

GOALS = [
    (deadline, budget)
    for row, deadline in enumerate((None, 5.0, 30.0, 120.0, 3600.0))
    for place, budget in enumerate((None, 0.00001, 0.03, 0.06, 5.0))
    if DEEP or (row - place) % 5 in (0, 4)  # each twice: none of both, both out of reach, ...
]


@cache
def aws() -> Catalog:
    return load_catalog("aws")


@cache
def fitted_to(source: str, model: str) -> FittedModel:
    return fit(read(source), model=model)


def both(
    source: str, model: str, deadline: float | None, budget: float | None
) -> tuple[Advice, Choice]:
    """The advice for a goal, and what is recommended for it (or misses it least)."""
    fitted, catalog = fitted_to(source, model), aws()
    advice = advise(
        fitted, catalog=catalog, instances=TYPES, deadline_seconds=deadline, budget_usd=budget
    )
    goal = {"deadline_seconds": deadline, "budget_usd": budget}
    objective = "cost" if goal == {"deadline_seconds": None, "budget_usd": None} else None
    answer = recommend(fitted, catalog=catalog, instances=TYPES, objective=objective, **goal)
    choice = answer.recommended or answer.nearest
    assert choice is not None
    assert advice.meets_goal == (answer.recommended is not None)
    return advice, choice


@pytest.mark.parametrize(("deadline", "budget"), GOALS)
def test_now_is_what_is_recommended_or_misses_the_goal_least(
    deadline: float | None, budget: float | None
) -> None:
    """Also where the budget is out of reach by far more than the deadline: what is nearest then is
    not among the fastest, which are not all that is weighed."""
    advice, choice = both("nightly-features", "sparkplan", deadline, budget)
    assert (advice.instance, advice.nodes) == (choice.instance, choice.nodes)
    assert advice.seconds == pytest.approx(choice.seconds, rel=1e-6)
    assert (advice.low, advice.high) == pytest.approx((choice.low, choice.high), rel=1e-6)
    assert advice.usd == pytest.approx(choice.cost_usd, rel=1e-6)
    assert (advice.p_deadline is None) == (deadline is None)


@pytest.mark.parametrize("deadline", [None, 40.0, 240.0])
def test_without_an_interval_none_is_made_up(deadline: float | None) -> None:
    """A published job profile gives a time alone: its choice has no interval and no probability,
    before a run and after, and the advice says what its savings assume."""
    advice, choice = both("optex-als-yarn", "optex", deadline, None)
    assert choice.low is None
    assert (advice.instance, advice.nodes) == (choice.instance, choice.nodes)
    assert (advice.low, advice.high, advice.p_deadline) == (None, None, None)
    assert advice.next_runs
    assert all((run.then_low, run.then_high) == (None, None) for run in advice.next_runs)
    codes = [notice.code for notice in advice.notices]
    assert codes.count("no-interval") == codes.count("assumed-spread") == 1
    (said,) = (notice for notice in advice.notices if notice.code == "assumed-spread")
    assert "1.4" in said.text
    assert {notice.remedy for notice in advice.notices if "-interval" in notice.code} == {
        said.remedy
    }
    assert said.remedy == "add more runs, or use --model sparkplan"


@pytest.mark.parametrize("source", ["sort-large", "nightly-features"])
def test_the_advice_says_what_the_recommendation_says(source: str) -> None:
    fitted, catalog = fit(read(source)), load_catalog("aws")
    advice = advise(fitted, catalog=catalog, instances=TYPES, deadline_seconds=120.0)
    answer = recommend(fitted, catalog=catalog, instances=TYPES, deadline_seconds=120.0)
    said = {(notice.code, notice.text) for notice in advice.notices}
    wanted = (*answer.warnings, *answer.recommended.warnings)
    assert said == {(notice.code, notice.text) for notice in wanted}
    assert "single-run" in {code for code, _ in said}


def test_runs_are_listed_by_what_they_save_per_dollar() -> None:
    advice = advise(
        fit(read("sort-large")), catalog=load_catalog("aws"), instances=TYPES, deadline_seconds=30.0
    )
    gains = [run.gain_usd or 0.0 for run in advice.next_runs]
    per_dollar = [gain / run.usd for gain, run in zip(gains, advice.next_runs, strict=True)]
    assert per_dollar == sorted(per_dollar, reverse=True)
    assert gains != sorted(gains, reverse=True), "else it tells nothing"


def test_a_chance_of_all_outcomes_that_are_weighed_is_not_told_as_certain() -> None:
    advice = advise(
        fit(read("sort-large")), catalog=load_catalog("aws"), instances=TYPES, deadline_seconds=30.0
    )
    assert advice.changes == 1.0
    assert advice.reason.endswith("(greatest chance: more than 99 %)")


def priced(*names: str | None) -> Profile:
    """Runs on 1, 2 and 4 nodes of each type, with the price of a node."""
    clusters = [
        Cluster.of_nodes(
            instance_type=name, nodes=nodes, vcpus=4, memory_gib=16.0, price_usd_per_hour=0.2
        )
        for name in names
        for nodes in (1, 2, 4)
    ]
    return Profile("made", tuple(Run(400.0 / (c.nodes or 1), c, Workload(1e9)) for c in clusters))


def test_types_of_a_run_table_are_named_by_patterns() -> None:
    fitted = fit(priced("m4.large", "m4.xlarge", "c4.large"))

    def named(*patterns: str) -> set[str | None]:
        advice = advise(fitted, catalog=None, instances=patterns, nodes=(1, 2, 4))
        return {run.instance for run in advice.next_runs}

    assert named("m4.*") == {"m4.large", "m4.xlarge"}
    assert named("*.large", "c4.large") == {"m4.large", "c4.large"}
    with pytest.raises(BadInput, match=r"no run is of a type 'r5\.\*'.*--catalog"):
        named("m4.*", "r5.*")


def test_without_a_catalog_none_is_made_up_either() -> None:
    fitted = fit(priced("m4.large"), model="ernest")
    advice = advise(fitted, catalog=None, nodes=(1, 2, 4), deadline_seconds=300.0)
    assert (advice.low, advice.high, advice.p_deadline) == (None, None, None)
    assert "no-interval" in [notice.code for notice in advice.notices]


@pytest.mark.parametrize("log_scale", [0.3 * SMALLEST_SPREAD, 1.3 * LARGEST_SPREAD])
def test_now_has_the_interval_that_is_predicted_however_wide(
    log_scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was cut to the spreads that beliefs are computed of."""
    fitted = fit(priced("m4.large"))
    forecast = type(fitted).forecast

    def of_that_scale(self: FittedModel, batch: ClusterBatch, workload: Workload) -> Forecast:
        return forecast(self, batch, workload).rescaled(lambda s: np.full_like(s, log_scale))

    monkeypatch.setattr(type(fitted), "forecast", of_that_scale)
    advice = advise(fitted, catalog=None, nodes=(1, 2, 4), deadline_seconds=300.0)
    clusters = [run.cluster for run in fitted.profile.runs]
    (chosen,) = [one for one in clusters if one.nodes == advice.nodes]
    predicted = fitted.predict(cluster=chosen)
    assert (advice.low, advice.high) == pytest.approx((predicted.low, predicted.high))
    assert advice.p_deadline == pytest.approx(predicted.forecast.p_within(300.0)[0])


def test_prices_without_types_are_no_prices_of_types() -> None:
    runs = tuple(
        Run(400.0 / nodes, Cluster.of_nodes(instance_type=None, nodes=nodes), Workload(1e9))
        for nodes in (1, 2, 4)
    )
    with pytest.raises(BadInput, match=r"needs prices.*instance_type"):
        advise(fit(Profile("made", runs)), catalog=None, nodes=(1, 2))
