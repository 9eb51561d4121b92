"""Times of a stream are those of one micro-batch: every answer says so where it says the time."""

import shlex

import pytest
from screen import settled, text_of

from tui.cli import main
from tui.session import EngineSession
from tui.views import sentences
from tui.views.marks import Marks

STREAM = "order-stream-small"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("predict {}", ("for one micro-batch on ", "9 in 10 micro-batches take ")),
        ("curve {} --over input-size", ("of one micro-batch",)),
        (
            "recommend {} --ran-on m5.xlarge --instances c5.2xlarge --max-nodes 4 --deadline 90s",
            ("that of one micro-batch",),
        ),
        (
            "recommend {} --ran-on m5.xlarge --instances c5.2xlarge --max-nodes 4 --deadline 1ms",
            ("that of one micro-batch",),
        ),
        (
            "export {} --ran-on m5.xlarge --instances c5.2xlarge --max-nodes 4 --deadline 90s"
            " --to spark-submit",
            ("# predicted time of one micro-batch ", "# expected cost of one micro-batch "),
        ),
    ],
)
def test_commands_say_it_on_standard_output(
    line: str, said: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """It was only a warning, which a pipe or the sixth of six lines hides."""
    main(shlex.split(line.format(STREAM)))
    out = capsys.readouterr().out
    assert all(words in out for words in said)
    main(shlex.split(line.format("sales-report-small")))
    assert "micro-batch" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("deadline", "said"), [(60.0, " finishes a micro-batch in "), (0.01, ", a micro-batch in ")]
)
async def test_the_planner_says_it_beside_the_time(planner, deadline, said):
    """It said that the job finishes in what one of its batches takes."""
    app = planner(EngineSession(), sources=(STREAM,), ran_on="m5.xlarge", deadline_seconds=deadline)
    async with app.run_test(size=(80, 24)) as pilot:
        top = text_of(await settled(pilot)).splitlines()[0]
    assert "order-stream, 13 micro-batches" in top
    lines = sentences.headline(app.answer, Marks("*", "x", "!"))
    assert said in "".join(part for line in lines for part, _ in line)
