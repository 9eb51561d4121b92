"""sparkplan on run times alone: types of machines, measured and not, and what memory costs."""

from dataclasses import replace

import numpy as np
import pytest
from sparkplan_runs import GRID, codes, fit, nodes, run
from synthetic import catalog_of, offer

from engine.catalog import InstanceType
from engine.cluster import Cluster, NodeGroup, Workload
from engine.models.laws.encoding import family_effect_share
from engine.profile import Run


def test_each_measured_type_has_its_own_terms() -> None:
    slow = [run(c, s) for c, s in GRID]
    fast = [
        Run(other.seconds / 2.0, nodes(other.cluster.nodes or 1, "f"), other.workload)
        for other in slow
    ]
    model = fit(*slow, *fast)
    one, two = (model.predict(cluster=nodes(6, name)).seconds for name in ("m", "f"))
    assert one == pytest.approx(2.0 * two, rel=0.03)


SHAPES = {"small": (4.0, 16.0), "large": (16.0, 64.0), "rich": (4.0, 64.0)}


def shaped(count: int, name: str) -> Cluster:
    vcpus, memory = SHAPES[name]
    return Cluster.of_nodes(instance_type=name, nodes=count, vcpus=vcpus, memory_gib=memory)


def shared_work(count: int, size: float, name: str, *, fits: float | None = None) -> Run:
    """20 s, and 2000 core seconds per size; three times that where GiB per size is below `fits`."""
    vcpus, memory = SHAPES[name]
    work = 2000.0 * size / (count * vcpus)
    if fits is not None and memory * count / size < fits:
        work *= 4.0
    return Run(20.0 + work, shaped(count, name), Workload(size))


def test_few_runs_per_type_share_strength() -> None:
    """One run on a large type: its cores are known, so its course is that of the small one's."""
    small = [shared_work(c, s, "small") for c in (2, 4, 8, 16) for s in (0.5, 1.0)]
    model = fit(*small, shared_work(2, 1.0, "large"))
    for count in (1, 4):
        found = model.predict(cluster=shaped(count, "large"), workload=Workload(1.0))
        assert found.seconds == pytest.approx(shared_work(count, 1.0, "large").seconds, rel=0.12)


def test_a_type_that_was_not_measured_is_seen_in_its_own_shape() -> None:
    small = [shared_work(c, s, "small") for c in (2, 4, 8, 16) for s in (0.5, 1.0)]
    found = fit(*small).predict(cluster=shaped(2, "large"), workload=Workload(1.0))
    assert found.seconds == pytest.approx(shared_work(2, 1.0, "large").seconds, rel=0.15)
    assert "no-cpu-score" in codes(found.warnings)


def on_type(
    count: int, name: str, factor: float, score: float | None = None, *, gib: float = 16.0
) -> Run:
    """20 s and 8000 core seconds, all of it so many times as long as elsewhere."""
    scored = InstanceType(name, 4.0, gib, cpu_score=score, cpu_benchmark="coremark")
    cluster = Cluster((NodeGroup(count, scored),))
    return Run(factor * (20.0 + 2000.0 / count), cluster, Workload(1.0))


def test_a_size_that_was_not_measured_takes_after_those_of_its_family() -> None:
    """Two families, of which one takes half as long again: sizes that nobody ran do too, and what
    is of neither family lies between them."""
    counts = (2, 4, 8, 16)
    runs = [on_type(c, f"m5.{size}", 1.0) for c in counts for size in ("large", "2xlarge")]
    runs += [on_type(c, f"m4.{size}", 1.5) for c in counts for size in ("large", "2xlarge")]
    model = fit(*runs)
    new, old, neither = (
        model.predict(cluster=on_type(6, name, 1.0).cluster).seconds
        for name in ("m5.xlarge", "m4.xlarge", "c7a.xlarge")
    )
    assert new < 0.85 * old
    assert new < neither < old
    assert new == pytest.approx(on_type(6, "m5.xlarge", 1.0).seconds, rel=0.15)


def test_sizes_whose_cores_nobody_told_have_nothing_in_common() -> None:
    """Each counts as so many machines of the other, however large it is: what is peculiar to one is
    not the other's."""
    runs = [
        Run(seconds, Cluster.of_nodes(instance_type=name, nodes=count), Workload(1.0))
        for count in (2, 4, 8, 16)
        for name, seconds in (
            ("m5.xlarge", 20.0 + 2000.0 / count),
            ("c7a.large", 20.0 + 4000.0 / count),
        )
    ]
    sizes = (("m5.xlarge", 4), ("c7a.large", 2), ("m5.4xlarge", 16), ("m6a.4xlarge", 16))
    catalog = catalog_of(*(offer(name, 1.0, vcpus=vcpus) for name, vcpus in sizes))
    asked = (
        Cluster.of_nodes(instance_type=name, nodes=6, catalog=catalog)
        for name in ("m5.4xlarge", "m6a.4xlarge")
    )
    same, other = (fit(*runs).predict(cluster=cluster).seconds for cluster in asked)
    assert same == pytest.approx(other)


def test_a_faster_type_is_faster_than_all_that_were_measured_not_than_the_nearest_alone() -> None:
    """Types of scores 40 and 80, as fast as these say: one of 56 takes as long as the mean of both,
    whichever of the two it resembles."""
    counts = (2, 4, 8, 16)
    runs = [on_type(c, "m4.xlarge", 1.0, 40.0) for c in counts]
    runs += [on_type(c, "m7a.xlarge", 0.5, 80.0) for c in counts]
    found = fit(*runs).predict(cluster=on_type(6, "m5.xlarge", 1.0, 40.0 * 2**0.5).cluster)
    assert found.seconds == pytest.approx(on_type(6, "m5.xlarge", 0.5**0.5).seconds, rel=0.05)


def test_each_size_of_a_family_tells_more_of_another_and_never_all() -> None:
    assert family_effect_share(np.arange(4)).tolist() == pytest.approx([0.0, 0.5, 2 / 3, 0.75])


def test_runs_of_a_family_say_how_fast_it_is_and_its_score_does_not_say_it_again() -> None:
    """A size resembles one of another family, with as much memory for a core and half the score: it
    was twice as fast as the runs of its family, which have that speed already."""
    counts = (2, 4, 8, 16)
    runs = [on_type(c, "n2-standard-4", 0.5, 80.0) for c in counts]
    runs += [on_type(c, "e2-standard-4", 1.0, 40.0) for c in counts]
    runs += [on_type(c, "e2-highmem-4", 1.0, 40.0, gib=32.0) for c in counts]
    asked = on_type(6, "n2-highmem-4", 0.5, 80.0, gib=32.0)
    assert fit(*runs).predict(cluster=asked.cluster).seconds == pytest.approx(
        asked.seconds, rel=0.3
    )


def test_a_type_without_a_score_is_as_fast_as_the_measured_ones_in_the_mean() -> None:
    """Whichever it resembles, of which the scores differ."""
    counts = (2, 4, 8, 16)
    for slow, fast in ((20.0, 40.0), (40.0, 20.0)):
        runs = [on_type(c, "m4.xlarge", 1.0, slow) for c in counts]
        runs += [on_type(c, "m7a.xlarge", 0.5, fast) for c in counts]
        found = fit(*runs).predict(cluster=on_type(6, "own", 1.0).cluster)
        assert found.seconds == pytest.approx(on_type(6, "own", 0.5**0.5).seconds, rel=0.05)


@pytest.mark.parametrize("most", ["own", "m4.xlarge", "m7a.xlarge"])
def test_scores_count_the_same_whichever_type_was_run_most(most: str) -> None:
    """One of three measured types has no score: where it had the most runs, scores of the others
    counted for nothing."""
    types = (("own", 0.7, None), ("m4.xlarge", 1.0, 40.0), ("m7a.xlarge", 0.5, 80.0))
    runs = [
        on_type(c, name, factor, score)
        for name, factor, score in types
        for c in ((2, 3, 4, 6, 8, 12, 16) if name == most else (2, 4, 8, 16))
    ]
    for score in (40.0, 80.0):
        found = fit(*runs).predict(cluster=on_type(6, "m5.xlarge", 1.0, score).cluster)
        expected = on_type(6, "m5.xlarge", 40.0 / score)
        assert found.seconds == pytest.approx(expected.seconds, rel=0.1)


def test_runs_of_one_type_alone_count_another_against_that_type() -> None:
    """Types whose times have no law in common answer by their own runs: one of the same score as
    a measured one is as fast as that, not as much faster as it is than both in the mean."""
    counts = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24)
    runs = [on_type(c, "m4.xlarge", 1.0, 40.0) for c in counts]
    fast = [on_type(c, "m7a.xlarge", 1.0, 80.0) for c in counts]
    runs += [
        replace(run, seconds=75.0 + 700.0 / c + 2.0 * c)
        for c, run in zip(counts, fast, strict=True)
    ]
    model = fit(*runs)
    new, own = (
        model.predict(cluster=on_type(6, name, 1.0, 80.0).cluster).seconds
        for name in ("m5.xlarge", "m7a.xlarge")
    )
    assert new == pytest.approx(own, rel=0.05)


def on_a_cliff() -> list[Run]:
    """Runs of two types, of which some have too little memory for their input."""
    return [
        shared_work(c, s, name, fits=100.0)
        for name in ("small", "rich")
        for c in (2, 3, 4, 8, 12, 16)
        for s in (0.5, 1.0)
        if (c, s, name) != (2, 1.0, "rich")
    ]


def test_a_memory_cliff_of_one_type_is_predicted_for_another() -> None:
    """Where data does not fit is learnt as memory per input, over all types."""
    model = fit(*on_a_cliff())
    over = model.predict(cluster=shaped(5, "small"), workload=Workload(1.0))
    fits = model.predict(cluster=shaped(10, "small"), workload=Workload(1.0))
    assert over.seconds == pytest.approx(shared_work(5, 1.0, "small", fits=100.0).seconds, rel=0.2)
    assert fits.seconds == pytest.approx(shared_work(10, 1.0, "small", fits=100.0).seconds, rel=0.2)
    notice = next(n for n in over.warnings if n.code == "cache-does-not-fit")
    assert "80 GiB here" in notice.text
    assert any(f"take {count} nodes" in notice.remedy for count in (6, 7, 8))
    assert "cache-does-not-fit" not in codes(fits.warnings)


def test_memory_of_large_clusters_is_written_out() -> None:
    """Of a thousand machines "1.6e+04 GiB here" was said."""
    over = fit(*on_a_cliff()).predict(cluster=shaped(1000, "small"), workload=Workload(200.0))
    notice = next(n for n in over.warnings if n.code == "cache-does-not-fit")
    assert "16,000 GiB here" in notice.text
    assert "e+" not in notice.text


def test_what_waits_for_the_disks_of_each_machine_is_no_cliff_that_all_runs_are_on() -> None:
    """That runs with less memory took 6.3 times as long, and 2,591 nodes were needed, was said of a
    job that takes the same time on as many machines of each type, since its law may be written as
    work that 32 of the largest do again as often as two of the smallest."""
    random = np.random.default_rng(2)
    shapes = (("m5.xlarge", 4.0, 16.0), ("m5.2xlarge", 8.0, 32.0), ("m5.4xlarge", 16.0, 64.0))
    runs = []
    for _ in range(30):
        name, vcpus, gib = shapes[random.integers(3)]
        count, size = int(random.choice([2, 4, 8, 16, 32])), float(random.choice([10, 30, 100]))
        seconds = (30.0 + 20.0 * size / count) * float(np.exp(random.normal(0.0, 0.03)))
        cluster = Cluster.of_nodes(instance_type=name, nodes=count, vcpus=vcpus, memory_gib=gib)
        runs.append(Run(seconds, cluster, Workload(size * 1e9)))
    found = fit(*runs).predict(cluster=runs[0].cluster, workload=Workload(1e11))
    assert found.seconds == pytest.approx(30.0 + 2000.0 / (runs[0].cluster.nodes or 0), rel=0.2)
    assert "cache-does-not-fit" not in codes(found.warnings)


def test_a_cliff_that_all_runs_are_on_is_told_by_how_it_ends() -> None:
    """Work is done again five times if nothing fits, and not at all on 40 nodes, which none ran
    on."""

    def seconds(count: int) -> float:
        return 60.0 + 4000.0 / count * (1.0 + 5.0 * max(0.0, 1.0 - count * 16.0 / 640.0))

    counts = (2, 3, 4, 6, 8, 12, 16, 24, 32)
    found = fit(*(Run(seconds(count), nodes(count), Workload(1.0)) for count in counts)).predict(
        cluster=nodes(10), workload=Workload(1.0)
    )
    assert found.seconds == pytest.approx(seconds(10), rel=0.05)
    notice = next(n for n in found.warnings if n.code == "cache-does-not-fit")
    needed = int(notice.remedy.split(" nodes")[0].split()[-1])
    assert 33 <= needed <= 60


def test_more_input_per_memory_than_any_run_is_said_and_widens() -> None:
    model = fit(*(run(count, size) for count, size in GRID))
    inside = model.predict(cluster=nodes(2), workload=Workload(1.0))
    beyond = model.predict(cluster=nodes(2), workload=Workload(4.0))
    assert "memory-not-proven" in codes(beyond.warnings)
    assert "memory-not-proven" not in codes(inside.warnings)
    assert (beyond.high or 0.0) / beyond.low > 1.5 * (inside.high or 0.0) / inside.low
