"""Barrier stages, which start all of their tasks at once, in logs and in profiles made of them."""

from pathlib import Path

import sparklog as log
from distilled import run_of, stage_of

from engine.profile import Profile
from engine.sources import read
from engine.sources.formats.profile_file import write_profile


def test_logs_tell_barrier_stages_and_profiles_keep_them(tmp_path: Path) -> None:
    rdds = [log.rdd(1, [0], barrier=True), log.rdd(0)]
    stages = [log.info(0, 2, rdds=rdds), log.info(1, 1, rdds=[log.rdd(2)])]
    events = [*log.header(), log.job(0, stages, 1.0)]
    for number, (stage, start) in enumerate(zip(stages, (2.0, 5.0), strict=True)):
        places = range(stage["Number of Tasks"])
        tasks = [log.task(number, 10 * number + n, start, start + 1.0, index=n) for n in places]
        events += [log.submitted(stage, start), *tasks, log.completed(stage, start, start + 1.0)]
    run = run_of(tmp_path, [*events, log.end(7.0)])
    assert (stage_of(run, 0).barrier, stage_of(run, 1).barrier) == (True, False)
    write_profile(Profile("job", (run,)), tmp_path / "p.yaml")
    kept = read(tmp_path / "p.yaml").runs[0]
    assert [stage.barrier for stage in kept.stages] == [True, False]
