"""Replays of the bundled real log: they reproduce it, and its profile says the same."""

import re
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.models.replay.replayed_run import Replay

SAMPLE = Path(__file__).parents[3] / "sample_logs" / "nightly-features.zstd"


def test_a_real_run_is_reproduced() -> None:
    run = engine.read(SAMPLE).runs[0]
    assert Replay.of(run).replayed(run.cluster.slots or 1).seconds == pytest.approx(
        run.seconds, rel=0.02
    )


def test_profile_and_log_predict_the_same(tmp_path: Path) -> None:
    profile = engine.read(SAMPLE)
    engine.write_profile(profile, tmp_path / "profile.yaml")
    again = engine.read(tmp_path / "profile.yaml")
    models = [engine.fit(source) for source in (profile, again)]
    for executors in (2, 7, 40, 300):
        cluster = engine.Cluster.of_executors(executors=executors, executor_cores=1)
        for scale in (1.0, 5.0):
            log, stored = (
                model.predict(cluster=cluster, workload=model.profile.workload_at(scale))
                for model in models
            )
            assert stored.seconds == pytest.approx(log.seconds, rel=0.02)
            assert stored.high == pytest.approx(log.high, rel=0.02)


@pytest.mark.parametrize("name", ["nightly-features", "sales-report-large"])
def test_four_slots_more_are_no_jump(name: str) -> None:
    """Where the random order of tasks decided which of them met a new executor or a second wave,
    they took up to 6 % longer."""
    replay = Replay.of(engine.read(name).runs[0])
    seconds = np.asarray([replay.replayed(slots).seconds for slots in range(24, 132, 4)])
    assert (seconds[1:] / seconds[:-1]).max() < 1.015


def test_fewer_slots_that_take_less_time_are_named() -> None:
    """Small stages of film ALS meet another executor on more than 16 slots, which starts cold."""
    fitted = engine.fit(engine.read("movie-als-large"))
    wanted = fitted.profile.workload_at(0.3)

    def answer(executors: int) -> engine.Prediction:
        cluster = engine.Cluster.of_executors(executors=executors, executor_cores=1)
        return fitted.predict(cluster=cluster, workload=wanted)

    many = answer(18)
    notice = next(n for n in many.warnings if n.code == "too-few-tasks")
    told = re.search(r"beyond (\d+) (?:slots the time|it) rises: new executors", notice.text)
    assert answer(int(told[1])).seconds < 0.99 * many.seconds
    assert not any("rises" in notice.text for notice in answer(12).warnings)
