"""The line at the top: what is planned at the left, the prices at the right, whatever the width."""

import re
from dataclasses import replace

import pytest
from depth import values
from fakes import FakeSession, Gated, profile
from rich.cells import cell_len
from screen import at_rest, settled, text_of

from tui.changes import SetSpot
from tui.reducer import reduce
from tui.session import EngineSession
from tui.state import PlanState
from tui.views import bars
from tui.widgets.frame import Frame


@pytest.fixture
async def planned(planner):
    app = planner(ran_on="m5.2xlarge")
    async with app.run_test(size=(80, 24)) as pilot:
        yield await settled(pilot)


def shown(app, width, *, spot=False):
    """The left and the right part as text."""
    state = reduce(app.state, SetSpot(spot))
    left, right = bars.header(state, app.built, "", width=width)
    return tuple("".join(item.text for item in items) for items in (left, right))


@pytest.mark.parametrize("spot", [False, True])
@pytest.mark.parametrize("width", [80, 100, 120, 200])
async def test_the_date_of_the_prices_is_there_and_spot_where_it_is(planned, width, spot):
    """At 80 columns they gave way to where it ran; spot was not said at all."""
    left, right = shown(planned, width, spot=spot)
    assert "2026-07-20" in right
    assert ("spot" in right) == spot
    assert "ran on m5.2xlarge" in left


async def test_the_kind_gives_way_before_where_it_ran_is_cut(planned):
    whole, _ = shown(planned, 200)
    short, right = shown(planned, len(whole) + 13)
    assert " · mllib" in whole
    assert " · mllib" not in short
    assert right == "aws 2026-07-20 "


@pytest.mark.parametrize(
    ("name", "width"),
    values(
        ("azure-databricks", 80), ("azure", 120), deep=[("azure", 80), ("azure-databricks", 120)]
    ),
)
async def test_the_catalog_is_named_and_not_its_provider(planner, name, width):
    """With DBUs a cluster costs more than twice as much; both were "azure eastus"."""
    app = planner(EngineSession(), sources=("sales-report-small",), catalog=name)
    async with app.run_test(size=(width, 24)) as pilot:
        row = text_of(await settled(pilot)).splitlines()[0]
    assert f" {name} " in row


async def test_the_row_of_prices_tells_whether_dbus_are_in_them(planner):
    """With and without DBUs it was the same row."""
    rows = {}
    for name in ("azure", "azure-databricks"):
        app = planner(EngineSession(), sources=("sales-report-small",), catalog=name)
        async with app.run_test(size=(120, 40)) as pilot:
            lines = text_of(await settled(pilot)).splitlines()
        rows[name] = next(line[:40] for line in lines if " Prices " in line)
    assert "eastus 2026-06-18 " in rows["azure"]
    assert "eastus +DBU 2026-06-18 " in rows["azure-databricks"]


LONG = "com.acme.pipelines.nightly.features.CustomerFeatures"


@pytest.mark.parametrize("glyphs", ["unicode", "ascii"])
async def test_a_long_name_is_cut_with_a_mark_before_where_it_ran(planner, glyphs):
    """It was shown whole, and the place where it ran was left out without a mark."""
    session = FakeSession(evidence=replace(profile(), name=LONG))
    app = planner(session, ran_on="m5.2xlarge", glyphs=glyphs)
    async with app.run_test(size=(80, 24)) as pilot:
        row = text_of(await settled(pilot)).splitlines()[0]
    assert LONG[:15] in row
    assert re.search(r"(…|\.\.\.), 3 runs", row)
    assert "ran on m5" in row
    assert "2xlarge" in row or "~" in row
    assert row.rstrip().endswith("2026-07-20")


@pytest.mark.parametrize("width", [77, 78, 79, 80])
async def test_no_blank_stands_behind_a_name_cut_in_a_wide_character(planner, width):
    """ "夜間バッチ売上集計と在庫… , 1 run"."""
    session = FakeSession(
        evidence=replace(profile(), name="夜間バッチ売上集計と在庫照合、各店舗の特徴量")
    )
    async with planner(session, ran_on="m5.2xlarge").run_test(size=(80, 24)) as pilot:
        left, _ = shown(await settled(pilot), width)
    assert "…, 3 runs" in left


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("catalog", [None, "gcp"])
def test_whose_prices_they_will_be_is_said_in_words_that_stand_alone(catalog, width):
    """Beside the long path of a folder that was refused stood "of where it ran"."""
    state = PlanState(sources=("/var/log/spark/apps/a-folder/that-is-deep/below/others",))
    left, right = bars.header(replace(state, catalog=catalog), None, "", width=width)
    said = "".join(item.text for item in right).removeprefix("model sparkplan · ")
    assert said == ("gcp " if catalog else "prices of where it ran ")
    assert left[1].text.startswith(" /var/log/spark")


async def test_what_has_no_room_at_all_leaves_a_mark(planned):
    left, _ = bars.header(planned.state, planned.built, "", width=200)
    bar = bars.Bar(planned.glyphs, firm=True)
    bar.show(left)
    for width in range(30, 60):
        frame = Frame(width, 1, "base")
        bar.draw(frame)
        assert "…" in frame.text(0) or "ran on m5.2xlarge" in frame.text(0)


async def test_where_there_is_room_for_one_part_it_is_what_is_planned(planned):
    assert shown(planned, 50)[1] == ""
    assert "nightly-als" in text_of(planned).splitlines()[0]


BY_HAND = """\
format: sparkplan-profile/1
name: by hand
input_unit: bytes
runs:
- {seconds: 250, executors: 6, executor_cores: 4, input_size: 1000000000}
- {seconds: 150, executors: 12, executor_cores: 4, input_size: 1000000000}
"""


async def test_a_type_that_is_not_used_is_not_where_it_ran(planner, tmp_path):
    """It stood beside the warning that it is not used."""
    path = tmp_path / "hand.yaml"
    path.write_text(BY_HAND, encoding="utf-8")
    app = planner(EngineSession(), sources=(str(path),), ran_on="m5.xlarge")
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        left, _ = shown(app, 200)
        assert "by hand" in left
        assert "ran on" not in left
        assert "not used: m5.xlarge" in text_of(app)
        assert "Where did it run?" not in text_of(app)


async def test_where_it_ran_is_what_was_said_last_while_it_is_read(planner):
    """The header and the inputs named the type before until the plan was built."""
    session = Gated()
    session.go_on.set()
    async with at_rest(planner(session, ran_on="m5.xlarge"), (120, 40)) as (app, pilot):
        session.go_on.clear()
        await app.run_command_line("ran-on r5.2xlarge")
        await pilot.pause()
        assert app.busy
        row = next(line[:40] for line in text_of(app).splitlines() if "Ran on " in line)
        assert "r5.2xlarge" in row
        assert "ran on r5.2xlarge" in shown(app, 200)[0]
        assert "m5.xlarge" not in row + shown(app, 200)[0]
        session.go_on.set()
        await settled(pilot)
        assert "ran on r5.2xlarge" in shown(app, 200)[0]


async def test_types_that_the_runs_name_are_where_they_ran(planner, tmp_path):
    """The type that was said stood there, though the runs name others."""
    path = tmp_path / "runs.csv"
    runs = [f"m5.xlarge,{nodes},1e9,{3600 / nodes}" for nodes in (2, 4, 8)]
    path.write_text("\n".join(["instance_type,nodes,input_size,seconds", *runs]), "utf-8")
    app = planner(EngineSession(), sources=(str(path),), ran_on="r5.2xlarge")
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        left, _ = shown(app, 200)
        assert "ran on m5.xlarge" in left
        assert "r5.2xlarge" not in left
        assert "Ran on   m5.xlarge" in text_of(app)


async def test_in_ascii_a_name_in_another_script_leaves_room_for_what_is_said_of_it(planned):
    """Its codes took three times the cells that were reckoned, and the runs behind it were cut."""
    built = planned.built
    named = replace(built, profile=replace(built.profile, name="売上の日次集計バッチ処理"))
    for ascii_only in (False, True):
        left, right = bars.header(planned.state, named, "", width=80, ascii_only=ascii_only)
        said = "".join(item.text for item in (*left, *right))
        assert cell_len(said) <= 80
        assert ", 3 runs" in said
        assert "2026-07-20" in said
        assert ("\\u58f2" in said) is ascii_only
