"""What the AWS CLI takes (`aws emr create-cluster`, 1.46): names out of logs, and keys."""

import json

import pytest
from handovers_made import after, handover, words

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


def test_a_name_is_cut_where_emr_would_refuse_it() -> None:
    said = words(render(handover(application="n" * 300), to="emr"))
    assert f"--name={'n' * 256}" in said


GROUP_KEYS = {
    *("Name", "InstanceGroupType", "BidPrice", "InstanceType", "InstanceCount", "CustomAmiId"),
    *("EbsConfiguration", "AutoScalingPolicy", "Configurations"),
}
"""Of each of `--instance-groups`; the service's own keys beside them (`Market`) it refuses."""


@pytest.mark.parametrize("spot", [False, True])
def test_groups_have_the_keys_that_the_aws_cli_knows(spot: bool) -> None:
    said = words(render(handover(spot=spot), to="emr"))
    groups = json.loads(after(said, "--instance-groups"))
    assert {key for group in groups for key in group} <= GROUP_KEYS
    bids = [group.get("BidPrice") for group in groups]
    assert bids == [None, "OnDemandPrice" if spot else None]
