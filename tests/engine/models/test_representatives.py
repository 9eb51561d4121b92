"""Representative jobs, Table V, and real logs through the command."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from logged_runs import INIT, RUNS, codes, estimated, fit, on, one, stage

import engine
from engine.cluster import Workload
from engine.given_profiles import Operation, OptexProfile
from engine.models.optex.job_profiles import with_job_profiles
from engine.models.optex.model import (
    PHASE_COMMUNICATION,
    PHASE_EXECUTION,
    PHASE_INIT,
    PHASE_PREP,
    PHASE_SHARING,
)
from engine.models.optex.representatives import (
    confidence_half_width,
    expected_time,
    representative_confidence,
    several_representatives_notice,
    variance_of_time,
)
from engine.profile import Profile
from tui.cli import main

# Representative jobs


def mixed(*operations: str, job: OptexProfile | None = None) -> Profile:
    """A job profile, and one log of another application."""
    stages = tuple(stage("x", name, sql_execution_id=1) for name in operations)
    target = replace(RUNS[1], application="target", stages=stages)
    return Profile("p", (target,), "mllib", (job or one(*RUNS),))


def test_operations_that_the_profile_lacks_are_said() -> None:
    notices = fit(mixed("map", "zip", "fold")).fit_notices
    (notice,) = (n for n in notices if n.code == "not-representative")
    assert "2 of 3 unit operations of target are not in als: zip, fold" in notice.text
    assert "not-representative" not in codes(fit(mixed("MAP", "distinct")).fit_notices)


def test_iterating_otherwise_is_said() -> None:
    profile = mixed("map", job=replace(one(*RUNS), iterative=False))
    assert any("iterates" in notice.text for notice in fit(profile).fit_notices)


def test_the_profile_of_the_right_category_is_taken() -> None:
    mllib, sql = one(*RUNS), replace(one(*RUNS, category="sql"), t_init_seconds=500.0)
    found = fit(Profile("p", category="mllib", optex=(sql, mllib))).predict(cluster=on(1))
    assert found.phases[PHASE_INIT] == pytest.approx(INIT)
    other = fit(Profile("p", category="graphx", optex=(sql,)))
    assert "category sql" in other.fit_notices[0].text


def test_representatives_do_not_answer_for_the_target_with_their_own_runs() -> None:
    """Runs of the representative job beside one of the target make no joint fit of Eq. 8."""
    measured = with_job_profiles(Profile("als", tuple(RUNS), "mllib"))
    target = replace(mixed("map").runs[0], workload=Workload(2.0, 5))
    fitted = fit(replace(measured, runs=(*measured.runs, target)))
    assert fitted.predict(cluster=on(3)).seconds == pytest.approx(estimated(3, 5, 2.0), rel=1e-3)


def test_several_representatives_answer_with_their_mean_and_confidence() -> None:
    job = one(*RUNS)
    others = [replace(job, t_init_seconds=INIT + more, application=None) for more in (0, 6, 12)]
    found = fit(Profile("p", optex=tuple(others))).predict(cluster=on(1), workload=Workload(1.0, 1))
    assert found.seconds == pytest.approx(estimated(1, 1, 1.0) + 6.0, rel=1e-4)
    (notice,) = (n for n in found.warnings if n.code == "several-representatives")
    mean = f"the mean of 3 job profiles: {found.seconds:.4g} s"
    assert f"{mean}, standard deviation 6 s" in notice.text
    assert f"{1.96 * 6 / 3**0.5:.3g} s" in notice.text


def test_hours_of_several_representatives_are_written_out() -> None:
    """ "1.2e+04 s, standard deviation 2e+03 s" was said."""
    text = several_representatives_notice(np.array([10_000.0, 12_000.0, 14_000.0])).text
    assert "job profiles: 12,000 s, standard deviation 2,000 s" in text
    assert "e+" not in text


# Table V: (standard deviation, variance, mean, confidence) of MLlib, Streaming, SQL, GraphX,
# standalone and on YARN

TABLE_5 = [
    (0.373, 0.139, 1.106, 0.183), (0.265, 0.07, 5.7, 2.794), (1.96, 3.85, 32.63, 0.96),
    (8.348, 69.696, 26.687, 4.38), (0.702, 0.493, 2.279, 0.344), (2.85, 8.15, 13.275, 1.4),
    (3.263, 10.65, 48.88, 0.087), (5.86, 34.4, 53.0, 2.874),
]  # fmt: skip


def test_confidence_of_table_5() -> None:
    """1.96 sd / sqrt(16) to 0.005 in the five cells that obey any law; variance is sd squared."""
    halves = [confidence_half_width(standard_deviation=row[0], choices=16) for row in TABLE_5]
    agree = [abs(half - row[3]) <= 0.005 for half, row in zip(halves, TABLE_5, strict=True)]
    assert sum(agree) == 5
    for deviation, variance, *_ in TABLE_5:
        assert deviation**2 == pytest.approx(variance, rel=0.005)


# Table III(i): mean relative errors of PageRank, WordCount, LR and ALS, standalone and on YARN
TABLE_3I = [0.019, 0.036, 0.020, 0.094, 0.012, 0.087, 0.086, 0.126]


def test_statistics_of_table_3i() -> None:
    """Mean and standard deviation are as printed; the printed 95 % confidence (0.056 to 0.062) is a
    tenth of what eight such values have."""
    found = representative_confidence(np.asarray(TABLE_3I))
    assert found.mean == pytest.approx(0.06)
    assert found.standard_deviation == pytest.approx(0.04, abs=0.005)
    assert found.half_width == pytest.approx(10.0 * (0.062 - 0.056) / 2.0, abs=0.0005)


def test_confidence_of_known_times() -> None:
    found = representative_confidence(np.asarray([1.0, 3.0]))
    assert (found.mean, found.variance) == pytest.approx((2.0, 2.0))
    assert found.half_width == pytest.approx(1.96)


def test_taylor_moments_against_sampling() -> None:
    """T = 49 + 488 / n about n = 20 with sigma 1: to 3 % of what sampling finds."""
    random = np.random.default_rng(0).normal(20.0, 1.0, 400_000)
    times = 49.0 + 488.0 / random
    mean = expected_time(time=49.0 + 488.0 / 20, second_derivative=2 * 488.0 / 20**3, variance=1.0)
    variance = variance_of_time(first_derivative=-488.0 / 20**2, variance=1.0)
    assert mean == pytest.approx(times.mean(), rel=1e-3)
    assert variance == pytest.approx(times.var(), rel=0.03)
    printed = variance_of_time(first_derivative=-1.22, variance=4.0, printed=True)
    assert printed == pytest.approx(1.22**2)


# Real logs, through the command


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Mapping[str, Any]:
    assert main([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_bundled_logs_to_a_job_profile_and_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = str(tmp_path / "als.yaml")
    logs = ["movie-als-small", "movie-als-large"]
    assert main(["profile", *logs, "--optex", "-o", written]) == 0
    assert "default-coefficients" in capsys.readouterr().err
    again = str(tmp_path / "again.yaml")
    assert main(["profile", written, "-o", again]) == 0
    assert Path(again).read_text() == Path(written).read_text()
    asked = ["--model", "optex", "--nodes", "10", "--iterations", "20"]
    stored = answer(capsys, "predict", written, *asked)
    direct = answer(capsys, "predict", *logs, *asked)
    assert stored["seconds"] == pytest.approx(direct["seconds"], rel=1e-9)
    assert sum(stored["phases"].values()) == pytest.approx(stored["seconds"])
    assert [*stored["phases"]] == [
        PHASE_INIT, PHASE_PREP, PHASE_SHARING, PHASE_COMMUNICATION, PHASE_EXECUTION
    ]  # fmt: skip
    fewer = answer(capsys, "predict", written, *asked[:-1], "10")
    assert fewer["seconds"] < stored["seconds"]


@pytest.mark.parametrize(
    "name",
    ["word-count-large", "sort-small", "sales-report-small", "pagerank-small", "nightly-features"],
)
def test_a_bundled_log_alone_gives_its_own_time_again(name: str) -> None:
    (run,) = engine.read(name).runs
    fitted = engine.fit(Profile(name, (run,)), model="optex")
    assert fitted.predict(cluster=run.cluster).seconds == pytest.approx(run.seconds, rel=1e-3)


def test_operations_of_a_bundled_log() -> None:
    (job,) = with_job_profiles(engine.read("word-count-small")).optex
    assert {operation.name for operation in job.operations} == {
        "textFile", "flatMap", "map", "reduceByKey", "saveAsTextFile", "runJob"
    }  # fmt: skip
    assert all(operation.count == 1.0 for operation in job.operations)
    assert job.n_unit_baseline == pytest.approx(16 / 2, rel=0.1)
    assert not job.iterative


def test_samples_say_what_their_job_was_told_to_do() -> None:
    assert engine.read("movie-als-small").runs[0].workload.iterations == 10
    assert engine.read("sort-small").runs[0].workload.iterations is None


def test_options_of_a_job_profile_need_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "sort-small", "--iterations", "3"]) == 2
    assert "need --optex" in capsys.readouterr().err


def test_a_job_profile_from_run_times_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "p.yaml"
    assert main(["profile", "ernest-rcv1", "--optex", "-o", str(target)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not target.exists()


def test_an_operation_is_named_with_its_mean_and_count() -> None:
    found = {operation.name: operation for operation in one(RUNS[0]).operations}
    assert set(found) == {"map", "distinct", "count"}
    assert found["map"] == Operation("map", found["map"].mean_seconds, 0.2)
