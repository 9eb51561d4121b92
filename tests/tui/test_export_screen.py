"""Where an export is saved: the name that is offered, and what is said where it cannot be."""

from __future__ import annotations

import pytest
from screen import settled, text_of

import engine
from tui.screens.export import Target, file_name, save
from tui.training_lines import TARGETS

ENDINGS = {
    "spark-submit": "nightly.spark-submit.sh",
    "spark-defaults": "nightly.spark-defaults.conf",
    "emr": "nightly.emr.sh",
    "dataproc": "nightly.dataproc.sh",
    "databricks": "nightly.databricks.sh",
    "kubernetes": "nightly.kubernetes.yaml",
    "terraform": "nightly.terraform.tf",
    "markdown": "nightly.markdown.md",
    "html": "nightly.html",
}


@pytest.mark.parametrize("target", engine.EXPORTS, ids=lambda target: target.name)
def test_a_file_ends_as_its_reader_expects(target):
    named = Target(target.name, target.summary, target.suffix)
    assert file_name("nightly", named) == ENDINGS[target.name]


def test_training_runs_too():
    assert [file_name("training", Target(*target)) for target in TARGETS] == [
        "training.collect.sh",
        "training.spark-submit.sh",
        "training.plan.json",
    ]


async def test_the_name_follows_the_target(planner):
    app = planner()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("e", "down", "down")
        await pilot.pause()
        assert ".emr.sh" in text_of(app)


def test_a_file_is_replaced_only_when_asked_twice(tmp_path):
    file = tmp_path / "plan.sh"
    file.write_text("mine")
    assert "again to overwrite" in str(save(file, "new", overwrite=False))
    assert file.read_text() == "mine"
    assert save(file, "new", overwrite=True) is None
    assert file.read_text() == "new"


def test_a_folder_is_not_offered_to_be_overwritten(tmp_path):
    said = str(save(tmp_path, "new", overwrite=False))
    assert "overwrite" not in said
    assert "add the name of a file" in said


def test_a_folder_that_is_not_there_is_said_with_what_to_do(tmp_path):
    said = str(save(tmp_path / "none" / "plan.sh", "new", overwrite=False))
    assert str(tmp_path / "none") in said
    assert "make its folder first" in said
