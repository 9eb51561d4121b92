"""What a workload leaves open is taken from the largest run."""

import pytest
from synthetic import profile_on

from engine.cluster import Workload
from engine.errors import BadInput, UnknownName
from engine.models.workloads import with_defaults
from engine.profile import Profile


def test_a_multiple_of_the_largest_run_becomes_a_size() -> None:
    profile = profile_on()
    assert with_defaults(Workload(), profile).input_bytes == 1e9
    assert with_defaults(Workload(scale=3.0), profile) == Workload(3e9)
    assert with_defaults(Workload(5e8), profile).input_bytes == 5e8


def test_a_multiple_stays_one_where_no_run_says_its_size() -> None:
    assert with_defaults(Workload(scale=3.0), Profile("job")) == Workload(scale=3.0)
    with pytest.raises(BadInput, match="no run says its input size"):
        with_defaults(Workload(5e8), Profile("job"))


def test_what_no_run_says_cannot_be_asked_for() -> None:
    with pytest.raises(BadInput, match="no run says its iterations"):
        with_defaults(Workload(iterations=5.0), profile_on())
    with pytest.raises(UnknownName, match="parameter"):
        with_defaults(Workload(parameters={"k": 2.0}), profile_on())
