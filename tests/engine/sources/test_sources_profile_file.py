"""Profile YAML: round trips, strictness with file and line, atomic writing."""

from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
import sparklog as log
import yaml
from depth import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.catalog import InstanceType
from engine.cluster import LEAST_HEAP_GIB, Cluster, NodeGroup, Workload
from engine.errors import BadInput
from engine.given_profiles import Operation, OptexProfile
from engine.notices import Notice
from engine.profile import LEAST_SECONDS, MOST_SECONDS, Profile, Run
from engine.sources import read
from engine.sources.formats.profile_file import parse, write_profile
from engine.sources.formats.profile_text import format_profile
from engine.stage_run import Measure, StageRun, Waste

DATA = Path(__file__).parents[2] / "data"
HEAD = "format: sparkplan-profile/1\nname: x\n"

texts = st.text(max_size=20).filter(lambda text: not any(0xD800 <= ord(c) < 0xE000 for c in text))
numbers = st.floats(min_value=1e-9, max_value=1e30)
amounts = st.floats(min_value=1e-9, max_value=MOST_SECONDS)
shares = st.floats(min_value=1e-9, max_value=1.0)
measures = st.builds(
    Measure,
    count=st.integers(1, 10**6),
    total=amounts,
    quantiles=st.lists(amounts, min_size=1, max_size=5).map(lambda v: tuple(sorted(v))),
)
stages = st.builds(
    StageRun,
    stage_id=st.integers(0, 10**6),
    name=texts,
    tasks=st.integers(1, 10**6),
    submitted_seconds=amounts,
    completed_seconds=amounts,
    task_seconds=measures,
    parents=st.lists(st.integers(0, 99), max_size=3).map(tuple),
    sql_execution_id=st.none() | st.integers(0, 99),
    input_bytes=st.none() | measures,
    memory_spilled_bytes=st.none() | st.just(0.0) | numbers,
    deserialize_seconds=st.none() | st.just(0.0) | numbers,
    python_start_seconds=st.none() | st.just(0.0) | numbers,
    fetched_bytes=st.none() | st.just(0.0) | numbers,
    files_bytes=st.none() | st.just(0.0) | numbers,
    files_read=st.none() | st.just(0.0) | numbers,
    tables_read=st.none() | st.integers(1, 100),
    row_shares=st.just(()) | st.tuples(shares, shares),
    files_by=st.none() | st.integers(0, 99),
    ungrouped_rows=st.none() | st.just(0.0) | numbers,
    grouped_rows=st.none() | st.just(0.0) | numbers,
    groups=st.none() | st.just(0.0) | numbers,
    written_files=st.none() | st.just(0.0) | numbers,
    written_folders=st.none() | st.just(0.0) | numbers,
    operations=st.lists(texts, max_size=3).map(tuple),
    waste=st.builds(Waste, failed_tasks=st.integers(0, 9), seconds=st.just(0.0) | numbers),
)
types = st.sampled_from(
    [
        None,
        InstanceType("m5.xlarge", 4.0, 16.0, arch="x86_64", cpu_score=1.5, emr_supported=True),
        InstanceType("odd: [name]", 2.5, nan),
    ]
)
runs = st.builds(
    Run,
    seconds=st.floats(LEAST_SECONDS, MOST_SECONDS),
    cluster=st.builds(
        Cluster,
        groups=st.lists(
            st.builds(NodeGroup, st.integers(1, 99), types, st.none() | numbers), max_size=2
        ).map(tuple),
        executors=st.none() | st.integers(1, 99),
        executor_memory_gib=st.none() | st.floats(LEAST_HEAP_GIB, 1e4),
    ),
    workload=st.builds(
        Workload,
        input_bytes=st.none() | numbers,
        iterations=st.none() | numbers,
        scale=st.none() | numbers,
        parameters=st.dictionaries(texts, numbers, max_size=2),
    ),
    source=texts,
    application=st.none() | texts,
    complete=st.booleans(),
    lost=st.lists(texts, max_size=2).map(tuple),
    stages=st.lists(stages, max_size=2).map(tuple),
    cores=st.lists(st.tuples(amounts, st.integers(0, 99)), max_size=2).map(tuple),
    config=st.dictionaries(texts, texts, max_size=2),
    notices=st.lists(st.builds(Notice, texts, texts, texts), max_size=2).map(tuple),
)
profiles = st.builds(
    Profile,
    name=texts,
    runs=st.lists(runs, max_size=2).map(tuple),
    category=st.none() | st.sampled_from(["sql", "core"]),
    optex=st.lists(
        st.builds(
            OptexProfile,
            instance_type=st.none() | texts,
            t_init_seconds=amounts,
            t_prep_seconds=amounts,
            iterative=st.booleans(),
            operations=st.lists(st.builds(Operation, texts, amounts, amounts), max_size=2).map(
                tuple
            ),
        ),
        max_size=2,
    ).map(tuple),
    input_unit=texts,
    deadline_seconds=st.none() | amounts,
    sources=st.lists(texts, max_size=2).map(tuple),
)


@settings(max_examples=cases(25, deep=100), deadline=None)
@given(profiles)
def test_what_is_written_reads_back_equal_and_any_yaml_parser_agrees(profile: Profile) -> None:
    text = format_profile(profile)
    again = parse(text, "p.yaml")
    assert again == profile
    assert format_profile(again) == text
    found = yaml.safe_load(text)
    assert found["name"] == profile.name
    assert [float(run["seconds"]) for run in found.get("runs", [])] == [
        run.seconds for run in profile.runs
    ]


@pytest.mark.parametrize("name", ["retries.zstd"])
def test_a_log_and_its_profile_hold_the_same(tmp_path: Path, name: str) -> None:
    profile = read(DATA / name)
    path = tmp_path / "p.yaml"
    write_profile(profile, path)
    again = read(path)
    assert again == profile
    assert format_profile(again) == path.read_text(encoding="utf-8")


def test_quantiles_are_compact(tmp_path: Path) -> None:
    profile = read(log.write(tmp_path / "app", log.one_stage(tasks=150, seconds=0.125)))
    (stage,) = profile.runs[0].stages
    assert len(stage.task_seconds.quantiles) == 150
    assert len(stage.overhead_seconds.quantiles) == 1  # all alike
    assert len(format_profile(profile)) < 4000


def test_hand_written_runs() -> None:
    text = HEAD + (
        "input_unit: data sets\n"
        "instance_types:\n"
        "  core: {vcpus: 1, memory_gib: 7.625}\n"
        "runs:\n"
        "  - {instance_type: core, nodes: 32, input_size: 0.125, seconds: 7.9}\n"
        "  - nodes: 4\n"
        "    seconds: 4\n"
        "    parameters: {k: 3}\n"
    )
    first, second = parse(text, "p.yaml").runs
    assert first.cluster == Cluster.of_nodes(
        instance_type="core", nodes=32, vcpus=1.0, memory_gib=7.625
    )
    assert first.workload == Workload(0.125)
    assert second.cluster.instance is None
    assert second.workload.parameters == {"k": 3.0}


RUN = "runs:\n- seconds: 5\n"
OPTEX = "optex:\n- t_init_seconds: 20\n  t_prep_seconds: 29\n"
JOB = "  jobs:\n  - {job_id: 0, completed_seconds: 3, stage_ids: [], submitted_seconds: "
STAGE = (
    "  stages:\n  - {name: a, tasks: 1, submitted_seconds: 0, completed_seconds: 5, "
    "task_seconds: {count: 1, total: 5, quantiles: [5]}, "
)


@pytest.mark.parametrize("library", ["C", "Python"])
def test_what_stands_empty_is_not_known(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The C library calls a plain value "", not None: `null` was the name of a type."""
    if library == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    text = HEAD + "category:\nruns:\n- seconds: 5\n  nodes: 2\n  instance_type: null\n"
    profile = parse(text + "  application: ~\n  source: 'null'\n", "p.yaml")
    (run,) = profile.runs
    assert (profile.category, run.application, run.cluster.instance) == (None, None, None)
    assert run.source == "null"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("format: sparkplan-profile/9\nname: x\n", 1, "sparkplan-profile/1"),
        (HEAD + "catgory: sql\n", 3, "did you mean category"),
        (HEAD + "category: batch\n", 3, "unknown category 'batch'"),
        (HEAD + "name: y\n", 3, "key 'name' twice"),
        (HEAD + "deadline_seconds: soon\n", 3, "deadline_seconds must be a number, not 'soon'"),
        (HEAD + "category: [a]\n", 3, "category must be a text, not a list"),
        (HEAD + "runs:\n- nodes: {a: 1}\n  seconds: 1\n", 4, "nodes must be a whole number, not a"),
        (HEAD + RUN + "  parameters: {k: x}\n", 5, "a value of parameters must be a number, not a"),
        (HEAD + "runs:\n- seconds:\n  nodes: 1\n", 4, "seconds must be a number, not empty"),
        (HEAD + "runs:\n- nodes: 4\n", 4, "seconds is missing"),
        (HEAD + "runs:\n- seconds: 5\n  nods: 4\n", 5, "did you mean nodes"),
        (HEAD + "runs:\n- nodes: 4\n  seconds: -1\n", 5, "more than zero"),
        (HEAD + "runs:\n- nodes: 4\n  seconds: .nan\n", 5, "seconds"),
        (HEAD + "runs:\n- nodes: 4\n  seconds: nan\n", 5, "more than zero"),
        (HEAD + "runs:\n- nodes: 0\n  seconds: 1\n", 4, "more than zero"),
        (HEAD + "runs:\n- nodes: 2.5\n  seconds: 1\n", 4, "must be a whole number, not '2.5'"),
        (HEAD + "runs:\n- instance_type: a\n  seconds: 1\n", 4, "nodes is missing"),
        (HEAD + RUN + "  groups: [{nodes: 2, instance_type: ' '}]\n", 5, "instance_type is empty"),
        (HEAD + "runs:\n- seconds: 1\n  stages:\n  - {stage_id: 1}\n", 6, "name is missing"),
        (HEAD + "instance_types:\n  a: {vcpu: 4}\n", 4, "did you mean vcpus"),
        (HEAD + "instance_types:\n  a:\n    memory_gib: much\n", 5, "memory_gib"),
        (HEAD + "instance_types:\n  a:\n    vcpus: 1e30\n", 5, "at most 1,000,000, not 1e"),
        (HEAD + "instance_types:\n  a:\n    memory_gib: -4\n", 5, "more than zero"),
        (HEAD + "runs:\n- nodes: 1000001\n  seconds: 1\n", 4, "nodes must be at most 1,000,000"),
        (HEAD + "optex:\n- t_init_seconds: 3\n", 4, "missing"),
        (HEAD + "runs: [\n", 4, "not valid YAML"),
        (HEAD + "a: &x 1\n", 3, "key"),
        (HEAD + "sources: [&x a, *x]\n", 3, "anchors"),
        (HEAD + "sources: " + "[" * 20_000 + "\n", 3, "nested too deeply"),
        (HEAD + "? [a, b]\n: c\n", 3, "plain word"),
        (HEAD + "runs: 5\n", 3, "runs must be a list, not '5'"),
        (HEAD + "category: null\ndeadline_seconds: -1\n", 4, "more than zero, not -1"),
        (HEAD + "deadline_seconds: inf\n", 3, "more than zero, not inf"),
        (HEAD + "instance_types:\n  a:\n    cpu_score: -1\n", 5, "cpu_score must be more than"),
        (HEAD + "instance_types:\n  a:\n    cpu_score_spread: nan\n", 5, "spread must be at"),
        (HEAD + OPTEX + "  s_baseline: 0\n", 6, "s_baseline must be more than zero"),
        (HEAD + OPTEX + "  coeff: nan\n", 6, "coeff must be at least 0, not nan"),
        (HEAD + OPTEX + "  slots_per_node: -4\n", 6, "slots_per_node must be more than zero"),
        (HEAD + OPTEX + "  exponent: 50\n", 6, "exponent must be at most 10, not 50"),
        (
            HEAD + OPTEX + "  operations:\n  - {name: a, mean_seconds: -5}\n",
            7,
            "at least 0, not -5",
        ),
        (HEAD + "optex:\n- t_init_seconds: -3\n  t_prep_seconds: 2\n", 4, "at least 0, not -3"),
        (HEAD + RUN + "  groups:\n  - nodes: -2\n", 6, "nodes must be more than zero, not -2"),
        (HEAD + RUN + "  groups:\n  - {nodes: 2, price_usd_per_hour: nan}\n", 6, "not nan"),
        (HEAD + "runs:\n- nodes: 2\n  seconds: 1e11\n", 5, "no run lasts 1e+11 s; give between"),
        (HEAD + RUN + "  input_size: 1e300\n", 5, "input_size must be at most 1e+30, not 1e+300"),
        (HEAD + RUN + "  iterations: 1e-320\n", 5, "iterations must be more than 1e-30"),
        (HEAD + RUN + "  cores: [[1, 2], [inf, 3]]\n", 5, "the time of cores must lie between"),
        (HEAD + RUN + "  cores: [[1, -2]]\n", 5, "cores must be at least 0"),
        (HEAD + RUN + JOB + "nan}\n", 6, "submitted_seconds must lie between 0 and"),
        (HEAD + RUN + STAGE + "stage_id: -1}\n", 6, "stage_id must be at least 0"),
        (
            HEAD + RUN + STAGE + "stage_id: 0,\n     gc_seconds: {count: -1, total: 0, "
            "quantiles: [0]}}\n",
            7,
            "a measure needs a count",
        ),
        (
            HEAD + RUN + STAGE + "stage_id: 0,\n     gc_seconds: {count: 1000000001, total: 0, "
            "quantiles: [0]}}\n",
            7,
            "count of gc_seconds must be at most 100,000,000",
        ),
        (
            HEAD + RUN + STAGE + "stage_id: 0, operations: [a], operation_counts: [1, 2]}\n",
            6,
            "one number for each of operations",
        ),
        (
            HEAD + RUN + STAGE + "stage_id: 3, joined_broadcasts: [2], joined_records: [1, 2]}\n",
            6,
            "one number for each of joined_broadcasts",
        ),
        (
            HEAD + RUN + STAGE + "stage_id: 3, joined_broadcasts: [2], joined_records: [-1]}\n",
            6,
            "joined_records must lie between 0 and",
        ),
        (HEAD + RUN + STAGE + "stage_id: 0, paired: [2]}\n", 6, "partitions of two inputs"),
        (HEAD + RUN + STAGE + "stage_id: 0, paired: [2, 0]}\n", 6, "must be at least 1, not 0"),
        (HEAD + RUN + STAGE + f"stage_id: 0, paired: [2, 1{'0' * 320}]}}\n", 6, "2,147,483,647"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text, "p.yaml")
    message = str(caught.value)
    assert message.startswith(f"p.yaml:{line}: ")
    assert said in message
    assert "\n" not in message


def test_only_a_log_may_tell_of_executors_below_sparks_minimum() -> None:
    text = (
        "format: sparkplan-profile/1\nname: a\nruns:\n- seconds: 9\n  executors: 2\n"
        "  executor_memory_gib: 0.25\n"
    )
    with pytest.raises(BadInput, match=r"a.yaml:6: an executor of 256 MiB is refused by Spark"):
        parse(text, "a.yaml")
    old = parse(f"{text}  spark_version: 1.4.1\n", "a.yaml")
    assert old.runs[0].cluster.executor_memory_gib == 0.25


def test_a_wrong_measure_is_said_with_its_line(tmp_path: Path) -> None:
    text = format_profile(read(log.write(tmp_path / "app", log.one_stage())))
    broken = text.replace("{count: 4, total: 8,", "{count: 4, total: eight,")
    line = broken[: broken.index("eight")].count("\n") + 1
    with pytest.raises(BadInput, match=f"p.yaml:{line}: total"):
        parse(broken, "p.yaml")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("tasks: 0", "tasks must be at least 1, not 0"),
        ("tasks: 2147483648", "tasks must be at most 2,147,483,647"),
        ("task_cpus: 0", "task_cpus must be at least 1, not 0"),
        ("task_cpus: -2", "task_cpus must be at least 1, not -2"),
        ("files_bytes: -1", "files_bytes must be at least 0, not -1"),
        ("files_read: -3", "files_read must be at least 0, not -3"),
        ("written_files: -3", "written_files must be at least 0, not -3"),
        ("written_folders: -1", "written_folders must be at least 0, not -1"),
        (
            "task_seconds: {count: 0, total: 0, quantiles: []}",
            "count of task_seconds must be at least 1, not 0",
        ),
        ("task_seconds: {count: 2, total: 8, quantiles: [-1, 5]}", "task_seconds must lie .*"),
        ("task_seconds: {count: 2, total: 8, quantiles: [3, 1e308]}", "task_seconds must lie .*"),
        ("task_seconds: {count: 2, total: nan, quantiles: [3, 5]}", "task_seconds must lie .*"),
        ("run_seconds: {count: 2, total: -8, quantiles: [3, 5]}", "run_seconds must lie .*"),
        ("input_bytes: {count: 2, total: 8, quantiles: [3, 1e300]}", "input_bytes must lie .*"),
        (f"gc_seconds: {{count: {10**320}, total: 8, quantiles: [3]}}", "count of gc_seconds .*"),
        ("submitted_seconds: 1e30", "submitted_seconds must lie between 0 and 1e.16, not 1e.30"),
        ("completed_seconds: -5", "completed_seconds must lie between 0 and 1e\\+16, not -5"),
        ("warm_up: [1, 1, -1e308, 1, 1]", "warm_up must be more than zero"),
    ],
)
def test_numbers_that_no_stage_has_are_refused(key: str, said: str) -> None:
    stage = {
        "stage_id": "7", "name": "scan", "tasks": "2", "submitted_seconds": "0",
        "completed_seconds": "4", "task_seconds": "{count: 2, total: 8, quantiles: [3, 5]}",
    }  # fmt: skip
    name, _, value = key.partition(": ")
    lines = [f"{key}: {value}" for key, value in {**stage, name: value}.items()]
    text = HEAD + "runs:\n- seconds: 4\n  stages:\n  - " + "\n    ".join(lines) + "\n"
    line = text[: text.index(key)].count("\n") + 1
    with pytest.raises(BadInput, match=rf"p.yaml:{line}: {said}; correct it"):
        parse(text, "p.yaml")


def test_a_damaged_count_that_a_log_may_have_is_read_from_its_profile() -> None:
    """Two numbers of 64 bits, as of remote and local bytes, are one measure."""
    stage = (
        "{stage_id: 7, name: join, tasks: 1, submitted_seconds: 0, completed_seconds: 4, "
        "task_seconds: {count: 1, total: 4, quantiles: [4]}, "
        f"shuffle_read_bytes: {{count: 1, total: {2.0**64}, quantiles: [{2.0**64}]}}}}"
    )
    found = parse(HEAD + f"runs:\n- seconds: 4\n  stages:\n  - {stage}\n", "p.yaml")
    told = found.runs[0].stages[0].shuffle_read_bytes
    assert told.total == 2.0**64


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("cached_bytes: -5", "cached_bytes must be at least 0, not -5"),
        ("storage_memory_bytes: -1", "storage_memory_bytes must be at least 0, not -1"),
        ("driver_seconds: -3", "driver_seconds must be at least 0, not -3"),
        (
            "persisted_rdds: [{rdd_id: 3, stored_bytes: -7}]",
            "stored_bytes must be at least 0, not -7",
        ),
        ("persisted_rdds: [{rdd_id: 3, copies: 0}]", "copies must be more than zero, not 0"),
    ],
)
def test_negative_amounts_of_memory_are_refused(key: str, said: str) -> None:
    """They ended in a logarithm, or made a cache fit in any memory."""
    text = HEAD + f"runs:\n- seconds: 4\n  {key}\n"
    line = text[: text.index(key)].count("\n") + 1
    with pytest.raises(BadInput, match=rf"p.yaml:{line}: {said}; correct it"):
        parse(text, "p.yaml")


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    profile = Profile("x", deadline_seconds=5.0)
    path = tmp_path / "p.yaml"
    write_profile(profile, path)
    before = path.read_bytes()
    bad = replace(profile, runs=(None,))
    with pytest.raises(AttributeError):
        write_profile(bad, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.yaml"]
    with pytest.raises(BadInput, match="No such file"):
        write_profile(profile, tmp_path / "no" / "folder")
