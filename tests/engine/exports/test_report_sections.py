"""What each section of a report says, line by line, of an answer that has all of it."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from handovers_made import handover
from two_types import best, fitted

from engine.choosing.limits import Limits
from engine.choosing.owned import recommend_owned
from engine.choosing.recommendation import Rejected
from engine.exports import render
from engine.exports.report import LISTED, Section, format_part, named, sections
from engine.notices import Notice

FOUND = best(300.0, 2)
"""5 large and 3 small nodes for 300 s at 50 %."""

EVIL = "<b>r5</b>\x1b[31m"


def told(**changes: object) -> dict[str, Section]:
    """The sections of the answer with these changes, by title."""
    given = handover(report=replace(FOUND, **changes))
    return {section.title: section for section in sections(given)}


def test_the_goal_is_told_limit_by_limit() -> None:
    assert told()["Goal"].lines == (
        "deadline 5m 00s, met in 50 % of runs",
        "least cost, at most 40 nodes",
    )
    goal = replace(FOUND.goal, deadline_seconds=None, budget_usd=5.0, max_nodes=1)
    assert told(goal=goal)["Goal"].lines == ("budget $5.00", "least time, at most 1 node")


@pytest.mark.parametrize(
    ("objective", "least"), [("resource-time", "resource time"), ("throughput", "time")]
)
def test_a_cluster_one_owns_is_told_in_executors_and_what_it_takes(
    objective: str, least: str
) -> None:
    """The report said "least cost, at most 64 nodes", and listed runners-up without a name."""
    found = recommend_owned(
        fitted(), executor_cores=4, max_executors=40, deadline_seconds=900.0, objective=objective
    )
    shown = {s.title: s for s in sections(handover(report=found, choice=None))}
    assert shown["Goal"].lines[-1] == f"least {least}, at most 40 executors"
    head, row, *_ = shown["Runners-up"].table
    other = found.alternatives[0]
    assert head[3] == "resource time"
    assert (row[0], row[3]) == (
        f"{other.executors} executors of 4 cores", f"{other.vcore_seconds:,.0f} vcore-s",
    )  # fmt: skip


def test_why_it_won_and_of_what_its_cost_consists() -> None:
    found = told()
    assert found["Why"].lines == FOUND.recommended.why
    assert "Why" not in told(recommended=replace(FOUND.recommended, why=()))
    head, *parts, (word, total) = found["Cost"].table
    assert head == ("part", "USD")
    assert [name for name, _ in parts] == ["workers", "master", "rounding", "surcharge"]
    added = sum(float(usd.removeprefix("$")) for _, usd in parts)
    assert word == "total"
    assert added == pytest.approx(float(total.removeprefix("$")), abs=0.002)
    assert found["Cost"].lines == ("4m 59s billed for each node",)
    assert (format_part(-1.0), format_part(1.0)) == ("-$1.00", "$1.00")


def test_nothing_is_billed_where_nothing_is_paid_for() -> None:
    """ "4m 05s billed for each node" stood above a total of $0.00."""
    limits = Limits(owned=(("big", 40), ("small", 40)), owned_master=True)
    free = best(300.0, 2, limits=limits).recommended
    assert free.cost.total_usd == 0.0 < free.cost.billed_seconds
    found = told(recommended=free)["Cost"]
    assert (found.lines, found.table) == ((), (("part", "USD"), ("total", "$0.00")))


def test_the_choice_that_is_exported_goes_before_the_one_that_is_recommended() -> None:
    other = replace(FOUND.alternatives[0], why=("it is the second",))
    given = {s.title: s for s in sections(handover(report=FOUND, choice=other))}
    assert given["Why"].lines == ("it is the second",)


def test_runners_up_are_listed_with_what_is_known_of_them() -> None:
    (other,) = FOUND.alternatives
    (_, row) = told()["Runners-up"].table
    assert row == ("6 × big", "4m 28s", "3m 44s to 5m 22s", "$0.859", "66 %")
    unknown = replace(other, low=None, high=None, cost_usd=None, p_deadline=None)
    (_, row) = told(alternatives=(unknown,))["Runners-up"].table
    assert row == ("6 × big", "4m 28s", "none", "not known", "not known")
    assert named(replace(other, spot={"big": 2})) == "6 × big (spot: 2 × big)"
    assert "Runners-up" not in told(alternatives=())


@pytest.mark.parametrize(("count", "lines"), [(LISTED, ()), (LISTED + 1, ("the first 10 of 11",))])
def test_long_lists_say_how_much_of_them_is_shown(count: int, lines: tuple[str, ...]) -> None:
    shown = told(alternatives=FOUND.alternatives[:1] * count)["Runners-up"]
    assert shown.lines == lines
    assert len(shown.table) == 1 + LISTED


def test_what_is_rejected_left_out_and_unproven() -> None:
    no = Rejected("tiny", None, "holds no executor", "no-executor")
    found = told(rejected=(no,), hidden={"arm64": 7}, optimal=False)
    assert found["Rejected"].table == (("type", "reason"), ("tiny", "holds no executor"))
    assert found["Evidence"].lines == (
        f"model {FOUND.model}; {FOUND.evaluated} compositions evaluated: a better one may exist",
        "types left out: arm64: 7",
    )
    (line,) = told()["Evidence"].lines
    assert line.endswith("every composition was compared")
    assert not {"Rejected", "Warnings"} & set(told(rejected=()))


@pytest.mark.parametrize("to", ["markdown", "html"])
def test_words_of_logs_and_price_lists_stay_text_wherever_they_stand(to: str) -> None:
    reason = Rejected(EVIL, None, EVIL, "limits")
    chosen = replace(FOUND.recommended, why=(EVIL,))
    given = handover(
        report=replace(FOUND, rejected=(reason,), recommended=chosen, hidden={EVIL: 1}),
        statement=(EVIL,),
        notices=(Notice("code", EVIL, EVIL),),
        settings={"spark.app.name": EVIL},
    )
    text = render(given, to=to)
    assert "\x1b" not in text.partition("Settings")[0]
    if to == "html":
        assert "<b>" not in text
        root = ElementTree.fromstring(text.replace("\x1b", "").removeprefix("<!DOCTYPE html>"))
        assert "".join(root.itertext()).count("<b>r5</b>") == 9
    else:
        assert "<b>" not in text.partition("## Settings")[0].replace("\\<", "")
