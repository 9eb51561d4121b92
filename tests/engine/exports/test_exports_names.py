"""Names of applications come from logs: the tools that they are handed to take them as names."""

from __future__ import annotations

import pytest
from handovers_made import handover, words

from engine.exports import render


@pytest.mark.parametrize("name", ["-etl", "$HOME", "---", "nightly etl"])
def test_a_name_that_begins_like_an_option_is_one_word_with_its_option(name: str) -> None:
    """The AWS CLI answers `--name -etl` with "expected one argument"."""
    said = words(render(handover(application=name), to="emr"))
    assert f"--name={name.replace('$', '-')}" in said


@pytest.mark.parametrize("scheme", ["file", "fileb", "http", "https"])
def test_a_name_is_no_address_that_the_aws_cli_reads(scheme: str) -> None:
    """It would send what lies in the file as the name."""
    said = words(render(handover(application=f"{scheme}:///etc/hosts"), to="emr"))
    assert f"--name={scheme}:/etc/hosts" in said
