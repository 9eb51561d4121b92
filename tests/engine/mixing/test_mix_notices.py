"""Notices about a cluster of several types are true of that cluster, and given once."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

import pytest

import engine
from engine.notices import worst_of_each

TODAY = date(2026, 8, 1)


def warned(code: str, composition: dict[str, int], **more) -> list[str]:
    catalog = engine.load_catalog("aws")
    profile = engine.read("nightly-features", ran_on=catalog.offer("m5.xlarge").instance)
    found = engine.predict_composition(
        engine.fit(profile), composition=composition, catalog=catalog, today=TODAY, **more
    )
    return [notice.text for notice in found.choice.warnings if notice.code == code]


def test_how_far_it_extrapolates_is_said_with_its_own_slots() -> None:
    """It was said of every point behind the mix: 32, 64 and 36 slots of a cluster of 36."""
    said = warned("extrapolating-nodes", {"c7a.8xlarge": 1, "c7a.xlarge": 1})
    assert said == ["observed on 2 slots, asked for 36"]


def test_a_member_on_demand_has_no_estimated_price() -> None:
    """The spot price of a type whose nodes are on demand is no part of the cost."""
    composition = {"r7a.8xlarge": 1, "c7a.xlarge": 1}
    said = warned("estimated-price", composition, spot=True, max_spot=0.5)
    assert len(said) == 1
    assert said[0].startswith("the spot price of r7a.8xlarge is an estimate of 2025-06-28: on-de")
    assert warned("estimated-price", composition) == []


@pytest.mark.parametrize("nodes", [2, 8])
def test_one_type_in_two_ways_says_it_once(nodes: int) -> None:
    said = warned("old-price", {"c7a.xlarge": nodes}, spot=True, max_spot=0.5)
    assert len(said) == len(set(said)) == 1


def test_a_runner_up_is_exported_with_all_that_the_model_warns_of() -> None:
    """Only what is recommended was; the cost says what it is at the ends of the interval."""
    catalog = engine.load_catalog("aws")
    profile = engine.read("nightly-features", ran_on=catalog.offer("m5.xlarge").instance)
    plan = engine.prepare(engine.PlanRequest(profile, catalog, instances=("c7a.*", "m7a.*")))
    goal = engine.Goal(deadline_seconds=60.0, budget_usd=None, confidence=0.9, max_nodes=64)
    found = plan.report(goal).recommendation
    second = found.alternatives[0]
    text = plan.export(found, to="spark-submit", choice=second)
    assert "[extrapolating-nodes]" in text
    assert "% of runs: " in text
    low, high = (f"${usd:#.3g}" for usd in (second.cost_low_usd, second.cost_high_usd))
    assert f"(at these times: {low} to {high})" in text


def test_what_differs_by_its_figures_alone_is_said_once_with_the_largest(tmp_path: Path) -> None:
    """Of two types at nodes around the mix's it was said three times: 1.1, 1.6 and 1.5 times."""
    table = tmp_path / "runs.csv"
    rows = ["2,20GB,1900", "4,20GB,1010", "4,40GB,1960", "8,40GB,1040", "8,20GB,1900"]
    named = [f"{row},m5.2xlarge,8,32" for row in (*rows, "16,40GB,610")]
    table.write_text("\n".join(["nodes,input_size,seconds,instance_type,vcpus,memory_gib", *named]))
    catalog, fitted = engine.load_catalog("aws"), engine.fit(engine.read(table))
    found = engine.predict_composition(
        fitted, composition={"c7a.xlarge": 9, "c6a.2xlarge": 1}, catalog=catalog, today=TODAY
    ).choice.warnings
    codes = Counter(notice.code for notice in found)
    assert codes["memory-not-proven"] == 1
    assert codes["transferred-speed"] == 2, "a type is told by the digits of its name"
    own = {
        notice.text
        for name, nodes in (("c7a.xlarge", 11), ("c6a.2xlarge", 6))
        for notice in engine.predict_composition(
            fitted, composition={name: nodes}, catalog=catalog, today=TODAY
        ).choice.warnings
        if notice.code == "memory-not-proven"
    }
    assert len(own) == 2


LARGE, SMALL = {"m5.8xlarge": 2, "c5.xlarge": 40}, {"c5.xlarge": 1, "m5a.xlarge": 1}


@pytest.mark.parametrize(
    ("job", "model", "times", "nodes", "code", "figure", "worst"),
    [
        ("sales-report-large", "sparkplan", 1, LARGE, "too-few-tasks", r"for (\S+) slots", max),
        ("movie-als-large", "simcost", 1, LARGE, "too-few-tasks", r"for (\S+) slots", max),
        ("movie-als-large", "sparkplan", 1000, SMALL, "cache-does-not-fit", r"hold (\S+) GB", min),
        ("movie-als-large", "sparkplan", 1000, SMALL, "memory-spill", r"about (\S+) GB", max),
        ("movie-als-large", "boe", 1000, SMALL, "disk-does-not-fit", r"up to (\S+) GB", max),
    ],
)
def test_the_worst_of_the_clusters_behind_a_mix_is_said_once(
    job: str, model: str, times: float, nodes: dict[str, int], code: str, figure: str,
    worst: Callable[[list[float]], float], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """For each stage and type; the others say the same of a few nodes more or less."""
    told: list[engine.Notice] = []

    def kept(notices: Iterable[engine.Notice]) -> list[engine.Notice]:
        told.extend(found := list(notices))
        return worst_of_each(found)

    monkeypatch.setattr("engine.mixing.notices.worst_of_each", kept)
    profile = engine.read(job)
    found = engine.predict_composition(
        engine.fit(profile, model=model), composition=nodes,
        catalog=engine.load_catalog("aws"), workload=profile.workload_at(times), today=TODAY,
    ).choice.warnings  # fmt: skip

    def figures(notices: Iterable[engine.Notice]) -> dict[str, list[float]]:
        by_subject: dict[str, list[float]] = {}
        for text in sorted({notice.text for notice in notices if notice.code == code}):
            subject = " ".join(re.findall(r"stage \d+|\w+\.\d*xlarge", text)[:1])
            number = float(re.search(figure, text)[1].replace(",", ""))
            by_subject.setdefault(subject, []).append(number)
        return by_subject

    every, said = figures(told), figures(found)
    assert max(len(values) for values in every.values()) > 1, "they differ by their figures"
    assert said == {subject: [worst(values)] for subject, values in every.items()}


@pytest.mark.parametrize("order", [1, -1])
def test_of_one_subject_the_worst_is_kept_whatever_the_order(order: int) -> None:
    """Stages of iterations have one label: they are told apart by their number."""
    said = [
        engine.Notice(
            "skewed-stage",
            f"{stage} waits for one task that takes {times} times the mean",
            "look at its keys",
            subject=stage,
            severity=times,
        )
        for stage, times in (
            ("stage 3 (reduce)", 9),
            ("stage 17 (reduce)", 4),
            ("stage 17 (reduce)", 16),
        )
    ]
    assert {notice.text for notice in worst_of_each(said[::order])} == {said[0].text, said[2].text}


def test_without_a_subject_each_text_is_kept() -> None:
    said = [engine.Notice("few", f"{name} has few tasks", "add a log") for name in "aba"]
    assert worst_of_each(said) == said[:2]
