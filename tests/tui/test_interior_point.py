"""What the command says of OptEx's own method beside the exact search."""

import pytest
from command_line import answer, run

ASKED = "recommend nightly-features --ran-on m5.xlarge --catalog aws --method interior-point"
OVER_BUDGET = f"{ASKED} --instances c5.large --max-nodes 20 --deadline 237s --budget 0.03618"
TWELVE = "predict nightly-features --ran-on m5.xlarge --catalog aws --instance c5.xlarge --nodes 12"

NOT_COMPARED = ", of which OptEx's own method need not find the best, model"


def test_where_rounding_misses_the_goal_the_exact_answer_is_told_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, err = run(capsys, OVER_BUDGET, status=1)
    first, *lines = out.splitlines()
    assert first.startswith("OptEx's own method finds no composition that satisfies the goal (")
    assert first.endswith("; its nearest miss:")
    assert lines[0].startswith("2 × c5.large  ")
    exact = lines[lines.index("the exact search finds one that satisfies it:") + 1]
    assert exact.startswith("1 × c5.large  ")
    assert "would do" not in out, "no other goal is needed"
    assert NOT_COMPARED in out
    assert "misses the goal in whole nodes: over budget by" in err


def test_without_a_real_point_the_exact_answer_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Both limits are those of 12 nodes themselves: nothing lies strictly between them."""
    twelve = answer(capsys, f"{TWELVE} --confidence 0.8")
    seconds, usd = (twelve[key] * (1.0 + 1e-9) for key in ("high", "cost_usd"))
    limits = f"--deadline {seconds!r}s --budget {usd!r}"
    no_room = f"{ASKED} --instances c5.xlarge --max-nodes 20 {limits}"
    out, _ = run(capsys, no_room, status=1)
    first, second, *_ = out.splitlines()
    assert first.startswith("OptEx's own method finds no composition that satisfies the goal (")
    assert first.endswith("; the exact search finds:")
    assert second.startswith("12 × c5.xlarge  ")
    assert "miss:" not in out
    found = answer(capsys, no_room, status=1)
    assert found["recommended"] is found["nearest_miss"] is None
    assert found["nearest"]["composition"] == {"c5.xlarge": 12}
    assert found["alternatives"][0] == found["nearest"]


def test_what_the_exact_search_proved_is_not_doubted(capsys: pytest.CaptureFixture[str]) -> None:
    """The same composition, and that there is none."""
    for limits, status in (("--max-nodes 1 --deadline 10m", 0), ("--deadline 5s", 1)):
        out, _ = run(capsys, f"{ASKED} --instances c5.xlarge {limits}", status=status)
        assert "compositions evaluated, model" in out
    assert "no composition satisfies the goal (deadline 5 s at 90 %); the nearest miss:" in out


def test_its_answer_can_be_exported(capsys: pytest.CaptureFixture[str]) -> None:
    """Only what the exact search finds could be."""
    job = "optex-als-standalone --iterations 10 --catalog papers --instances m2.xlarge"
    line = f"export {job} --deadline 200s --to spark-submit --method"
    for method, nodes in (("exact", 4), ("interior-point", 5)):
        found = answer(capsys, f"{line} {method}")
        assert found["recommended"]["composition"] == {"m2.xlarge": nodes}
        assert f"--num-executors {nodes} " in found["export"]["text"]
