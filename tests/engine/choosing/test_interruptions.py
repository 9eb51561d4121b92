"""Delays by interruptions of spot nodes: ranges, simulated interruptions, notices."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from two_types import CATALOG, TODAY, fitted, spot

import engine
from engine.choosing.interruptions import (
    HOURS_PER_MONTH,
    LostWork,
    SpotNodes,
    interruption_delay,
    interruption_notice,
    interruption_rate,
    interruptions_per_hour,
    monthly_share,
    with_interruption_delays,
)
from engine.forecast import Forecast
from engine.mixing.composition import predict_composition
from engine.optimiser import recommend
from engine.stage_run import Measure, StageRun
from engine.units import format_seconds


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("<5%", (0.0, 0.05)),
        ("5-10%", (0.05, 0.10)),
        (">20%", (0.20, None)),
        (None, None),
        ("often", None),
        ("10-5%", None),
        ("50-150%", None),
        (">100%", None),
        ("<0%", None),
        ("<100%", None),
        (">0%", None),
    ],
)
def test_ranges(text: str | None, share: tuple[float, float | None] | None) -> None:
    assert monthly_share(text) == (pytest.approx(share) if share and share[1] else share)


def test_a_month_at_the_hourly_rate_interrupts_that_share() -> None:
    for share in (0.05, 0.2):
        assert 1.0 - math.exp(-interruptions_per_hour(share) * HOURS_PER_MONTH) == pytest.approx(
            share
        )


@pytest.mark.parametrize("interruption", ["<5%", "5-10%", "15-20%", ">20%", "50-100%"])
@pytest.mark.parametrize("nodes", [1, 8, 40])
def test_what_is_said_of_interruptions_is_what_the_forecast_counts(
    interruption: str, nodes: int
) -> None:
    """Of a share of 100 % nobody knows how often: such a range is open, as ">20%" is."""
    kind, seconds, work = spot("a", 4, 1.0, interruption), 7200.0, LostWork(30.0, 0.5)
    delay = interruption_delay([SpotNodes(kind, nodes, 1.0 / nodes)], work, seconds=seconds)
    assert (delay.most is None) == (interruption in (">20%", "50-100%"))
    rate = np.array([interruption_rate(kind) * nodes * (1.0 / nodes)])
    square = np.array([interruption_rate(kind) * nodes * (1.0 / nodes) ** 2])
    plain = Forecast.of(np.array([seconds]), 0.0)
    longer = with_interruption_delays(plain, work, rate=rate, square=square)
    assert longer.seconds[0] - seconds == pytest.approx(delay.mean_seconds)
    spread = longer.log_scale[0] * longer.seconds[0]
    assert spread == pytest.approx(delay.deviation_seconds)


def test_what_has_no_time_has_none_with_interruptions_either() -> None:
    never = Forecast.of(np.array([np.inf, np.inf]), 0.1, 3.0)
    rates = np.array([0.0, 0.01])
    longer = with_interruption_delays(never, LostWork(1.0, 1.0), rate=rates, square=rates)
    assert longer.seconds.tolist() == [math.inf, math.inf]


def test_the_law_is_the_mean_and_the_spread_of_simulated_runs() -> None:
    nodes, hours, phi, task = 20, 30.0, 0.4, 40.0
    seconds = hours * 3600.0
    delay = interruption_delay(
        [SpotNodes(spot("a", 4, 0.2, "5-10%"), nodes, 1.0 / nodes)],
        LostWork(task, phi),
        seconds=seconds,
    )
    rng = np.random.default_rng(7)
    rate = delay.mean_seconds / delay.seconds_each / (nodes * hours)
    delays = []
    for _ in range(40_000):
        at = rng.uniform(0.0, seconds, rng.poisson(rate * nodes * hours))
        # Done so far is lost in part, what is left runs on fewer nodes.
        lost = rng.uniform(0.0, task, len(at)) + phi * at + (seconds - at)
        delays.append(float(lost.sum()) / nodes)
    assert np.mean(delays) == pytest.approx(delay.mean_seconds, rel=0.05)
    # The law's spread is an upper one: the two parts with T make up for each other.
    assert 0.7 * delay.deviation_seconds <= np.std(delays) <= 1.03 * delay.deviation_seconds


def notices(interruption: str | None, **goal) -> list[engine.Notice]:
    offers = [spot("small", 4, 0.20, interruption), spot("big", 32, 1.50, interruption)]
    catalog = replace(CATALOG, offers={o.instance.name: o for o in offers})
    chosen = recommend(
        fitted(), catalog=catalog, deadline_seconds=300.0, confidence=0.5, max_nodes=40,
        today=TODAY, **goal,
    ).recommended  # fmt: skip
    return [notice for notice in chosen.warnings if notice.code == "spot-interruptions"]


@pytest.mark.parametrize("mix", [1, 2])
def test_spot_says_what_interruptions_cost(mix: int) -> None:
    (notice,) = notices("5-10%", spot=True, mix=mix)
    assert "5-10% a month" in notice.text
    assert "in the time, interval and cost shown" in notice.text
    assert notices("5-10%", spot=False, mix=mix) == []


def told(interruption: str, seconds: float) -> str:
    notice = interruption_notice(
        [SpotNodes(spot("small", 4, 0.20, interruption), 20, 0.05)],
        nodes=20, seconds=seconds, usd_per_second=0.001, run=None,
    )  # fmt: skip
    return notice.text


def test_few_interruptions_are_told_as_runs_for_each_of_them() -> None:
    """Of a short run it was "0.0223 ms ± 18.5 ms and $1.02e-08 more"."""
    assert "expected in 1 of 14,000 to 1 of 6,900 runs (small 5-10% a month)" in told("5-10%", 180)
    assert "expected in at most 1 of 14,000 runs" in told("<5%", 180)
    assert "expected in at least 1 of 3,300 runs" in told(">20%", 180)
    for interruption in ("<5%", "5-10%", ">20%"):
        assert "less than 0.1 % more" in told(interruption, 180)
        assert not set(told(interruption, 180)) & set("±$")
    # Of a range from none on it is the upper end that is rare, or not.
    for interruption in ("<5%", "5-10%"):
        assert "±" in told(interruption, 48 * 3600)
    assert "less than 0.1 % more" in told("<1%", 36 * 3600)
    rare = [SpotNodes(spot("small", 4, 0.20, "<5%"), 1, 1.0)]
    only = interruption_notice(rare, nodes=1, seconds=5 * 86400.0, usd_per_second=0.001, run=None)
    assert "less than 1 % more" in only.text


@pytest.mark.parametrize(("nodes", "ends"), [(1, True), (2, False), (20, False)])
def test_an_interruption_of_the_only_node_ends_the_run(nodes: int, ends: bool) -> None:
    notice = interruption_notice(
        [SpotNodes(spot("small", 4, 0.20, "5-10%"), nodes, 1.0 / nodes)],
        nodes=nodes, seconds=3600.0, usd_per_second=0.001, run=None,
    )  # fmt: skip
    assert ("and ends it if the node is not replaced" in notice.text) is ends


def test_an_unknown_range_is_said_and_an_open_one_is_no_number() -> None:
    assert "is not known" in notices(None, spot=True)[0].text
    assert "at least" in notices(">20%", spot=True)[0].text


def test_what_is_said_of_unlike_nodes_is_what_their_forecast_counts() -> None:
    """Types of unlike capacity, range and number of spot nodes, one whose range is not known."""
    seconds, plain = 7200.0, Forecast.of(np.array([7200.0]), 0.0)
    members = [
        SpotNodes(spot("a", 4, 1.0, "5-10%"), 3, 0.05),
        SpotNodes(spot("b", 16, 1.0, ">20%"), 1, 0.4),
        SpotNodes(spot("c", 8, 1.0, None), 2, 0.1),
    ]
    delay = interruption_delay(members, LostWork(30.0, 0.5), seconds=seconds)
    rates = [interruption_rate(kind) * nodes for kind, nodes, _ in members]
    lost = np.array([one.share for one in members])
    rate, square = np.array([rates @ lost]), np.array([rates @ lost**2])
    longer = with_interruption_delays(plain, LostWork(30.0, 0.5), rate=rate, square=square)
    assert delay.mean_seconds == pytest.approx(longer.seconds[0] - seconds)
    assert delay.deviation_seconds == pytest.approx(longer.log_scale[0] * longer.seconds[0])
    each = np.average(lost, weights=rates) * (30.0 + 1.5 * seconds) / 2.0
    assert delay.seconds_each == pytest.approx(each)
    notice = interruption_notice(members, nodes=9, seconds=seconds, usd_per_second=0.001, run=None)
    assert "(a 5-10%, b >20% a month)" in notice.text
    assert notice.text.endswith("c is interrupted is not known: no work that it loses is counted")


def test_a_large_node_of_a_mix_takes_its_share_of_the_work_with_it() -> None:
    """One node of 32 vCPUs beside four of 4 is two thirds of the cluster: its loss holds the run up
    by two thirds of what is left, and not by a fifth."""
    offers = [spot("small", 4, 0.20, "5-10%"), spot("big", 32, 1.50, "5-10%")]
    catalog = replace(CATALOG, offers={o.instance.name: o for o in offers})

    def predicted(max_spot: float | None) -> engine.Choice:
        return predict_composition(
            fitted(), composition={"small": 4, "big": 1}, catalog=catalog, today=TODAY,
            spot=max_spot is not None, max_spot=max_spot,
        ).choice  # fmt: skip

    plain, part = predicted(None), predicted(0.2)
    assert part.spot == {"big": 1}
    (text,) = [n.text for n in part.warnings if n.code == "spot-interruptions"]
    hours = plain.seconds / 3600.0
    each = (part.seconds - plain.seconds) / (interruption_rate(offers[1]) * hours)
    assert f"one holds it up by {format_seconds(each)} " in text


def test_nodes_one_owns_are_not_interrupted() -> None:
    limits = engine.Limits(owned=(("small", 40), ("big", 40)))
    assert notices("5-10%", spot=True, limits=limits) == []


def chosen(interruption: str | None, **goal) -> engine.Choice:
    offers = [spot("small", 4, 0.20, interruption)]
    catalog = replace(CATALOG, offers={o.instance.name: o for o in offers})
    limits = engine.Limits(min_nodes=20)
    return recommend(
        fitted(), catalog=catalog, deadline_seconds=600.0, confidence=0.5, max_nodes=20,
        today=TODAY, limits=limits, **goal,
    ).recommended  # fmt: skip


def test_interruptions_are_in_time_interval_probability_and_cost() -> None:
    before = chosen(None, spot=True)
    assert before.seconds == chosen(None).seconds == chosen("5-10%").seconds
    for interruption in ("<5%", "5-10%", "15-20%"):
        now = chosen(interruption, spot=True)
        assert now.seconds > before.seconds
        assert now.cost.workers_usd > before.cost.workers_usd
        assert now.high / now.low > before.high / before.low
        assert now.p_deadline < before.p_deadline
        before = now


@given(
    seconds=st.floats(1.0, 1e6),
    scale=st.floats(0.001, 0.5),
    task=st.floats(0.0, 1e3),
    phi=st.floats(0.0, 1.0),
    rates=st.lists(st.floats(0.0, 1e-3), min_size=2, max_size=6),
    nodes=st.integers(1, 500),
    later=st.floats(1.05, 3.0),
)
def test_the_higher_the_rate_the_longer_and_the_less_sure(
    seconds: float, scale: float, task: float, phi: float, rates: list[float], nodes: int,
    later: float,
) -> None:  # fmt: skip
    model = Forecast.of(np.asarray([seconds]), scale, 8.0)
    rate = np.asarray([0.0, *sorted(rates)])
    ones = np.ones(len(rate))
    found = with_interruption_delays(
        Forecast.of(seconds * ones, scale, 8.0), LostWork(task, phi), rate=rate, square=rate / nodes
    )
    assert found.seconds[0] == model.seconds[0]
    assert found.log_scale[0] == model.log_scale[0]
    assert (np.diff(found.seconds) >= 0.0).all()
    assert (np.diff(found.log_scale) >= -1e-9 * found.log_scale[1:]).all()
    # From the predicted time on: to a deadline that is missed as a rule, more spread is no harm.
    deadline = float(found.seconds[-1]) * later
    assert (np.diff(found.p_within(deadline)) <= 1e-12).all()


def test_the_law_of_unlike_nodes_takes_the_share_of_the_capacity() -> None:
    model = Forecast.of(np.asarray([7200.0]), 0.1, 8.0)
    half = with_interruption_delays(
        model, LostWork(30.0, 0.5), rate=np.asarray([0.5e-3]), square=np.asarray([0.5e-4])
    )
    hours, each = 2.0, (30.0 + 1.5 * 7200.0) / 2.0
    assert half.seconds[0] == pytest.approx(7200.0 + hours * 0.5e-3 * each)
    spread = math.sqrt(4.0 / 3.0 * hours * 0.5e-4) * each / half.seconds[0]
    assert half.log_scale[0] == pytest.approx(math.hypot(0.1, spread))


def test_work_of_a_job_is_its_tasks_and_the_share_that_is_shuffled() -> None:
    """Stages of 10 tasks of 3 s that write a shuffle, of 5 of 2 s that write none, of none."""

    def measure(count: int, each: float) -> Measure:
        return Measure(count, count * each, (each,) if count else ())

    def stage(number: int, count: int, each: float, written: float | None) -> StageRun:
        shuffle = None if written is None else measure(1, written)
        times = measure(count, each)
        return StageRun(number, "s", count, 0.0, 1.0, times, shuffle_write_bytes=shuffle)

    cluster = engine.Cluster.of_executors(executors=4, executor_cores=2)
    run = engine.Run(100.0, cluster, engine.Workload(1e9))
    for written in (None, 0.0):
        stages = (stage(0, 10, 3.0, 1e6), stage(1, 5, 2.0, written), stage(2, 0, 0.0, 1e6))
        lost = LostWork.of(replace(run, stages=stages))
        assert (lost.task_seconds, lost.shuffle_share) == (pytest.approx(40.0 / 15.0), 0.75)
    assert LostWork.of(run) == LostWork.of(None) == LostWork(0.0, 1.0)
