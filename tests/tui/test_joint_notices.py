"""Notices that say one thing with several codes are told in one line; JSON keeps their codes."""

import io
from contextlib import redirect_stderr
from types import SimpleNamespace

import pytest

from engine import Notice
from tui.headless import choice_words, output
from tui.joint_notices import NEARER, joint_groups, joint_remedy, joint_text
from tui.views.marks import marks_of
from tui.views.sentences import REMEDIES, warnings
from tui.widgets.glyphs import choose_glyphs

SKEW = Notice("skewed-stage", "stage 2 waits", "split it")
NODES = Notice("extrapolating-nodes", "observed on 2 slots, asked for 8", "nearer cluster")
SIZE = Notice("extrapolating-size", "the input is 4 times the largest", "nearer size")
SINGLE = Notice("single-run", "only one run", "add a log")
SPEED = Notice("transferred-speed", "not measured", "run it there")


def test_little_evidence_is_one_group_where_its_first_stands():
    assert joint_groups([SKEW, NODES, SPEED, SIZE, SINGLE]) == [
        (SKEW,),
        (SINGLE, NODES, SIZE),
        (SPEED,),
    ]
    assert joint_groups([SKEW, SPEED]) == [(SKEW,), (SPEED,)]


def test_what_is_assumed_of_unknown_machines_is_told_once():
    speed = Notice("unknown-source-type", "nothing says where it ran", "name it")
    arch = Notice("assumed-architecture", "x86_64 is assumed", "name where it ran, or the types")
    group, other = joint_groups([speed, SKEW, arch])
    assert (group, other) == ((arch, speed), (SKEW,))
    assert joint_remedy(group) == "name where it ran, or the types", "it helps against both"
    (line,) = warnings(group, marks_of(choose_glyphs("unicode")))
    assert line[-1][0] == " Press w to name where it ran, or / to name the types."


def test_what_a_broken_run_lacks_is_told_once_for_each_remedy():
    failed, part, without = (
        Notice(code, code, "give the log of a run that succeeded")
        for code in ("failed-stages", "stage-in-part", "stage-without-tasks")
    )
    torn = Notice("incomplete-log", "the last event was torn", "fetch the log again")
    given = [failed, torn, part, without, SKEW]
    assert joint_groups(given) == [(failed, part, without), (torn,), (SKEW,)]


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ((NODES,), "nearer cluster"),
        ((SIZE,), "nearer size"),
        ((NODES, SIZE), NEARER),
        ((SINGLE, NODES, SIZE), "add a log"),
    ],
)
def test_one_remedy_is_for_all_of_a_group(given, remedy):
    (group,) = joint_groups(given)
    assert joint_remedy(group) == remedy
    assert all(notice.text in joint_text(group) for notice in given)


def test_the_planner_has_one_line_with_the_keys_to_press():
    lines = warnings([NODES, SINGLE, SPEED], marks_of(choose_glyphs("unicode")))
    said = ["".join(part for part, _ in line) for line in lines]
    assert len(said) == 2
    assert said[0].lower().endswith(f"only one run; {NODES.text}. {REMEDIES['single-run']}.")


def test_a_printed_line_has_every_code():
    stream = io.StringIO()
    with redirect_stderr(stream):
        output.print_notices([SINGLE, NODES, NODES])
    assert stream.getvalue() == (
        f"warning: only one run; {NODES.text} [single-run, extrapolating-nodes]; add a log\n"
    )


def miss(name, code, reason, composition=None):
    return SimpleNamespace(instance=name, code=code, reason=reason, composition=composition)


def test_rejections_of_one_reason_are_a_line_with_the_nearest_miss():
    late = [miss(f"t{i}", "deadline", f"misses it by {i} s", {f"t{i}": 1}) for i in range(1, 7)]
    small = [miss(name, "no-executor", "holds no executor") for name in ("a", "b")]
    assert choice_words.rejected_lines([*late, *small]) == [
        "rejected (8)",
        "  t1: misses it by 1 s",
        "  likewise 5 other types, none nearer: t2, t3, t4 and 2 more (--json lists them)",
        "  a: holds no executor",
        "  b: holds no executor",
    ]


def test_rejections_by_limits_are_told_apart_by_their_reason():
    """And no order by both limits says which type misses them by the least."""
    none = [miss(f"n{i}", "limits", "the limits allow none of it") for i in range(4)]
    two = [miss(f"t{i}", "limits", "no fewer than 2 workers") for i in range(2)]
    both = [miss(f"b{i}", "deadline-and-budget", f"by {i} s", {f"b{i}": 1}) for i in range(4)]
    assert choice_words.rejected_lines([*none, *two, *both]) == [
        "rejected (10)",
        "  n0: the limits allow none of it",
        "  likewise 3 other types: n1, n2, n3",
        "  t0: no fewer than 2 workers",
        "  t1: no fewer than 2 workers",
        "  b0: by 0 s",
        "  likewise 3 other types: b1, b2, b3",
    ]
