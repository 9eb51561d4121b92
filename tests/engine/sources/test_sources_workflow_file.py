"""Workflow YAML: what it means, and one line for everything that is wrong with it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalog import InstanceType
from engine.errors import BadInput, EngineError
from engine.models.boe.model import fit_workflow
from engine.models.boe.workflow import topological_order
from engine.sources import read
from engine.sources.formats.profile_file import write_profile
from engine.sources.workflow_file import is_workflow, parse_workflow, read_workflow

HEAD = "format: sparkplan-workflow/1\nname: w\n"
GOOD = (
    HEAD
    + """scheduler: max-min
cluster: {nodes: 2, cores: 6, slots: 8, memory: 32GB, disk: 200MB/s, network: 1Gbps}
jobs:
- name: b
  after: a
  task_memory: 2GB
  stages:
  - {name: map, tasks: 10, load: 1s, steps: [{cpu: 20s, disk: 128MB}, {disk: 10MB}],
    spread: 20%, output_spread: 0.5}
  - {name: reduce, tasks: 4, task_memory: 4GB, steps: [{network: 100MB, cpu: 500ms}]}
  - {name: side, tasks: 2, after: [map], load: 2s}
- name: a
  stages: [{tasks: 3, load: 5s}]
"""
)


def test_a_file_means_what_it_says() -> None:
    found = parse_workflow(GOOD, "w.yaml")
    assert (found.name, [job.name for job in found.jobs]) == ("w", ["a", "b"])
    assert found.scheduler == "max-min"
    cluster = found.cluster
    assert (cluster.nodes, cluster.cores, cluster.slots) == (2, 6.0, 8)
    assert cluster.network_bytes_per_second == pytest.approx(125e6)
    assert cluster.disk_bytes_per_second == pytest.approx(200e6)
    first, second, side = found.jobs[1].stages
    assert first.work.steps == ((20.0, 128e6, 0.0), (0.0, 10e6, 0.0))
    assert (first.work.load_seconds, first.spread, first.memory_gib) == (1.0, 0.2, 2.0)
    assert first.output_spread == 0.5
    assert (second.after, second.memory_gib, side.after) == ((0,), 4.0, (0,))
    assert second.work.steps == ((0.5, 0.0, 100e6),)
    (alone,) = found.jobs[0].stages
    assert (alone.cores, alone.memory_gib, alone.spread, alone.output_spread) == (1.0, 0, 0, 0)
    assert parse_workflow(GOOD.replace("name: w\n", ""), "dir/night.yaml").name == "night"


def test_where_a_job_ran_is_what_it_says_else_what_is_said_of_all() -> None:
    jobs = "jobs:\n- {name: a, source: sort-small}\n- {name: b, source: sort-small, ran_on: "
    told = InstanceType("own", 4.0, 16.0)
    found = parse_workflow(f"{HEAD}{jobs}m5.xlarge}}\n", "w.yaml", ran_on=told)
    assert [job.ran_on.name for job in found.jobs] == ["own", "m5.xlarge"]


def test_jobs_from_samples_keep_their_observed_tasks() -> None:
    text = HEAD + "jobs:\n- {name: a, source: word-count-small, input_size: 2x}\n"
    (job,) = parse_workflow(text, "w.yaml").jobs
    own = job.profile.reference_workload.input_bytes
    assert job.workload.input_bytes == pytest.approx(2 * own)


def test_a_size_in_bytes_is_none_of_a_job_whose_input_is_counted_otherwise(tmp_path: Path) -> None:
    """As with --input-size: a number of bytes was taken for one of rows."""
    rows = tmp_path / "rows.yaml"
    write_profile(replace(read("word-count-small"), input_unit="rows"), rows)
    text = f"{HEAD}jobs:\n- {{name: a, source: {rows}, input_size: 1GB}}\n"
    with pytest.raises(BadInput, match=r"w.yaml:4: input_size: the profile counts its input in ro"):
        parse_workflow(text, "w.yaml")


def test_sources_are_relative_to_the_file(tmp_path: Path) -> None:
    write_profile(read("word-count-small"), tmp_path / "wc.yaml")
    path = tmp_path / "w.yaml"
    path.write_text(HEAD + "jobs: [{name: a, source: wc.yaml}]\n")
    assert is_workflow(path)
    assert not is_workflow(tmp_path / "wc.yaml")
    assert read_workflow(path).jobs[0].profile is not None


def test_the_bundled_example_reads_and_is_estimated() -> None:
    found = read_workflow("nightly-pipeline")
    assert is_workflow("nightly-pipeline")
    assert len(found.jobs) == 6
    assert fit_workflow(found).plans[0].parts[0].observed is not None


class LookedAt(tuple[str, ...]):
    """Names, and how many of them were looked at."""

    count = 0

    def __iter__(self) -> Iterator[str]:
        for name in super().__iter__():
            self.count += 1
            yield name


def test_each_job_that_one_waits_for_is_looked_at_once() -> None:
    names = [f"job {number}" for number in range(50)]
    others = LookedAt(names)
    assert topological_order({"last": others, **dict.fromkeys(names, ())}, {}) == [*names, "last"]
    assert others.count == len(names)


BAD = {
    "cycle": (
        "jobs:\n- {name: a, after: b, stages: [{tasks: 1, load: 1s}]}\n"
        "- {name: b, after: c, stages: [{tasks: 1, load: 1s}]}\n"
        "- {name: c, after: a, stages: [{tasks: 1, load: 1s}]}\n",
        r"w.yaml:\d+: the jobs wait for each other: (\w -> ){3}\w; remove",
    ),
    "own cycle": (
        "jobs: [{name: a, after: a, stages: [{tasks: 1, load: 1s}]}]\n",
        "wait for each other: a -> a",
    ),
    "unknown job": (
        "jobs:\n- {name: abc, stages: [{tasks: 1, load: 1s}]}\n"
        "- {name: b, after: abd, stages: [{tasks: 1, load: 1s}]}\n",
        r"w.yaml:5: unknown job 'abd'; did you mean abc\?",
    ),
    "no tasks": ("jobs:\n- {name: a}\n", r"w.yaml:4: job 'a' has no tasks; give it a source"),
    "zero tasks": (
        "jobs:\n- name: a\n  stages:\n  - {tasks: 0, load: 1s}\n",
        r"w.yaml:6: tasks: must be a whole number of at least 1, not '0'",
    ),
    "no tasks key": ("jobs: [{name: a, stages: [{load: 1s}]}]\n", "tasks is missing"),
    "a table has no tasks": (
        "jobs: [{name: a, source: ernest-rcv1}]\n",
        r"w.yaml:3: job 'a' has no tasks; give it stages",
    ),
    "no jobs": ("jobs: []\n", "the workflow has no jobs"),
    "twice": (
        "jobs:\n- {name: a, stages: [{tasks: 1, load: 1s}]}\n"
        "- {name: a, stages: [{tasks: 1, load: 1s}]}\n",
        r"w.yaml:5: two jobs are named 'a'; give each a name of its own",
    ),
    "unknown key": ("jobs: [{name: a, stage: []}]\n", "unknown key 'stage'; did you mean stages"),
    "both": (
        "jobs: [{name: a, source: word-count-small, stages: [{tasks: 1, load: 1s}]}]\n",
        "both a source and stages",
    ),
    "no such sample": (
        "jobs:\n- name: a\n  source: word-count-smal\n",
        r"w.yaml:5: unknown file or sample 'word-count-smal'; did you mean word-count-small",
    ),
    "no such file": ("jobs: [{name: a, source: x/y.zstd}]\n", "x/y.zstd: no such file"),
    "standard input": ("jobs: [{name: a, source: '-'}]\n", "w.yaml:3: a job .*standard input"),
    "nothing to do": (
        "jobs: [{name: a, stages: [{tasks: 1}]}]\n",
        "do nothing; give load, or steps",
    ),
    "unknown stage": (
        "jobs: [{name: a, stages: [{name: x, tasks: 1, load: 1s, after: y}]}]\n",
        "unknown stage 'y'",
    ),
    "scheduler": (
        "scheduler: fairest\njobs: [{name: a, stages: [{tasks: 1, load: 1s}]}]\n",
        r"w.yaml:3: unknown scheduler 'fairest' \(choices: drf, fifo, max-min\)",
    ),
    "zero rate": (
        "cluster: {nodes: 1, cores: 2, disk: 0}\njobs: []\n",
        r"w.yaml:3: disk: a rate lies between 1 B/s and 1 PB/s, not '0'; write it like 125MB/s",
    ),
    "no rate": (
        "cluster: {nodes: 1, cores: 2, network: 0Gbps}\njobs: []\n",
        r"w.yaml:3: network: a rate lies between 1 B/s and 1 PB/s, not '0Gbps'; write it like",
    ),
    "rate with a comma": (
        "cluster: {nodes: 1, cores: 2, network: '1,000Mbps'}\njobs: []\n",
        r"w.yaml:3: network: .*write it with a point",
    ),
    "no number of bits": (
        "cluster: {nodes: 1, cores: 2, network: 1.2.3Gbps}\njobs: []\n",
        r"w.yaml:3: network: a rate lies between 1 B/s and 1 PB/s, not '1.2.3Gbps'; write it like",
    ),
    "bits or bytes": (
        "cluster: {nodes: 1, cores: 2, network: 1Gb/s}\njobs: []\n",
        r"w.yaml:3: network: '1Gb/s' may be bits or bytes; write 1Gbps for bits, 125MB/s for",
    ),
    "next to no core": (
        "cluster: {nodes: 1, cores: 1e-320}\njobs: []\n",
        r"w.yaml:3: cores: must lie between 0.001 and 1,000,000, not '1e-320'",
    ),
    "next to no memory": (
        "cluster: {nodes: 1, cores: 2, memory: 1e-300g}\njobs: []\n",
        r"w.yaml:3: memory: memory lies between 1 kB and 1,000,000,000 GiB, not '1e-300g'",
    ),
    "no cores": ("cluster: {nodes: 1}\njobs: []\n", "cores is missing"),
    "spread": (
        "jobs: [{name: a, stages: [{tasks: 1, load: 1s, spread: -1}]}]\n",
        "spread: must be a standard deviation over the mean",
    ),
    "not a list": ("jobs: {a: 1}\n", "jobs must be a list"),
    "not a mapping": ("jobs: [a]\n", "jobs must be a list of mappings"),
    "the second is not a mapping": (
        "jobs:\n- {name: a, stages: [{tasks: 1, load: 1s}]}\n- b\n",
        r"w.yaml:5: jobs must be a list of mappings",
    ),
    "a year's task": (
        "jobs:\n- name: a\n  stages:\n  - {tasks: 1, steps: [{cpu: 1e300}]}\n",
        r"w.yaml:6: cpu: a task takes between a microsecond and a year, not '1e300'",
    ),
    "no time at all": (
        "jobs: [{name: a, stages: [{tasks: 1, load: 1e-300}]}]\n",
        "load: a task takes between a microsecond and a year",
    ),
    "too many bytes": (
        "jobs: [{name: a, stages: [{tasks: 1, steps: [{disk: 1e300}]}]}]\n",
        "disk: a task moves at most 1 PB",
    ),
    "too many nodes": (
        "cluster: {nodes: 1e12, cores: 2}\njobs: []\n",
        r"w.yaml:3: nodes: must be at most 1,000,000",
    ),
    "too slow": (
        "cluster: {nodes: 1, cores: 2, network: 1e-300}\njobs: []\n",
        r"w.yaml:3: network: a rate lies between 1 B/s and 1 PB/s",
    ),
    "a factor out of reach": (
        "jobs:\n- {name: a, source: word-count-small, input_size: 1e30x}\n",
        r"w.yaml:4: input_size: '1e30x' is more than 1,000,000 times the largest run",
    ),
    "a part out of reach": (
        "jobs:\n- {name: a, source: word-count-small, input_size: 1e-300x}\n",
        r"w.yaml:4: input_size: '1e-300x' is less than 1/1,000,000 times .*; check the unit",
    ),
    "a size below reach": (
        "jobs:\n- {name: a, source: word-count-small, input_size: 3}\n",
        r"w.yaml:4: input_size: '3' is less than 1/1,000,000 times .*; check the unit",
    ),
    "a size out of reach": (
        "jobs:\n- {name: a, source: word-count-small, input_size: 9e20}\n",
        r"w.yaml:4: input_size: '9e20' is more than 1,000,000 times .*; check the unit",
    ),
    "a size of what is described": (
        "jobs:\n- name: a\n  input_size: 2x\n  stages: [{tasks: 1, load: 1s}]\n",
        r"w.yaml:5: input_size scales what was observed; stages say their own amounts",
    ),
    "an empty size in quotes": (
        "jobs:\n- {name: a, source: word-count-small, input_size: ''}\n",
        r"w.yaml:4: input_size: '' is not a size",
    ),
    "an empty type in quotes": (
        "jobs:\n- {name: a, source: word-count-small, ran_on: ''}\n",
        r"w.yaml:4: ran_on: unknown instance type ''",
    ),
    "no memory but a word": (
        "cluster: {nodes: 1, cores: 2, memory: 'null'}\njobs: []\n",
        r"w.yaml:3: memory: 'null' is not an amount of memory",
    ),
    "bad type": ("jobs: [{name: a, ran_on: m5.xlrge, source: word-count-small}]\n", "m5.xlrge"),
}


@pytest.mark.parametrize("case", BAD, ids=list(BAD))
def test_bad_input_is_one_line(case: str) -> None:
    import re

    text, expected = BAD[case]
    with pytest.raises(BadInput) as caught:
        parse_workflow(HEAD + text, "w.yaml")
    assert re.search(expected, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["format: sparkplan-workflow/2\njobs: []\n", "jobs: []\n"])
def test_another_format_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="this version reads sparkplan-workflow/1"):
        parse_workflow(text, "w.yaml")


def test_a_workflow_is_no_source_of_a_job() -> None:
    with pytest.raises(EngineError, match="is a workflow, not a job; give its file alone to"):
        read("nightly-pipeline")


def test_a_workflow_below_the_heading_of_a_table_is_no_table(tmp_path: Path) -> None:
    """It was told which columns it lacks."""
    path = tmp_path / "pipeline.yaml"
    path.write_text("nodes,input_gb,seconds\nformat: sparkplan-workflow/1\njobs: []\n", "utf-8")
    with pytest.raises(EngineError, match="is a workflow, not a job; give its file alone to"):
        read(path)


def test_a_long_chain_needs_no_deep_stack() -> None:
    jobs = "".join(
        f"- {{name: j{i}, {'after: j' + str(i + 1) + ', ' if i < 999 else ''}"
        "stages: [{tasks: 1, load: 1s}]}\n"
        for i in range(1000)
    )
    found = parse_workflow(HEAD + "jobs:\n" + jobs, "w.yaml")
    assert found.jobs[0].name == "j999"
