"""The row of the Inputs panel that says how nodes are billed."""

from dataclasses import replace

import pytest

import engine
from tui.state import PlanState
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
