"""Sizes of one family: told by their names."""

from collections import defaultdict

import pytest

from engine import list_catalogs, load_catalog
from engine.machines.transfer import family_of, same_family


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("m5.large", "m5.24xlarge", True),
        ("m5.xlarge", "m5.metal", True),
        ("m5.xlarge", "m5a.xlarge", False),
        ("m5.xlarge", "r5.xlarge", False),
        ("n2-standard-4", "n2-highmem-32", True),
        ("n2-standard-4", "n2d-standard-4", False),
        ("Standard_D4s_v5", "Standard_D96s_v5", True),
        ("Standard_E8-4ds_v4", "Standard_E16ds_v4", True),
        ("Standard_D4s_v5", "Standard_D4s_v4", False),
        ("Standard_D4s_v5", "Standard_D4ds_v5", False),
        ("small", "large", False),
        ("worker-1", "worker-2", False),
        ("w1-old", "w1-new", False),
        ("node.a", "node.b", False),
        ("own", "own", False),
    ],
)
def test_sizes_of_a_family_are_told_by_their_names(one: str, other: str, same: bool) -> None:
    assert same_family(one, other) is same_family(other, one) is same


@pytest.mark.parametrize("entry", list_catalogs(), ids=str)
def test_types_of_a_family_have_one_architecture(entry: object) -> None:
    families = defaultdict(set)
    for name, offer in load_catalog(entry.path).offers.items():
        families[family_of(name)].add(offer.instance.arch)
    assert None not in families
    assert all(len(found) == 1 for found in families.values())
