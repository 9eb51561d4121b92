"""Errors and warnings: what they say, and in which order warnings stand."""

import re
from pathlib import Path

import engine
from engine.errors import BadInput, ServiceUnavailable, UnknownName
from engine.notices import NOTES, USUAL, WRONG


def test_an_error_says_what_where_and_what_to_do_in_one_line() -> None:
    error = BadInput("no column\nseconds", where="runs.csv:1", remedy="add it", choices=("a", "b"))
    assert str(error) == "runs.csv:1: no column seconds; add it (choices: a, b)"


def test_exit_codes_belong_to_the_class() -> None:
    assert BadInput("x").exit_code == 2
    assert ServiceUnavailable("x").exit_code == 3


def test_an_unknown_name_offers_close_matches_before_the_whole_list() -> None:
    known = ["m5.xlarge", "m5.large", "r5.xlarge"]
    near = str(UnknownName("instance type", "m5.xlrge", known))
    assert "did you mean m5.xlarge" in near
    assert near.endswith("(choices: m5.large, m5.xlarge, r5.xlarge)")
    assert "choices: m5.large, m5.xlarge, r5.xlarge" in str(UnknownName("type", "zzz", known))


def test_a_list_too_long_to_help_is_left_out() -> None:
    assert "choices" not in str(UnknownName("type", "zzz", [f"t{i}" for i in range(500)]))


def test_a_list_of_many_lines_is_left_out_as_well() -> None:
    said = str(
        UnknownName("sample", "zzz", [f"a-long-name-{i:020}" for i in range(20)], remedy="r")
    )
    assert said == "unknown sample 'zzz'; r"


def test_a_cell_gone_wrong_does_not_fill_the_screen() -> None:
    said = str(BadInput(f"no number: '{'9' * 6000}'", where="a/path/" * 50, remedy="correct it"))
    assert said.startswith("a/path/" * 50 + ": no number: '999")
    assert said.endswith("999'; correct it")
    assert len(said) < 600


def test_a_name_in_other_capitals_is_the_one_that_was_meant() -> None:
    """`--instance M5.XLARGE` and `--to EMR` were told of no name that is like them."""
    known = [f"{family}.{size}" for family in ("m5", "r5", "m5d") for size in ("large", "xlarge")]
    assert UnknownName("instance type", "M5.XLARGE", known).close == ("m5.xlarge",)
    assert UnknownName("catalog", "AWS", ["aws", "azure"]).close == ("aws",)
    near = UnknownName("instance type", "standard_d4s_v6", ["Standard_D4s_v5", "Standard_E4s_v5"])
    assert near.close[0] == "Standard_D4s_v5"


ROOT = Path(engine.__file__).parents[1]


def notice(code: str, text: str = "said") -> engine.Notice:
    return engine.Notice(code, text, "do something")


def codes(*given: str) -> list[str]:
    return [one.code for one in engine.in_order(map(notice, given))]


def test_what_makes_the_answer_wrong_comes_first_and_notes_last():
    """`predict` said `single-run` before `long-pauses`, as the engine came to them."""
    given = ("several-parameters", "single-run", "long-pauses", "cache-does-not-fit")
    assert codes(*given) == [
        "cache-does-not-fit",
        "long-pauses",
        "single-run",
        "several-parameters",
    ]


def test_what_is_said_of_most_answers_does_not_hide_what_is_said_of_this_one():
    """`single-run` stood first, and cores that never have a task below the fold."""
    assert codes("single-run", "idle-cores", "duplicate-runs") == [
        "idle-cores",
        "single-run",
        "duplicate-runs",
    ]


def test_among_equals_the_order_stays_and_nothing_is_said_twice():
    found = [notice("skewed-stage", name) for name in ("b", "a", "b")]
    assert [one.text for one in engine.in_order(found)] == ["b", "a"]
    assert codes("unheard-of", "single-run") == ["unheard-of", "single-run"]


def test_what_another_says_with_more_of_the_reason_is_left_out():
    both = ("single-run", "unknown-source-type", "no-machine-types")
    assert codes(*both) == ["no-machine-types", "single-run"]
    assert codes(*both[:2]) == ["unknown-source-type", "single-run"]
    assert codes(*both[:2], "nodes-not-told") == ["nodes-not-told", "single-run"]


def test_every_code_in_the_order_is_one_that_is_said():
    here = ROOT / "engine" / "notices.py"
    paths = [path for path in ROOT.glob("engine/**/*.py") if path != here]
    said = "".join(path.read_text() for path in paths)
    assert len({*WRONG, *USUAL, *NOTES}) == len(WRONG) + len(USUAL) + len(NOTES)
    assert [code for code in (*WRONG, *USUAL, *NOTES) if f'"{code}"' not in said] == []


def test_the_docs_tell_the_order():
    text = (ROOT / "docs" / "models" / "sparkplan.md").read_text()
    told = re.findall(r"`([a-z-]+)`", text.partition("stand in one order")[2])
    assert tuple(told) == (*WRONG, *USUAL, *NOTES)


def test_a_prediction_warns_in_order():
    fitted = engine.fit(engine.read("nightly-features"))
    cluster = engine.Cluster.of_executors(executors=40, executor_cores=4, executor_memory_gib=1.0)
    found = fitted.predict(cluster=cluster).warnings
    assert len(found) > 1
    assert found == engine.in_order(found)


def test_a_job_that_spark_ends_or_never_starts_is_told_from_one_that_is_doubtful():
    assert engine.never_ends([notice("single-run"), notice("barrier-needs-slots")])
    assert engine.never_ends([notice("stage-needs-cores")])
    assert not engine.never_ends(map(notice, ("cache-does-not-fit", "fewer-task-cpus")))
