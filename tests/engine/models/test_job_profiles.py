"""Job profiles of OptEx from logs: phases add up, known coefficients come out, what is assumed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine.cluster import Cluster, Layout, Workload
from engine.errors import BadInput, ModelDoesNotFit
from engine.models.base import FittedModel
from engine.models.job_phases import (
    is_iterative,
    operations_of,
    phases_of,
    repetitions,
    unit_operations,
)
from engine.models.job_profiles import (
    PUBLISHED_COEFF,
    input_partitions,
    job_profile,
    with_job_profiles,
)
from engine.models.optex import (
    PHASE_COMMUNICATION,
    PHASE_EXECUTION,
    PHASE_INIT,
    PHASE_PREP,
    PHASE_SHARING,
    Optex,
)
from engine.models.representatives import (
    confidence_half_width,
    expected_time,
    representative_confidence,
    variance_of_time,
)
from engine.profile import Measure, Notice, Operation, OptexProfile, Profile, Run, StageRun
from tui.cli import main

INIT, PREP = 20.0, 13.0
C_PER_NODE, A_PER_SIZE, B_PER_ITERATION = 0.06, 0.77, 90.0
"""Table II: T_init, T_prep, coeff x T_vs_baseline and cf_commn x T_commn_baseline; B is ours."""

SLOTS = 2
OPERATIONS = {"map": 3.0, "distinct": 6.0, "count": 1.5}
"""Seconds of slot time of each in one task."""

STAGES = [("map at a.py:1", ("map",)), ("count at a.py:2", ("map", "distinct"))]
"""Call sites and scopes; the second is an action."""


def measure(total: float, tasks: int) -> Measure:
    return Measure(tasks, total, (total / tasks,))


def logged(*, nodes: int = 1, iterations: float = 1.0, size: float = 1.0, said: bool = True) -> Run:
    """A run whose phases obey Eqs. 1, 2 and 5 exactly, as a log of it tells: every slot busy."""
    sharing = C_PER_NODE * iterations * nodes
    communication = A_PER_SIZE * size / nodes
    execution = B_PER_ITERATION * iterations * size / nodes
    busy = sharing + communication + execution
    slots = nodes * SLOTS
    each = [sum(OPERATIONS[name] for name in ("map",)), sum(OPERATIONS.values()) + 0.0]
    tasks = 12
    stages, at = [], INIT + PREP / 2.0
    for number, ((name, scopes), weight) in enumerate(zip(STAGES, each, strict=True)):
        share = weight / sum(each)
        stages.append(
            StageRun(
                stage_id=number,
                name=name,
                tasks=tasks,
                submitted_seconds=at,
                completed_seconds=at + busy * share,
                task_seconds=measure(busy * share * slots, tasks),
                overhead_seconds=measure(sharing * share * slots, tasks),
                fetch_wait_seconds=measure(communication * share * slots, tasks),
                input_bytes=None if number else measure(size, tasks),
                operations=scopes,
            )
        )
        at += busy * share
    nodes_of = Cluster.of_nodes(
        instance_type="m1.large",
        nodes=nodes,
        vcpus=2.0,
        memory_gib=7.5,
        layout=Layout(1, SLOTS, 4.0),
    )
    return Run(
        INIT + PREP + busy,
        nodes_of,
        Workload(size, iterations if said else None),
        source=f"{nodes} nodes",
        application="als",
        stages=tuple(stages),
        cores=((INIT, slots),),
    )


def estimated(nodes: float, iterations: float, size: float) -> float:
    """Eq. 8."""
    return (
        INIT
        + PREP
        + C_PER_NODE * nodes * iterations
        + (B_PER_ITERATION * iterations * size + A_PER_SIZE * size) / nodes
    )


RUNS = [
    logged(nodes=1, iterations=10),
    logged(nodes=2, iterations=10, size=3.0),
    logged(nodes=4, iterations=5, size=2.0),
]


def one(*runs: Run, **said: Any) -> OptexProfile:
    (job,) = with_job_profiles(Profile("als", runs, "mllib"), **said).optex
    return job


def codes(notices: Sequence[Notice]) -> set[str]:
    return {notice.code for notice in notices}


def on(nodes: int, name: str | None = "m1.large") -> Cluster:
    return Cluster.of_nodes(instance_type=name, nodes=nodes)


def fit(profile: Profile) -> FittedModel:
    return Optex().fit(profile, models={})


# Phases of one run


def test_phases_of_a_known_run() -> None:
    found = phases_of(logged(nodes=2, iterations=10))
    assert (found.init, found.prep) == pytest.approx((INIT, PREP))
    assert found.sharing == pytest.approx(C_PER_NODE * 20)
    assert found.communication == pytest.approx(A_PER_SIZE / 2)
    assert found.execution == pytest.approx(B_PER_ITERATION * 10 / 2)
    assert found.busy_slots == pytest.approx(2 * SLOTS)


@given(
    driver=st.none() | st.floats(0.0, 1e3),
    first=st.floats(0.0, 1e3),
    overhead=st.floats(0.0, 500.0),
    waiting=st.floats(0.0, 500.0),
)
@settings(deadline=None, max_examples=50)
def test_phases_are_not_negative_and_add_up(
    driver: float | None, first: float, overhead: float, waiting: float
) -> None:
    run = logged(nodes=2)
    stages = tuple(
        replace(
            stage,
            overhead_seconds=measure(overhead, stage.tasks),
            fetch_wait_seconds=measure(waiting, stage.tasks),
        )
        for stage in run.stages
    )
    found = phases_of(replace(run, stages=stages, driver_seconds=driver, cores=((first, 4),)))
    parts = [found.init, found.prep, found.sharing, found.communication, found.execution]
    assert min(parts) >= -1e-9
    assert sum(parts) == pytest.approx(run.seconds)


# Unit operations


def stage(
    name: str, *operations: str, seconds: float = 1.0, tasks: int = 10, **more: Any
) -> StageRun:
    return StageRun(
        stage_id=more.pop("stage_id", 0),
        name=name,
        tasks=tasks,
        submitted_seconds=0.0,
        completed_seconds=seconds,
        task_seconds=measure(seconds * tasks, tasks),
        operations=operations,
        **more,
    )


def test_operations_are_scopes_and_the_action() -> None:
    assert operations_of(stage("count at a.py:1", "map", "textFile")) == {
        "map": 1, "textFile": 1, "count": 1
    }  # fmt: skip
    assert operations_of(stage("map at a.py:1", "map")) == {"map": 1}
    assert operations_of(stage("collect at a.py:1")) == {"collect": 1}


def test_operations_of_a_query_are_its_plan() -> None:
    found = operations_of(
        stage(
            "parquet at NativeMethodAccessorImpl.java:0",
            "WholeStageCodegen (3)",
            "WholeStageCodegen (4)",
            "AQEShuffleRead",
            "Exchange",
            sql_execution_id=2,
        )
    )
    assert found == {"WholeStageCodegen": 2, "Exchange": 1}


def test_operations_that_the_cache_stands_for_are_not_done() -> None:
    found = operations_of(
        stage("map at a.py:1", "map", "textFile", "join", operation_counts=(2, 0, 1))
    )
    assert found == {"map": 2, "join": 1}


def test_counts_of_another_length_are_refused() -> None:
    with pytest.raises(BadInput, match="one number for each of operations"):
        stage("map at a.py:1", "map", operation_counts=(1, 2))


def test_times_of_operations_are_found_again() -> None:
    """Operations in four different mixes, 3 unknowns: within 10 % (what is left of even shares)."""
    mixes = [("map",), ("map", "distinct"), ("distinct", "count"), ("map", "distinct", "count")]
    stages = tuple(
        stage(
            "x", *mix, seconds=sum(OPERATIONS[name] for name in mix), stage_id=number,
            sql_execution_id=1,
        )
        for number, mix in enumerate(mixes)
    )  # fmt: skip
    found = unit_operations([replace(logged(), stages=stages)])
    times = dict(zip(found.names, found.mean_seconds, strict=True))
    assert times == pytest.approx(OPERATIONS, rel=0.1)
    assert dict(zip(found.names, found.counts[0], strict=True)) == {
        "map": 30,
        "distinct": 30,
        "count": 20,
    }


@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from("abcd"), min_size=1), st.floats(0.1, 50.0), st.integers(1, 40)
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(deadline=None, max_examples=40)
def test_times_of_operations_add_up_to_the_tasks(made: list[tuple[set[str], float, int]]) -> None:
    stages = tuple(
        stage("x", *sorted(mix), seconds=seconds, tasks=tasks, sql_execution_id=1)
        for mix, seconds, tasks in made
    )
    found = unit_operations([replace(logged(), stages=stages)])
    total = sum(seconds * tasks for _, seconds, tasks in made)
    assert float((found.mean_seconds * found.counts).sum()) == pytest.approx(total)
    assert (found.mean_seconds > 0.0).all()


def test_a_repeated_stage_iterates() -> None:
    once = replace(logged(said=False), stages=(stage("map at a.py:1", "map"),))
    often = replace(once, stages=once.stages * 5)
    assert not is_iterative(once)
    assert is_iterative(often)
    assert repetitions(often) == 5
    told = replace(often, workload=Workload(1.0, 1.0))
    assert not is_iterative(told)


def test_partitions_of_the_input_are_those_of_the_stage_that_reads() -> None:
    wide = stage("map at a.py:2", "map", tasks=99)
    reads = stage("map at a.py:1", "map", tasks=7, input_bytes=measure(5.0, 7))
    assert input_partitions(replace(logged(), stages=(wide, reads))) == 7


# Coefficients


def test_known_coefficients_are_found_again() -> None:
    job = one(*RUNS)
    assert job.t_init_seconds == pytest.approx(INIT)
    assert job.t_prep_seconds == pytest.approx(PREP)
    assert job.coeff * job.t_vs_baseline_seconds == pytest.approx(C_PER_NODE, rel=1e-5)
    assert job.cf_commn * job.t_commn_baseline_seconds / job.s_baseline == pytest.approx(
        A_PER_SIZE, rel=1e-5
    )
    per_set = sum(operation.mean_seconds * operation.count for operation in job.operations)
    assert job.n_unit_baseline * per_set / job.s_baseline == pytest.approx(
        B_PER_ITERATION, rel=1e-4
    )
    assert (job.iterative, job.category, job.application) == (True, "mllib", "als")
    assert (job.instance_type, job.slots_per_node) == ("m1.large", SLOTS)


@pytest.mark.parametrize("nodes", [1, 3, 10, 40])
@pytest.mark.parametrize(("iterations", "size"), [(1.0, 1.0), (20.0, 1.0), (20.0, 7.0)])
def test_predictions_obey_equation_8(nodes: int, iterations: float, size: float) -> None:
    job = one(*RUNS)
    found = fit(Profile("als", optex=(job,))).predict(
        cluster=on(nodes), workload=Workload(size, iterations)
    )
    assert found.seconds == pytest.approx(estimated(nodes, iterations, size), rel=1e-4)
    assert found.phases is not None
    assert found.phases[PHASE_SHARING] == pytest.approx(C_PER_NODE * nodes * iterations, rel=1e-4)


def test_one_run_gives_its_own_time_again_and_labels_what_it_cannot_tell() -> None:
    run = logged(iterations=10)
    profile = with_job_profiles(Profile("als", (run,)))
    (job,) = profile.optex
    assert job.coeff == PUBLISHED_COEFF
    assert job.cf_commn == pytest.approx(1.0)
    told = [notice.text for notice in profile.notices if notice.code == "default-coefficients"]
    assert len(told) == 2
    assert "0.004" in told[0]
    found = fit(profile).predict(cluster=on(1))
    assert found.seconds == pytest.approx(run.seconds, rel=1e-4)


def test_runs_on_several_nodes_are_scaled_to_one() -> None:
    profile = with_job_profiles(Profile("als", (logged(nodes=4, iterations=10),)))
    assert "not-single-node" in codes(profile.notices)
    found = fit(profile).predict(cluster=on(4))
    assert found.seconds == pytest.approx(estimated(4, 10, 1.0), rel=1e-3)


def test_iterations_are_told_or_inferred_with_a_label() -> None:
    run = logged(iterations=10, said=False)
    repeated = replace(run, stages=run.stages * 4)
    inferred = with_job_profiles(Profile("als", (repeated,)))
    assert inferred.runs[0].workload.iterations == 4
    assert "iterations-inferred" in codes(inferred.notices)
    told = with_job_profiles(Profile("als", (repeated,)), iterations=10)
    assert told.runs[0].workload.iterations == 10
    assert "iterations-inferred" not in codes(told.notices)


def test_categories_are_data() -> None:
    assert one(*RUNS, category="our fraud jobs").category == "our fraud jobs"


def test_one_job_profile_for_each_type_and_given_ones_stay() -> None:
    def moved(run: Run, name: str | None) -> Run:
        cluster = Cluster.of_nodes(instance_type=name, nodes=run.cluster.nodes or 1)
        return replace(run, cluster=replace(cluster, executors=1, executor_cores=SLOTS))

    given = OptexProfile("m1.large", 1.0, 2.0)
    runs = (RUNS[0], moved(RUNS[0], "m2.xlarge"), moved(RUNS[0], None))
    profile = with_job_profiles(Profile("als", runs, optex=(given,)))
    found = profile.optex
    assert found[0] is given
    assert "job-profile-kept" in codes(profile.notices)
    assert [job.instance_type for job in found] == ["m1.large", "m2.xlarge", None]


def test_evidence_that_gives_no_job_profile() -> None:
    table = Run(60.0, on(4), Workload(1.0))
    with pytest.raises(ModelDoesNotFit, match="no run that tells its stages"):
        with_job_profiles(Profile("p", (table,)))
    other = replace(RUNS[1], application="sort")
    with pytest.raises(ModelDoesNotFit, match="not of 2 applications"):
        with_job_profiles(Profile("p", (RUNS[0], other)))
    with pytest.raises(ModelDoesNotFit, match="not of 2 applications"):
        fit(Profile("p", (RUNS[0], other)))


def test_a_run_without_any_time_in_stages_does_not_break_it() -> None:
    instant = tuple(
        replace(s, completed_seconds=s.submitted_seconds, task_seconds=measure(0.0, s.tasks),
                overhead_seconds=None, fetch_wait_seconds=None)
        for s in RUNS[0].stages
    )  # fmt: skip
    job, _ = job_profile([replace(RUNS[0], stages=instant)], instance_type=None)
    assert np.isfinite(job.n_unit_baseline)


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
    assert found.phases is not None
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
    assert "standard deviation 6 s" in notice.text
    assert f"{1.96 * 6 / 3**0.5:.3g} s" in notice.text


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
