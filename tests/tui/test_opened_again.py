"""Evidence and prices that changed on the disk are read again when they are named again, in a
command or in a scenario; a scenario that is refused leaves everything as it was."""

from dataclasses import replace

import pytest
from screen import at_rest, settled, text_of

from tui.session import EngineSession

ROWS = ["2,100GB,1000,m5.xlarge", "4,100GB,560,m5.xlarge", "8,100GB,330,m5.xlarge"]
SLOWER = ["2,100GB,1700,m5.xlarge", "4,100GB,900,m5.xlarge", "8,100GB,500,m5.xlarge"]


def table(path, rows):
    path.write_text("\n".join(["nodes,input_size,seconds,instance_type", *rows, ""]))
    return path


def opened(planner, *sources, **options):
    return planner(EngineSession(), sources=sources, instances=("m5.*",), **options)


@pytest.mark.parametrize("again", ["open", "add", "load"])
async def test_a_table_that_changed_is_read_again(planner, tmp_path, again):
    """The old rows stayed, and the deadline went."""
    runs, kept = table(tmp_path / "runs.csv", ROWS), tmp_path / "kept.yaml"
    async with at_rest(opened(planner, str(runs)), (80, 24)) as (app, pilot):
        await app.run_command_line("deadline 10m")
        await app.run_command_line("ran-on m5.xlarge")
        await settled(pilot)
        await app.run_command_line(f"save {kept}")
        before = app.state
        table(runs, [*SLOWER, "16,100GB,300,m5.xlarge"])
        await app.run_command_line(f"{again} {kept if again == 'load' else runs}")
        await settled(pilot)
        assert len(app.built.profile.runs) == 4
        after = replace(app.state, reading=before.reading, pricing=before.pricing)
        assert after == before
        assert app.answer.report.goal.deadline_seconds == 600.0


PRICES = """\
provider: ours
date: 2026-05-01
source: card
instances: |
  name,vcpus,memory_gib,usd_per_hour
  m5.xlarge,4,16,{}
"""


@pytest.mark.parametrize("again", ["catalog", "load"])
async def test_prices_that_changed_are_read_again(planner, tmp_path, again):
    """The old ones stayed until another catalog had been chosen."""
    runs, kept = table(tmp_path / "runs.csv", ROWS), tmp_path / "kept.yaml"
    prices = tmp_path / "ours.yaml"
    prices.write_text(PRICES.format(0.2))
    async with at_rest(opened(planner, str(runs), catalog=str(prices)), (80, 24)) as (app, pilot):
        await app.run_command_line("deadline 30m")
        await settled(pilot)
        await app.run_command_line(f"save {kept}")
        before = app.answer.best.cost_usd
        prices.write_text(PRICES.format("dear"))
        await app.run_command_line(f"{again} {kept if again == 'load' else prices}")
        await settled(pilot)
        assert "'dear'" in text_of(app)
        prices.write_text(PRICES.format(0.4))
        await app.run_command_line(f"{again} {kept if again == 'load' else prices}")
        await settled(pilot)
        assert app.answer.best.cost_usd == pytest.approx(2.0 * before)


async def test_a_table_that_was_refused_is_read_again_once_mended(planner, tmp_path):
    """What was read of it the first time was refused again."""
    runs = table(tmp_path / "runs.csv", ROWS[:1])
    async with at_rest(
        opened(planner, str(table(tmp_path / "good.csv", ROWS)), model="ernest"), (80, 24)
    ) as (app, pilot):
        await app.run_command_line(f"open {runs}")
        await settled(pilot)
        assert "add runs" in text_of(app)
        assert app.state.sources != (str(runs),)
        table(runs, ROWS)
        await app.run_command_line(f"open {runs}")
        await settled(pilot)
        assert app.state.sources == (str(runs),)
        assert len(app.built.profile.runs) == 3


async def test_a_scenario_without_a_deadline_follows_the_evidence(planner, tmp_path):
    """Where that was open already, it switched the deadline off."""
    runs, kept = table(tmp_path / "runs.csv", ROWS), tmp_path / "kept.yaml"
    kept.write_text(f"open: {runs}\ninstances: m5.*\n")
    async with at_rest(opened(planner, str(runs)), (80, 24)) as (app, pilot):
        first = app.state.deadline_seconds
        await app.run_command_line("deadline 45m")
        await app.run_command_line(f"load {kept}")
        await settled(pilot)
        assert first is not None
        assert app.state.deadline_seconds == first
        assert not app.state.deadline_chosen
        app.action_undo()
        await settled(pilot)
        assert app.state.deadline_seconds == 2700.0


async def test_a_scenario_that_is_refused_leaves_every_input(planner, tmp_path):
    """Its goal stayed, with the prices and types of before."""
    runs, kept = table(tmp_path / "runs.csv", ROWS), tmp_path / "kept.yaml"
    kept.write_text(f"open: {runs}\ninstances: zz.*\ndeadline: 1m\nbudget: $1\nspot: on\n")
    async with at_rest(opened(planner, str(runs)), (80, 24)) as (app, pilot):
        await app.run_command_line("deadline 45m")
        before, steps = app.state, app.history.past
        await app.run_command_line(f"load {kept}")
        await settled(pilot)
        assert "unknown instance type 'zz.*'" in text_of(app)
        assert app.state == before
        assert app.history.past == steps
        assert app.answer.report.goal.deadline_seconds == 2700.0
