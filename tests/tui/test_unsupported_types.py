"""Types that EMR does not support: hidden, compared, warned of and never exported for EMR."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from command_line import answer, refused, run

from tui.charts import chart_csv
from tui.session import EngineSession
from tui.state import PlanState
from tui.views import at_crosshair, curves
from tui.widgets.glyphs import UNICODE

ON = "nightly-features --ran-on m5.large --deadline 5m"
CODE = "not-supported-by-emr"


def codes(choice: Any) -> set[str]:
    return {warning["code"] for warning in choice["warnings"]}


def test_the_measured_type_is_not_recommended(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"recommend {ON} --max-nodes 8")
    offered = [found["recommended"], *found["alternatives"], *found["frontier"]]
    assert not any("m5.large" in choice["composition"] for choice in offered)
    assert CODE not in codes(found["recommended"])
    (entry,) = (miss for miss in found["rejected"] if miss["instance"] == "m5.large")
    assert (entry["code"], entry["composition"]) == ("not-supported", None)
    assert "not supported by EMR" in entry["reason"]


def test_nor_is_it_part_of_a_mix(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"recommend {ON} --max-nodes 3 --mix 2")
    assert "m5.large" not in found["recommended"]["composition"]
    assert not any("m5.large" in warning["text"] for warning in found["warnings"])


@pytest.mark.parametrize("named", ["--instances m5.large", "--instances m5.large --own m5.large=1"])
def test_naming_it_is_taken_with_a_warning(capsys: pytest.CaptureFixture[str], named: str) -> None:
    found = answer(capsys, f"recommend {ON} --max-nodes 8 {named}")
    assert list(found["recommended"]["composition"]) == ["m5.large"]
    assert CODE in codes(found["recommended"])
    assert run(capsys, f"recommend {ON} --max-nodes 8 {named}")[1].count(CODE) == 1


def test_every_type_of_a_mix_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"predict {ON} --composition c8i.xlarge=1,m5.xlarge=1 --catalog aws")
    said = [warning["text"] for warning in found["warnings"] if warning["code"] == CODE]
    assert len(said) == 1
    assert "c8i.xlarge" in said[0]


@pytest.mark.parametrize("command", ["predict", "curve --over nodes", "curve --over input-size"])
def test_a_time_on_it_is_warned_of(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """Only what chooses among types said so."""
    nodes = "1:4" if "over nodes" in command else "4"
    line = f"{command} nightly-features --ran-on m5.xlarge --instance m5.large --nodes {nodes}"
    said = [w["text"] for w in answer(capsys, line)["warnings"] if w["code"] == CODE]
    assert said == ["EMR does not support m5.large: it starts no such node, whatever time and cost "
                    "say"]  # fmt: skip
    assert CODE not in codes(answer(capsys, f"{line} --platform yarn"))
    assert CODE not in codes(answer(capsys, line.replace("m5.large", "m5.2xlarge")))


def test_another_platform_rents_it(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"recommend {ON} --max-nodes 8 --platform yarn --instances m5.large"
    found = answer(capsys, line)
    assert CODE not in codes(found["recommended"])


@pytest.mark.parametrize("target", ["emr", "terraform"])
@pytest.mark.parametrize("platform", ["emr", "yarn", "kubernetes"])
def test_the_export_for_emr_is_refused(
    capsys: pytest.CaptureFixture[str], target: str, platform: str
) -> None:
    line = f"export {ON} --max-nodes 8 --instances m5.large --platform {platform} --to {target}"
    err = refused(capsys, line)
    assert "EMR does not support m5.large" in err
    assert "m5.xlarge" in err
    assert ("plan for EMR with --platform emr, or take" in err) == (platform != "emr")


def test_the_planner_says_that_there_is_no_price() -> None:
    """The crosshair said $inf, and the cost chart nothing."""
    session, deadline = EngineSession(), 4 * 3600.0
    state = PlanState(
        sources=("nightly-features",), ran_on="m5.large", deadline_seconds=deadline, crosshair=4.0,
        drawn=("m5.large",),
    )  # fmt: skip
    answer = session.answer(state, session.build(state, lambda _: None))
    drawn = curves.drawn_curves(state, answer, [])
    read = at_crosshair.readings(drawn, 4, UNICODE)
    said = "no price (not supported by EMR)"
    for lines in (
        at_crosshair.side_lines(state, read),
        at_crosshair.compact_rows(state, read, 100),
    ):
        words = "\n".join("".join(part for part, _ in line) for line in lines)
        assert said in words
        assert "inf" not in words
    assert curves.unpriced_title(drawn) == f", m5.large: {said}"
    assert curves.unpriced_title(drawn[:1]) == ""
    alone = curves.cost_chart(state, answer, drawn[-1:])
    assert alone.message == f"no cost is known: m5.large: {said}"
    assert said not in curves.band_title(state, drawn[-1:], "cost"), "said once"
    nowhere = replace(drawn[-1][1], seconds=np.full_like(drawn[-1][1].seconds, np.nan))
    assert curves.time_chart(state, answer, [(1, nowhere)]).message == (
        "no time is predicted on m5.large"
    )
    row = chart_csv.of_curves([drawn[-1][1]], confidence=0.9).splitlines()[4].split(",")
    assert (row[1], row[6]) == ("4", "")
