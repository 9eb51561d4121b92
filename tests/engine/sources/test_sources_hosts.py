"""Slow hosts of a made log: found where one limps, not where data or chance make the difference."""

import json

import pytest

from engine.errors import BadInput
from engine.sources.distilling.hosts import LEAST_TASKS, SLOW_RATIO, slow_hosts


def log(tmp_path, times, **extra):
    """A log with task ends; times: (stage, host) -> run times in ms."""
    lines = [{"Event": "SparkListenerLogStart", "Spark Version": "3.5.0"}]
    lines += [
        {
            "Event": "SparkListenerTaskEnd",
            "Stage ID": stage,
            "Task Info": {"Task ID": 1, "Index": 0, "Host": host, **extra},
            "Task Metrics": {"Executor Run Time": value},
        }
        for (stage, host), values in times.items()
        for value in values
    ]
    path = tmp_path / "log"
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path.write_text(text + '{"Event":"SparkListenerTaskEnd","Stage ID":"x"}\n{torn')
    return path


def tasks(mean, count=20):
    return [round(mean * (0.9 + 0.2 * place / count)) for place in range(count)]


def test_the_host_that_limps_is_named_with_its_ratio(tmp_path):
    hosts = {"a": 1.0, "b": 1.02, "c": 1.5, "d": 1.0}
    times = {
        (stage, host): tasks(1000 * (stage + 1) * factor)
        for stage in (0, 1)
        for host, factor in hosts.items()
    }
    (slow,) = slow_hosts(log(tmp_path, times))
    assert slow.host == "c"
    assert slow.ratio == pytest.approx(1.5, rel=0.05)
    assert slow.tasks == 40


def test_a_host_that_ran_the_long_stage_is_not_slow(tmp_path):
    times = {(0, host): tasks(100) for host in "abc"} | {(1, "c"): tasks(9000)}
    assert slow_hosts(log(tmp_path, times)) == ()


@pytest.mark.parametrize("hosts", ["a", "ab"])
def test_two_hosts_tell_nothing(tmp_path, hosts):
    times = {(0, host): tasks(100 * (1 + 9 * (host == "b"))) for host in hosts}
    assert slow_hosts(log(tmp_path, times)) == ()


def test_few_tasks_and_failed_ones_tell_nothing(tmp_path):
    few = {(0, "a"): tasks(100), (0, "b"): tasks(100), (0, "c"): tasks(900, LEAST_TASKS - 1)}
    assert slow_hosts(log(tmp_path, few)) == ()
    many = {(0, host): tasks(900 if host == "c" else 100) for host in "abc"}
    assert slow_hosts(log(tmp_path, many, Failed=True)) == ()
    assert slow_hosts(log(tmp_path, many))[0].ratio > SLOW_RATIO


def test_a_log_that_is_not_there_is_bad_input(tmp_path):
    with pytest.raises(BadInput):
        slow_hosts(tmp_path / "none")
