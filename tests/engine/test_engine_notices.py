"""Warnings stand in one order: what makes the answer wrong, what makes it doubtful, notes."""

import ast
import re
from pathlib import Path

import engine
from engine.notices import NOTES, USUAL, WRONG

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


def said_codes() -> set[str]:
    """The codes of all `Notice(...)`: texts, or constants of a module or of the one that it imports
    them from."""
    paths = [*ROOT.glob("engine/**/*.py"), *ROOT.glob("tui/**/*.py")]
    modules = [(text, ast.parse(text)) for text in (path.read_text() for path in paths)]
    everywhere = {name: text for _, tree in modules for name, text in text_constants(tree).items()}
    codes = set()
    for text, tree in modules:
        if "Notice(" not in text:
            continue
        known = everywhere | text_constants(tree)
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("Notice", "engine.Notice"):
                code = call.args[0]
                chosen = (code.body, code.orelse) if isinstance(code, ast.IfExp) else (code,)
                names = (
                    one.value if isinstance(one, ast.Constant) else known.get(ast.unparse(one))
                    for one in chosen
                )
                codes |= {name for name in names if name is not None}
    return codes


def text_constants(tree: ast.Module) -> dict[str, str]:
    """The names of a module that are texts."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = (
                zip(target.elts, value.elts, strict=True)
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                else [(target, value)]
            )
            found |= {
                ast.unparse(name): str(text.value)
                for name, text in pairs
                if isinstance(text, ast.Constant)
            }
    return found


def test_every_code_stands_on_a_page() -> None:
    pages = " ".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    told = said_codes()
    named = {"executors-do-not-fit", "groups-inferred", "transferred-parameters", "not-planned"}
    assert {"single-run", "few-runs", *named} <= told
    assert sorted(code for code in told if f"`{code}`" not in pages) == []


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
