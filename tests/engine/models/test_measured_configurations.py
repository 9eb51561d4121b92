"""Configurations that were run, once or repeatedly."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sparkplan_runs import GRID, fit, nodes, noisy, run

from engine.cluster import Workload
from engine.models.laws.encoding import Rows
from engine.models.laws.measured_configurations import (
    leave_one_out_record,
    narrowed_where_measured,
    unrepeated_runs,
    unusual_runs,
    with_shared_sizes,
)
from engine.models.laws.model import TableModel
from engine.models.laws.weighted_fits import WeightedFit
from engine.models.workloads import with_defaults
from engine.profile import Profile, Run
from engine.runs.run_noise import Noise


def test_repetitions_count_once_and_their_noise_is_kept() -> None:
    random = np.random.default_rng(1)
    calm = fit(*(run(c, s) for c, s in GRID for _ in range(6)))
    loud = fit(*(noisy(run(c, s), 0.15, random) for c, s in GRID for _ in range(6)))
    assert len(calm.validation.actual_seconds) == 6 * len(GRID)
    assert len(set(calm.validation.predicted_seconds)) == len(GRID)
    widths = [model.predict(cluster=nodes(6)) for model in (calm, loud)]
    assert (widths[0].high or 0.0) / (widths[0].low or 1.0) < 1.3
    assert (widths[1].high or 0.0) / (widths[1].low or 1.0) > 1.5


def test_what_was_measured_is_about_as_sure_as_a_repetition() -> None:
    """Not so one node further, nor where repetitions differ; the time itself does not jump. How
    much surer hangs on what the runs' scatter looks like: on average of six."""
    relative = []
    for seed in range(3, 9):
        random = np.random.default_rng(seed)
        counts = (2, 3, 4, 6, 8, 12)
        calm = fit(*(noisy(run(count), 0.15, random) for count in counts))
        here, beside = (calm.predict(cluster=nodes(count)) for count in (6, 7))
        relative.append(here.forecast.log_scale[0] / beside.forecast.log_scale[0])
        assert here.seconds > beside.seconds
    assert np.mean(relative) < 0.9
    wild = fit(*(noisy(run(count), 0.4, random) for count in counts * 3)).predict(cluster=nodes(6))
    assert wild.forecast.log_scale[0] > 0.25


def test_what_was_measured_with_noise_is_as_unsure_as_the_noise() -> None:
    """Nothing repeated, runs that scatter by 8 %: the 90 % interval held 72 % of the next ones."""
    inside = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        plain = [run(count, size) for count in (2, 3, 4, 6, 8, 12) for size in (0.5, 1.0)]
        model = fit(*(noisy(one, 0.08, random) for one in plain))
        for one in [noisy(one, 0.08, random) for one in plain]:
            found = model.predict(cluster=one.cluster, workload=one.workload)
            inside.append((found.low or 0.0) <= one.seconds <= (found.high or 0.0))
    assert np.mean(inside) > 0.8


def test_the_noise_of_a_table_of_several_parameters_is_that_of_its_runs() -> None:
    """A fit of a type's runs of one parameter knows nothing of the others' noise."""
    random = np.random.default_rng(6)
    runs = [
        run(count, instance=kind, k=k)
        for kind in ("m", "c")
        for count in (2, 3, 4, 6, 8, 12)
        for k in (1.0, 4.0, 16.0)
    ]
    runs = [
        replace(one, seconds=one.seconds * float(np.exp(0.03 * x)))
        for one, x in zip(runs, random.normal(size=len(runs)), strict=True)
    ]
    profile = Profile("job", tuple(runs))
    wanted = with_defaults(profile.reference_workload, profile)
    assert TableModel("sparkplan", profile).parameter_fit(wanted).noise.scale < 0.06


def read_to(count: int, size: float, random: np.random.Generator) -> Run:
    """A run of about that size, as repetitions read it: up to 1 % more."""
    return noisy(run(count, size * float(random.uniform(1.0, 1.01))), 0.08, random)


def test_repetitions_that_do_not_read_the_same_to_a_byte_are_repetitions() -> None:
    """Taken for other configurations they predicted one another when left out, so that nothing
    seemed to be as far off as it is between them."""
    random = np.random.default_rng(3)
    model = fit(
        *(read_to(c, s, random) for c in (2, 4, 8, 16) for s in (0.5, 1.0) for _ in range(4))
    )
    assert len(set(model.validation.predicted_seconds)) == 8


def test_what_was_measured_with_nearly_the_same_input_was_measured() -> None:
    """How much surer hangs on what the runs' scatter looks like, and of one table on the random
    numbers (up to 1.4 times as wide): on average of six."""
    relative, nearer = [], []
    for seed in range(3, 9):
        random = np.random.default_rng(seed)
        model = fit(
            *(noisy(one, 0.15, random) for one in (run(count) for count in (2, 3, 4, 6, 8, 12)))
        )
        same, nearly, other = (
            model.predict(cluster=nodes(6), workload=Workload(size)).forecast.log_scale[0]
            for size in (1.0, 0.99, 0.9)
        )
        assert nearly < 1.25 * same
        relative.append(other / same)
        nearer.append(nearly / same)
    assert np.mean(nearer) < 1.05
    assert np.mean(relative) > 1.1


def test_sizes_that_were_run_once_stay_to_the_last_digit() -> None:
    sizes = np.asarray([0.1, 0.3, 1.0 / 3.0, 0.7, 0.7, 0.7])
    machines = np.asarray([2.0, 4.0, 4.0, 8.0, 8.0, 8.0])
    one, kind = np.ones(6), np.zeros(6, dtype=np.int64)
    rows = Rows(machines, one, one, sizes, one, kind, kind, np.zeros((6, 0)), one)
    assert with_shared_sizes(rows).size.tolist() == sizes.tolist()
    near = replace(rows, size=sizes * np.asarray([1.0, 1.0, 1.0, 1.0, 1.01, 1.02]))
    assert with_shared_sizes(near).size[3:] == pytest.approx([0.707] * 3)


def rows_at(machines: list[float], sizes: list[float]) -> Rows:
    one = np.ones(len(machines))
    kinds = np.zeros(len(machines), dtype=np.int64)
    none = np.zeros((len(one), 0))
    return Rows(np.asarray(machines), one, one, np.asarray(sizes), one, kinds, kinds, none, one)


def fit_of(rows: Rows, errors: list[float], counts: list[float] | None = None) -> Any:
    """What a fit says of its runs, each of which took `10 * (place + 1)` seconds."""
    places = {row.tobytes(): place for place, row in enumerate(rows.configurations)}
    return SimpleNamespace(
        rows=rows,
        log_seconds=np.log(10.0 * np.arange(1, len(rows) + 1)),
        run_weights=np.ones(len(rows)) if counts is None else np.asarray(counts),
        leave_one_out=SimpleNamespace(errors=np.asarray(errors)),
        indices_of=lambda asked: np.asarray([places[r.tobytes()] for r in asked.configurations]),
    )


def table_of(*seconds: float) -> Any:
    return SimpleNamespace(observed=[replace(run(2), seconds=one) for one in seconds])


FOUR = rows_at([2.0, 4.0, 8.0, 16.0], [1.0, 1.0, 1.0, 1.0])
THREE = FOUR.take(slice(3))


def test_an_unrepeated_run_is_named_and_repeated_ones_are_none() -> None:
    tables = [table_of(1.0, 2.0), table_of(3.0, 4.0)]
    found = unrepeated_runs(tables, np.asarray([1, 0, 2, 1]))
    assert [one and one.seconds for one in found] == [2.0, None, 3.0]


def test_an_outlier_has_the_least_weight_that_any_fit_gives_it() -> None:
    runs = [replace(run(2), seconds=one) for one in (10.0, 20.0)]
    joint = fit_of(FOUR, [0.1, 0.2, 0.3, 0.4], [1.0, 0.5, 0.4, 1.0])
    alone = fit_of(THREE.take(np.asarray([1, 0])), [0.7, 0.6], [0.3, 0.9])
    mild = fit_of(THREE.take(np.asarray([1])), [0.9], [0.35])
    untold = SimpleNamespace(**{**vars(alone), "leave_one_out": None, "run_weights": np.zeros(2)})
    found = unusual_runs([joint, alone, mild, untold], [*runs, None, run(2)])
    assert [(one.run, one.count) for one in found] == [(runs[0], 0.9), (runs[1], 0.3)]
    assert [one.times for one in found] == pytest.approx(np.exp([0.6, 0.7]).tolist())


def test_a_left_out_run_is_predicted_by_the_weighted_fits() -> None:
    """That of all runs and that of its own type; in the order of the runs, each with its own."""
    joint = fit_of(THREE, [0.1, 0.2, 0.3])
    alone = fit_of(THREE.take(np.asarray([2, 0])), [0.7, 0.5])
    shares = [[WeightedFit(joint, 0.25), WeightedFit(alone, 0.75)], [WeightedFit(joint, 1.0)]]
    found = leave_one_out_record(
        shares, [table_of(31.0, 11.0), table_of(12.0, 21.0)], np.asarray([2, 0, 0, 1])
    )
    third, first = 30.0 * np.exp(-0.25 * 0.3 - 0.75 * 0.7), 10.0 * np.exp(-0.25 * 0.1 - 0.75 * 0.5)
    assert found.predicted_seconds == pytest.approx((third, first, first))
    assert found.actual_seconds == (31.0, 11.0, 12.0), "no type of its own predicts the last"


def test_where_no_type_has_enough_runs_all_predict_a_left_out_one() -> None:
    joint = fit_of(THREE, [0.1, np.nan, 0.3], [1.0, 1.0, 0.2])
    tables, places = [table_of(11.0, 21.0, 31.0)], np.arange(3)
    found = leave_one_out_record([[WeightedFit(joint, 1.0)]], tables, places)
    assert found.predicted_seconds == pytest.approx((10.0 * np.exp(-0.1),))
    assert found.actual_seconds == (11.0,), "neither what is not known nor an unusual run"
    assert (
        leave_one_out_record([[WeightedFit(fit_of(THREE, [np.nan] * 3), 1.0)]], tables, places)
        is None
    )
    joint.leave_one_out = None
    assert leave_one_out_record([[WeightedFit(joint, 1.0)]], tables, places) is None


def test_an_outlier_of_either_fit_has_no_left_out_error() -> None:
    joint = fit_of(THREE, [0.1, 0.2, 0.3], [0.9, 1.0, 1.0])
    alone = fit_of(THREE, [0.1, 0.2, 0.3], [1.0, 0.9, 1.0])
    shares = [[WeightedFit(joint, 0.5), WeightedFit(alone, 0.5)]]
    found = leave_one_out_record(shares, [table_of(11.0, 21.0, 31.0)], np.arange(3))
    assert found.actual_seconds == (31.0,)


def test_only_where_it_was_measured_is_a_time_as_sure_as_a_repetition() -> None:
    """At the nearest size that is the same; by the noise of two runs, and as far as it misses."""
    fit_here = fit_of(rows_at([4.0, 4.0, 4.0, 8.0], [1.0, 1.04, 2.0, 1.0]), [0.0] * 4)
    fit_here.rows.type_index[3] = 1
    asked = rows_at([4.0, 4.0, 4.0, 4.0, 8.0, 8.0, 8.0], [1.01, 1.03, 1.1, 2.0, 1.0, 1.0, 1.0])
    asked.type_index[4:] = 0, 1, -1  # the last of a type that was not measured
    measured = np.log([10.0, 20.0, np.nan, 30.0, np.nan, 40.0, np.nan])
    missed = np.asarray([0.3, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0])
    mean = np.where(np.isnan(measured), 1.0, measured) - missed
    told = mean, np.repeat([[0.15], [0.5]], 7, axis=1), np.full(7, 3.0)
    found, (below, above), dof = narrowed_where_measured(fit_here, Noise(0.1, 9.0), asked, told)
    assert found.tolist() == mean.tolist()
    surer = [np.hypot(np.sqrt(2.0) * 0.1, 0.3), np.sqrt(2.0) * 0.1]
    assert above == pytest.approx([*surer, 0.5, 0.5, 0.5, surer[1], 0.5])
    assert below == pytest.approx([0.15, surer[1], 0.15, 0.15, 0.15, surer[1], 0.15])
    assert dof.tolist() == [9.0, 9.0, 3.0, 3.0, 3.0, 9.0, 3.0]
