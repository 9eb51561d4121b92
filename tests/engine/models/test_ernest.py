"""Ernest against the worked example of its reference implementation, and its extensions."""

import numpy as np
import pytest
from scipy.optimize import nnls

from engine.cluster import Cluster, NodeGroup, Workload
from engine.errors import BadInput, ModelDoesNotFit, UnknownName
from engine.models.base import FittedModel
from engine.models.curves.machines import fittable_tables
from engine.models.curves.terms import ERNEST_TERMS, EXTRA_TERMS, SERIAL_DATA, SQUARE_ROOT
from engine.models.ernest import Ernest, ErnestExtended, candidate_sets
from engine.profile import Profile, Run

# Binary classification on RCV1, r3.xlarge: cores, input fraction, seconds; machines are cores.
RCV1_TRAINING = [
    (32, 0.125, 7.94516801834),
    (4, 0.015625, 4.72029209137),
    (4, 0.021382, 4.87661099434),
    (12, 0.050164, 6.71376490593),
    (12, 0.055921, 6.71519398689),
    (12, 0.061678, 6.6739718914),
    (16, 0.061678, 6.83566999435),
]
MODELS = [Ernest(), ErnestExtended()]


def on(nodes: int, kind: str = "core") -> Cluster:
    return Cluster.of_nodes(instance_type=kind, nodes=nodes)


def profile_of(rows: list[tuple[int, float, float]], **workload: object) -> Profile:
    runs = tuple(
        Run(seconds, on(nodes), Workload(size, **workload)) for nodes, size, seconds in rows
    )
    return Profile("p", runs)


def grid_profile(law: object, *, sizes: tuple[float, ...] = (1.0, 2.0, 4.0)) -> Profile:
    rows = [(n, s, float(law(float(n), s))) for n in (2, 3, 4, 6, 8, 12, 16) for s in sizes]
    return profile_of(rows)


def codes(fitted: FittedModel, cluster: Cluster, workload: Workload | None = None) -> list[str]:
    return [w.code for w in fitted.predict(cluster=cluster, workload=workload).warnings]


def test_rcv1_in_any_unit_of_size() -> None:
    """Coefficients >= 0 do not depend on the unit of a column."""
    rows = [(n, fraction * 7.3e8, seconds) for n, fraction, seconds in RCV1_TRAINING]
    fitted = Ernest().fit(profile_of(rows), models={})
    found = fitted.predict(cluster=on(4), workload=Workload(7.3e8))
    assert found.seconds == pytest.approx(44.6515640166, rel=1e-8)


@pytest.mark.parametrize("model", MODELS[:1])
def test_of_a_time_that_a_fixed_part_would_outlast_it_is_said(model: Ernest) -> None:
    """Runs of 50 to 800 s that are off the law by a hundredth do not tell a second from nothing, so
    a few milliseconds are said to leave one out."""
    rows = [(1, 8.0, 801.0), (2, 8.0, 399.0), (4, 8.0, 201.0), (8, 8.0, 99.0), (2, 4.0, 202.0)]
    fitted = model.fit(profile_of([*rows, (4, 4.0, 98.0), (8, 4.0, 51.0)]), models={})
    assert "model-does-not-fit" not in codes(fitted, on(8), Workload(4.0))
    least = fitted.predict(cluster=on(64), workload=Workload(8e-4))
    assert least.seconds < 0.01
    assert least.high < 1.0
    assert least.warnings[0].code == "model-does-not-fit"
    assert "a fixed time of 1." in least.warnings[0].text


ROWS_OF_A_SORT = [
    (n, s, 20.0 + 300.0 * s * np.log2(1.0 + 1e6 * s) ** 2 / 400.0 / n + 5.0 * s)
    for n in (2, 3, 4, 6, 8, 12)
    for s in (0.01, 0.1, 1.0)
]


@pytest.mark.parametrize("iterations", [None, 1.0, 1.1], ids=["none", "alike", "each its own"])
def test_extended_terms_do_not_depend_on_the_unit_of_size(iterations: float | None) -> None:
    """Not even those that bend with the size."""
    found = []
    for unit in (1.0, 1e-6, 7.3e8):
        runs: list[Run] = []
        for place, (n, s, seconds) in enumerate(ROWS_OF_A_SORT):
            k = None if iterations is None else iterations**place
            row = (n, s * unit, seconds * (k or 1.0))
            runs += profile_of([row], iterations=k).runs
        fitted = ErnestExtended().fit(Profile("p", tuple(runs)), models={})
        workload = Workload(0.5 * unit, iterations)
        found.append(fitted.predict(cluster=on(16), workload=workload).seconds)
    assert found[1:] == pytest.approx([found[0]] * 2, rel=1e-6)


def test_left_out_runs_are_predicted_by_refits() -> None:
    fitted = Ernest().fit(profile_of(RCV1_TRAINING), models={})
    machines, size, seconds = np.array(RCV1_TRAINING).T
    features = np.stack([np.ones(7), size / machines, np.log(machines), machines], axis=1)
    expected = []
    for place in range(7):
        rest = np.arange(7) != place
        expected.append(features[place] @ nnls(features[rest], seconds[rest])[0])
    assert fitted.validation.predicted_seconds == pytest.approx(expected)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("theta", [(30, 400, 0, 0), (5, 900, 12, 0), (0, 300, 4, 1.5)])
def test_ernests_terms_are_found_again(
    model: Ernest | ErnestExtended, theta: tuple[float, float, float, float]
) -> None:
    def law(n: float, s: float) -> float:
        return theta[0] + theta[1] * s / n + theta[2] * np.log(n) + theta[3] * n

    fitted = model.fit(grid_profile(law), models={})
    found = fitted.predict(cluster=on(10), workload=Workload(3.0))
    assert found.seconds == pytest.approx(law(10, 3.0), rel=1e-6)


@pytest.mark.parametrize(
    "law",
    [
        lambda n, s: 10 + 50 * s / n + 8 * np.sqrt(n),
        lambda n, s: 20 + 100 * s / n + 15 * s,
        lambda n, s: 20 + 20 * s + 400 * s / n**2,
        lambda n, s: 10 + 3 * s * (20 + np.log2(s)) ** 2 / n,
    ],
    ids=["sqrt(n)", "serial data", "s / n^2", "n log^2 n"],
)
def test_the_extended_model_covers_what_ernest_cannot(law: object) -> None:
    profile = grid_profile(law)
    plain = Ernest().fit(profile, models={}).validation
    extended = ErnestExtended().fit(profile, models={}).validation
    assert extended.mean_relative_error < 0.01
    assert extended.mean_relative_error < 0.7 * plain.mean_relative_error


def test_a_parallel_part_that_only_grows_with_data_is_scaled_by_it() -> None:
    fitted = ErnestExtended().fit(grid_profile(lambda n, s: 60 * s / n + 3 * s), models={})
    found = fitted.predict(cluster=on(8), workload=Workload(40.0))
    assert found.seconds == pytest.approx(60 * 40 / 8 + 120, rel=1e-3)


def test_three_numbers_of_machines_get_the_default_terms_by_relative_error() -> None:
    """Against SciPy, each row divided by its time: on three points every shape would fit."""
    random = np.random.default_rng(3)
    rows = [
        (n, s, (20.0 + 900.0 * s / n**2) * random.uniform(0.8, 1.2))
        for n in (2, 4, 8)
        for s in (0.1, 1.0, 10.0)
    ]
    machines, size, seconds = np.asarray(rows).T
    scale = size / 10.0
    ones = np.ones(9)
    terms = [ones, scale / machines, np.log(machines), machines, np.sqrt(machines), scale]
    features = np.stack(terms, axis=1)
    coefficients, _ = nnls(features / seconds[:, None], ones)
    fitted = ErnestExtended().fit(profile_of(rows), models={})
    assert fitted.validation is not None
    for place, (n, s, _) in enumerate(rows):
        found = fitted.predict(cluster=on(n), workload=Workload(s))
        assert found.seconds == pytest.approx(features[place] @ coefficients, rel=1e-6)


def test_four_numbers_of_machines_tell_the_shapes_apart() -> None:
    rows = [(n, s, 20.0 + 900.0 * s / n**2) for n in (2, 4, 8, 16) for s in (0.1, 1.0, 10.0)]
    fitted = ErnestExtended().fit(profile_of(rows), models={})
    found = fitted.predict(cluster=on(6), workload=Workload(5.0))
    assert found.seconds == pytest.approx(20.0 + 900.0 * 5.0 / 36.0, rel=1e-3)


def test_terms_that_do_no_good_are_left_out() -> None:
    """The choice is among all sets of the four extra terms, the default first."""
    sets = candidate_sets(fittable_tables(grid_profile(lambda n, s: s / n).runs)[0])
    assert len(set(sets)) == len(sets) == 2 ** len(EXTRA_TERMS)
    assert all(mask[: len(ERNEST_TERMS)] == (True,) * len(ERNEST_TERMS) for mask in sets)
    select_candidate = [
        term for term, used in zip(ERNEST_TERMS + EXTRA_TERMS, sets[0], strict=True) if used
    ]
    assert select_candidate == [*ERNEST_TERMS, SQUARE_ROOT, SERIAL_DATA]


@pytest.mark.parametrize(
    ("power", "said"), [(1.0, []), (2.0, ["ernest"]), (3.0, ["ernest", "more"])]
)
def test_a_fall_is_too_steep_for_a_model_whose_terms_fall_less(
    power: float, said: list[str]
) -> None:
    """Ernest's terms fall as 1 / machines, those of the extended model as 1 / machines^2."""
    profile = grid_profile(lambda n, s: 5000.0 * s / n**power)
    found = []
    for name, model in (("ernest", Ernest()), ("more", ErnestExtended())):
        texts = [w.text for w in model.fit(profile, models={}).predict(cluster=on(8)).warnings]
        found += [name] * any("falls faster than" in text for text in texts)
    assert found == said


def test_iterations_scale_linearly_from_a_share_of_them() -> None:
    """Section 6.2: training on 5 % of the iterations, prediction scaled."""
    rows = [(n, 1.0, 4.0 + 80.0 / n) for n in (1, 2, 4, 8)]
    fitted = Ernest().fit(profile_of(rows, iterations=25.0), models={})
    found = fitted.predict(cluster=on(4), workload=Workload(1.0, 500.0))
    assert found.seconds == pytest.approx(20 * 24.0)
    assert found.forecast.log_scale[0] >= 0.35 * np.log2(20)
    assert "extrapolating-iterations" in [w.code for w in found.warnings]


def test_runs_of_the_wanted_iterations_are_fitted_alone() -> None:
    few = profile_of([(n, 1.0, 10.0 + 40.0 / n) for n in (1, 2, 4, 8)], iterations=10.0)
    many = profile_of([(n, 1.0, 11.0 + 50.0 / n) for n in (1, 2, 4, 8)], iterations=100.0)
    fitted = Ernest().fit(Profile("p", few.runs + many.runs), models={})
    found = fitted.predict(cluster=on(2), workload=Workload(1.0, 10.0))
    assert found.seconds == pytest.approx(30.0)


def test_the_extended_model_tells_once_from_every_iteration() -> None:
    runs = [
        run
        for k in (5.0, 10.0, 20.0, 40.0)
        for run in profile_of(
            [(n, 1.0, 30.0 + k * 16.0 / n) for n in (2, 4, 8, 16)], iterations=k
        ).runs
    ]
    fitted = ErnestExtended().fit(Profile("p", tuple(runs)), models={})
    found = fitted.predict(cluster=on(4), workload=Workload(1.0, 30.0))
    assert found.seconds == pytest.approx(30.0 + 120.0, rel=1e-3)
    assert found.low < found.seconds < found.high
    assert "extrapolating-iterations" not in [w.code for w in found.warnings]


@pytest.mark.parametrize(
    "ran",
    [
        [(2, 5), (4, 6), (8, 10), (16, 11), (2, 20), (8, 22), (4, 40), (16, 44), (2, 80)],
        [(2, 20), (4, 20), (8, 20), (16, 20), (2, 40), (8, 40)],
    ],
    ids=["each its own", "two numbers"],
)
def test_once_is_told_from_every_iteration_where_few_runs_share_theirs(
    ran: list[tuple[int, float]],
) -> None:
    """Where not three runs share their iterations, only terms in them tell."""
    runs = [
        profile_of([(n, 1.0, 30.0 + k * 16.0 / n)], iterations=float(k)).runs[0] for n, k in ran
    ]
    fitted = ErnestExtended().fit(Profile("p", tuple(runs)), models={})
    found = fitted.predict(cluster=on(4), workload=Workload(1.0, 30.0))
    assert found.seconds == pytest.approx(30.0 + 120.0, rel=1e-3)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_law_that_does_not_fit_is_said(model: Ernest | ErnestExtended) -> None:
    """Cached data fits from 8 nodes on: the time falls by ten from 6 to 8."""
    rows = [(n, 1.0, (4000.0 if n < 8 else 400.0) / n) for n in (2, 4, 6, 8, 10, 12)]
    fitted = model.fit(profile_of(rows), models={})
    warnings = [w for w in fitted.predict(cluster=on(9)).warnings if w.code == "model-does-not-fit"]
    assert any("from 6 to 8 nodes" in warning.text for warning in warnings)
    assert any("on average on runs it has not seen" in warning.text for warning in warnings)


def test_more_input_in_less_time_is_said() -> None:
    rows = [(n, s, 100.0 / n + 300.0 / s) for n in (2, 4, 8) for s in (1.0, 2.0, 4.0)]
    fitted = ErnestExtended().fit(profile_of(rows), models={})
    assert "model-does-not-fit" in codes(fitted, on(4))


def test_a_fitting_law_is_not_doubted() -> None:
    fitted = Ernest().fit(grid_profile(lambda n, s: 30 + 200 * s / n), models={})
    assert codes(fitted, on(8)) == []


def test_outside_the_measured_range_is_said_and_widened() -> None:
    random = np.random.default_rng(0)
    fitted = Ernest().fit(
        grid_profile(lambda n, s: (30 + 200 * s / n) * random.uniform(0.95, 1.05)), models={}
    )
    inside = fitted.predict(cluster=on(16), workload=Workload(4.0))
    more_nodes = fitted.predict(cluster=on(64), workload=Workload(4.0))
    more_data = fitted.predict(cluster=on(16), workload=Workload(16.0))
    assert [w.code for w in inside.warnings] == []
    assert [w.code for w in more_nodes.warnings] == ["extrapolating-nodes"]
    assert [w.code for w in more_data.warnings] == ["extrapolating-size"]
    for wide in (more_nodes, more_data):
        assert wide.forecast.log_scale[0] == pytest.approx(
            np.hypot(inside.forecast.log_scale[0], 2 * 0.10)
        )
        assert wide.forecast.dof[0] > inside.forecast.dof[0]


def test_one_number_of_nodes_says_little_about_others() -> None:
    rows = [
        (4, s, 10.0 + 20.0 * s * f) for s, f in ((1.0, 1.0), (2.0, 1.02), (4.0, 0.98), (8.0, 1))
    ]
    fitted = Ernest().fit(profile_of(rows), models={})
    doublings_outside = fitted.predict(cluster=on(8))
    assert "extrapolating-nodes" in [w.code for w in doublings_outside.warnings]
    assert doublings_outside.forecast.log_scale[0] >= 0.35


def test_few_configurations_do_not_fit() -> None:
    with pytest.raises(ModelDoesNotFit, match="2 configurations"):
        Ernest().fit(profile_of([(2, 1.0, 9.0), (4, 1.0, 5.0), (4, 1.0, 5.1)]), models={})


def test_three_configurations_give_a_time_without_an_interval() -> None:
    fitted = Ernest().fit(profile_of([(2, 1.0, 9.0), (4, 1.0, 5.0), (8, 1.0, 3.0)]), models={})
    found = fitted.predict(cluster=on(4))
    assert found.low is None
    assert "no-interval" in [w.code for w in found.warnings]


def test_no_runs_do_not_fit() -> None:
    with pytest.raises(ModelDoesNotFit, match="needs runs"):
        Ernest().fit(Profile("empty"), models={})


def with_parameters() -> Profile:
    runs = [
        run
        for k in (3.0, 5.0)
        for run in profile_of(
            [(n, s, k * (5.0 + 20.0 * s / n)) for n in (2, 4, 8) for s in (1.0, 2.0)],
            parameters={"k": k},
        ).runs
    ]
    return Profile("p", tuple(runs))


def test_only_runs_of_the_same_parameters_count() -> None:
    fitted = Ernest().fit(with_parameters(), models={})
    for k in (3.0, 5.0):
        found = fitted.predict(cluster=on(4), workload=Workload(2.0, parameters={"k": k}))
        assert found.seconds == pytest.approx(k * 15.0)


def test_runs_that_do_not_count_for_what_they_cost_are_said() -> None:
    """Of a table with a column of costs: it was "among 1 fitting run", of six."""
    rows = [(n, s, 5.0 + 20.0 * s / n) for n in (2, 4, 8) for s in (1.0, 2.0)]
    runs = [
        run for row in rows for run in profile_of([row], parameters={"cost": row[2], "k": 3.0}).runs
    ]
    with pytest.raises(ModelDoesNotFit) as refused:
        Ernest().fit(Profile("p", tuple(runs)), models={})
    assert refused.value.what.endswith(
        "at least 3 are needed: 5 of 6 runs differ in cost, and this model knows nothing of job "
        "parameters"
    )
    assert refused.value.remedy is not None
    assert refused.value.remedy.startswith("leave out what is no input of the job")


def test_what_other_runs_would_not_mend_is_not_laid_to_parameters() -> None:
    clusters = Cluster((NodeGroup(1), NodeGroup(2)))
    runs = (Run(9.0, clusters, Workload(1.0, parameters={"cost": cost})) for cost in (1.0, 2.0))
    with pytest.raises(ModelDoesNotFit) as refused:
        Ernest().fit(Profile("p", tuple(runs)), models={})
    assert str(refused.value) == "runs on clusters of mixed instance types cannot be fitted"


def test_parameters_left_open_are_those_of_the_largest_run() -> None:
    fitted = Ernest().fit(with_parameters(), models={})
    assert fitted.predict(cluster=on(4), workload=Workload(2.0)).seconds == pytest.approx(75.0)


def test_parameters_that_were_not_run_are_named() -> None:
    fitted = Ernest().fit(with_parameters(), models={})
    with pytest.raises(ModelDoesNotFit, match=r"no run has k = 4.*choices: 3, 5"):
        fitted.predict(cluster=on(4), workload=Workload(2.0, parameters={"k": 4.0}))
    with pytest.raises(UnknownName, match="unknown parameter 'kk'"):
        fitted.predict(cluster=on(4), workload=Workload(2.0, parameters={"kk": 4.0}))


def test_iterations_that_no_run_knows_are_refused() -> None:
    fitted = Ernest().fit(profile_of(RCV1_TRAINING), models={})
    with pytest.raises(BadInput, match="no run says its iterations"):
        fitted.predict(cluster=on(4), workload=Workload(1.0, 10.0))


def test_a_size_without_sizes_to_compare_is_refused() -> None:
    runs = tuple(Run(10.0 + 30.0 / n, on(n), Workload()) for n in (1, 2, 4, 8))
    fitted = Ernest().fit(Profile("p", runs), models={})
    with pytest.raises(BadInput, match="no run says its input size"):
        fitted.predict(cluster=on(4), workload=Workload(5.0))
    double = fitted.predict(cluster=on(4), workload=Workload(scale=2.0))
    assert double.seconds == pytest.approx(25.0)


def test_a_lever_that_the_model_lacks_is_said() -> None:
    fitted = Ernest().fit(profile_of(RCV1_TRAINING), models={})
    assert "not-modelled" in codes(fitted, on(4), Workload(0.1, shuffle_partitions=400))
