"""Rows of the Inputs panel: how nodes are billed, and which types are compared."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import engine
from tui.state import Limits, PlanState
from tui.views import inputs
from tui.views.marks import Marks

MARKS = Marks("*", "x", "!")
AWS = engine.load_catalog("aws")


def without_own_fees(catalog: engine.Catalog) -> engine.Catalog:
    offers = {name: replace(offer, surcharge=None) for name, offer in catalog.offers.items()}
    return replace(catalog, offers=offers)


@pytest.mark.parametrize(
    ("catalog", "shown"),
    [
        (AWS, "on demand +EMR's fee !"),
        (replace(AWS, provider="ours"), "on demand +fees !"),
        (without_own_fees(AWS), "on demand +25 % !"),
        (engine.on_platform(AWS, "kubernetes"), "on demand"),
        (engine.load_catalog("gcp"), "on demand +$0.01/vCPU"),
        (None, "on demand"),
    ],
)
def test_a_share_is_shown_where_every_type_pays_it(
    catalog: engine.Catalog | None, shown: str
) -> None:
    """It was "+25 %" for all: an m5.24xlarge pays 6 %, and an m4.large 30 %."""
    told = inputs.billing(PlanState(sources=("a",)), catalog, MARKS)
    assert told == shown
    assert len(told) <= inputs.VALUE_CELLS


def discounted(catalog: engine.Catalog, fraction: float) -> engine.Catalog:
    return replace(catalog, billing=replace(catalog.billing, discount_fraction=fraction))


@pytest.mark.parametrize(
    ("catalog", "discount", "inputs_of_row", "shown"),
    [
        (AWS, 0.12, {}, "on demand -12 % +fee !"),
        (AWS, 0.125, {}, "on demand -12.5 % !"),
        (AWS, 0.12, {"spot": True}, "spot -12% +EMR's fee !"),
        (without_own_fees(AWS), 0.12, {}, "on demand -12% +25% !"),
        (AWS, 0.125, {"spot": True, "limits": Limits(max_spot=0.5)}, "spot to 50% -12.5% !"),
        (engine.on_platform(AWS, "kubernetes"), 0.12, {}, "on demand -12 %"),
        (engine.load_catalog("gcp"), 0.3, {}, "on demand -30 % +fee"),
    ],
)
def test_a_discount_is_never_cut(
    catalog: engine.Catalog, discount: float, inputs_of_row: dict, shown: str
) -> None:
    """ "on demand -12 % +EMR's fee" was cut in the fee, and so was what it says of the prices."""
    state = PlanState(sources=("a",), **inputs_of_row)
    assert inputs.billing(state, discounted(catalog, discount), MARKS) == shown
    assert len(shown) <= inputs.VALUE_CELLS


@pytest.mark.parametrize(
    ("globs", "hidden", "shown"),
    [
        ((), {}, "all 3"),
        ((), {"arm64": 1_200}, "3 (1,200 hidden)"),
        (("m5.*",), {}, "m5.* (3)"),
        (("m5.*",), {"excluded": 8}, "m5.* (3, 8 hidden)"),
    ],
)
def test_types_that_are_left_out_are_counted(
    globs: tuple[str, ...], hidden: dict[str, int], shown: str
) -> None:
    compared = SimpleNamespace(
        recommended=None, rejected=("a",), alternatives=("b", "c"), hidden=hidden
    )
    answer = SimpleNamespace(report=SimpleNamespace(recommendation=compared))
    assert inputs.candidates(PlanState(sources=("a",), instances=globs), answer) == shown
