"""Where nothing keeps a deadline, the cluster that likeliest does is told too."""

from dataclasses import replace

import pytest
from fakes import answered
from synthetic import TWO, model

import engine
from tui import format as text
from tui.headless import recommend
from tui.views import sentences
from tui.views.marks import Marks
from tui.views.prose import wrap


def found(vague_seconds: float) -> engine.Recommendation:
    """A sure type that is 2 % late, and a vague one."""
    fitted = model(
        lambda name, nodes: {"slow": 51.0, "fast": vague_seconds}[name] / nodes,
        log_scales={"slow": 0.01, "fast": 0.5},
    )
    return engine.recommend(fitted, catalog=TWO, deadline_seconds=50.0, max_nodes=1)


@pytest.mark.parametrize("vague_seconds", [45.0, 200.0])
def test_what_is_wrong_with_the_likeliest_is_told_where_it_is_named(vague_seconds: float) -> None:
    answer = found(vague_seconds)
    old = [engine.Notice("old-price", f"the price of {name} is old", "") for name in TWO.offers]
    far = [engine.Notice("extrapolating-nodes", f"asked for {n}", "") for n in (1, 2)]
    guessed = engine.Notice("estimated-price", "an estimate", "")
    likeliest = answer.likeliest and replace(answer.likeliest, warnings=(old[1], far[1], guessed))
    nearest = replace(answer.nearest, warnings=(old[0], far[0]))
    warned = recommend.notices(replace(answer, nearest=nearest, likeliest=likeliest))
    own = [old[1], guessed] if vague_seconds == 45.0 else []
    of_model = list(answer.warnings)
    assert warned == [*of_model, old[0], far[0], *own], "of the sizes, the nearest's is told"


@pytest.mark.parametrize("vague_seconds", [45.0, 200.0])
def test_the_likeliest_is_named_where_it_is_likelier(vague_seconds: float) -> None:
    """With 200 s the vague one is hardly ever in time, and the nearest stands alone."""
    answer = found(vague_seconds)
    printed = recommend.as_text(answer, TWO).splitlines()
    told = [
        line for line in printed if line.startswith("likeliest of one type to keep this deadline: ")
    ]
    _, any_answer = answered()
    shown = replace(any_answer, report=replace(any_answer.report, recommendation=answer))
    said = sentences.headline_text(shown, Marks("*", "x", "!"))
    if vague_seconds == 45.0:
        assert len(told) == 1
        assert "1 × fast" in told[0]
        assert "deadline met in 58 % of runs" in told[0]
        assert "Likeliest in time, of one type: 1 × fast in 45 s" in said
        assert "in time in 58 % of runs." in said.split("Likeliest in time, of one type: ")[1]
    else:
        assert told == []
        assert "Nearest: 1 × slow" in said
        assert "Likeliest" not in said


@pytest.mark.parametrize("nodes", [1, 2])
def test_the_likeliest_is_described_once(nodes: int) -> None:
    """A way out had the same cluster, with the same times and costs one line above."""
    answer = found(45.0)
    assert answer.likeliest is not None
    same = replace(answer.likeliest, composition={"fast": nodes})
    compromises = [engine.Compromise(50.0, 0.4, answer.nearest), engine.Compromise(60.0, 0.3, same)]
    both = replace(answer, compromises=tuple(compromises))
    (line,) = (
        line for line in recommend.as_text(both, TWO).splitlines() if line.startswith("likeliest")
    )
    named = line.removeprefix("likeliest of one type to keep this deadline: ")
    assert (named == "the same 1 × fast, in 58 % of runs") is (nodes == 1)
    assert named.startswith("1 × fast  45 s (") is (nodes == 2)
    alone = replace(both, compromises=both.compromises[1:])
    assert "1 × fast  45 s (" in recommend.likeliest_line(alone), "of one, only the goal is told"


def test_in_the_rows_of_a_small_terminal_the_likeliest_is_seen_with_its_chance() -> None:
    """It was told below the three rows, or cut before its chance."""
    state, any_answer = answered()
    report = replace(any_answer.report, recommendation=found(45.0))
    shown, marks = replace(any_answer, report=report), Marks("*", "x", "!")
    for lines in (
        sentences.brief(state, shown, marks),
        sentences.headline_and_reasons(state, shown, marks),
    ):
        rows = [row for line in lines for row in wrap(line, 76)][:3]
        seen = " ".join("".join(part for part, _ in row).strip() for row in rows)
        assert "Likeliest (58 % in time, one type): 1 × fast in 45 s for $" in seen
        assert "; nearest (" in seen


def test_below_two_rows_on_a_deadline_and_a_budget_the_likeliest_is_still_seen() -> None:
    """The nearest miss with its intervals took the one row that was left; the list has it too. That
    the budget chose it is told: others, the nearest among them, may be in time more often."""
    answer = replace(
        found(45.0),
        goal=engine.Goal(50.0, 0.02),
        compromises=tuple(
            engine.Compromise(seconds, usd, found(45.0).nearest)
            for seconds, usd in ((50.0, 0.354), (190.0, 0.02))
        ),
    )
    state, any_answer = answered()
    shown = replace(any_answer, report=replace(any_answer.report, recommendation=answer))
    rows = [
        "".join(part for part, _ in row).strip()
        for line in sentences.brief(state, shown, Marks("*", "x", "!"))
        for row in wrap(line, 76)
    ]
    assert rows[1].endswith("3m 11s within $0.02.")
    likeliest = "Likeliest (58 % in time, one type in budget): 1 × fast in 45 s for $0.0"
    assert rows[2].startswith(likeliest)


def test_the_chance_of_a_nearest_miss_alone_is_before_its_intervals() -> None:
    """It was last, behind the end of the row."""
    state, any_answer = answered()
    report = replace(any_answer.report, recommendation=found(200.0))
    shown = replace(any_answer, report=report)
    _, nearest, *_ = sentences.brief(state, shown, Marks("*", "x", "!"))
    said = "".join(part for part, _ in nearest)
    assert said.startswith("Nearest (2 % in time): 1 × slow in 51 s (9 in 10 runs: 50.2 to")


def test_a_type_that_lost_says_its_chance_where_it_is_looked_at() -> None:
    """How late it is was all that was told of it."""
    state, any_answer = answered()
    recommendation = found(45.0)
    shown = replace(any_answer, report=replace(any_answer.report, recommendation=recommendation))
    for lost in recommendation.rejected:
        (line,) = sentences.selected(
            replace(state, selected=lost.instance), shown, Marks("*", "x", "!")
        )
        said = "".join(part for part, _ in line)
        assert said.endswith(f"; in time in {text.percent(lost.p_deadline)} of runs.")
