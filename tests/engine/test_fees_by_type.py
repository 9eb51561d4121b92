"""What a managed service charges for types that have a fee of their own."""

from dataclasses import replace
from datetime import date

import pytest
from synthetic import catalog_of, offer

from engine.catalog import Billing, Price
from engine.catalog_files.reader import load_catalog
from engine.choosing.cluster_costs import cost_assumptions, cost_of
from engine.cluster import Cluster
from engine.cost import billing_notes, itemised, service_rate
from engine.machines.platforms import on_platform
from engine.profile import Profile

HOUR = 3600.0
SHARE = Billing(
    surcharge_fraction=0.25, surcharge_assumed=True, surcharge_note="a rule", master="head"
)
PUBLISHED = Price(0.27, date(2026, 3, 1), "price page")
INFERRED = replace(PUBLISHED, source="ceiling", estimated=True)
LARGE = replace(offer("large", 4.0, spot=1.0), surcharge=PUBLISHED)
HEAD = offer("head", 0.2)
CATALOG = catalog_of(LARGE, HEAD, billing=SHARE)


@pytest.mark.parametrize("spot", [False, True])
def test_a_fee_stands_in_place_of_the_share(spot: bool) -> None:
    """On demand and on spot nodes alike; the discount leaves it as it is."""
    billing = replace(SHARE, spot=spot, discount_fraction=0.5)
    cost = itemised(nodes=3, seconds=HOUR, offer=LARGE, billing=billing, catalog=CATALOG)
    assert cost.surcharge_usd == pytest.approx(3 * 0.27 + 0.25 * 0.2)
    assert service_rate(LARGE, replace(billing, surcharge_usd_per_vcpu_hour=0.01)) == 0.27 + 0.04


def test_only_what_is_assumed_is_said() -> None:
    def lines(worker, head=HEAD) -> tuple[str, ...]:
        catalog = catalog_of(worker, head, billing=SHARE)
        cost = itemised(nodes=1, seconds=1.0, offer=worker, billing=SHARE, catalog=catalog)
        return cost.assumptions

    share = "surcharge 25 % assumed: a rule"
    ceiling = "surcharge $0.27 per hour of large assumed (2026-03-01): ceiling"
    inferred = replace(LARGE, surcharge=INFERRED)
    published_head = replace(HEAD, surcharge=replace(PUBLISHED, usd_per_hour=0.05))
    assert lines(LARGE) == (share,)
    assert lines(inferred) == (share, ceiling)
    assert lines(inferred, published_head) == (ceiling,)
    assert lines(LARGE, published_head) == ()
    assert billing_notes(SHARE) == [share]


@pytest.mark.parametrize(
    ("day", "usd", "said"),
    [
        (date(2017, 12, 5), 1.2, True),
        (date(2025, 12, 31), 1.2, True),
        (date(2026, 1, 1), 1.2, False),
        (date(2017, 12, 5), 1.0, False),
    ],
)
def test_an_old_fee_has_its_date_unless_it_is_the_share_of_the_price(
    day: date, usd: float, said: bool
) -> None:
    """A fee of 2017 under a price of today was told as if it held today."""
    today = replace(LARGE.on_demand, date=date(2026, 6, 30))
    large = replace(LARGE, on_demand=today, surcharge=Price(usd, day, "price page"))
    line = f"surcharge ${usd:g} per hour of large as published {day}"
    assert billing_notes(SHARE, [large, large]) == ([line] if said else [])


def test_answers_by_the_bundled_prices_tell_a_fee_of_2017() -> None:
    catalog = load_catalog("aws")
    told = billing_notes(catalog.billing, [catalog.offer("m4.large"), catalog.offer("m5.xlarge")])
    assert [line for line in told if "surcharge" in line] == [
        "surcharge $0.03 per hour of m4.large as published 2017-12-05"
    ]


def test_without_the_service_no_fee_is_paid() -> None:
    catalog = on_platform(load_catalog("aws"), "kubernetes")
    large = catalog.offer("m5.24xlarge")
    assert large.surcharge is not None
    assert service_rate(large, catalog.billing) == 0.0
    assert not any("surcharge" in line for line in billing_notes(catalog.billing, [large]))


def test_nodes_that_are_named_pay_the_same_fee() -> None:
    """A price that the caller gives is no base of a fee by type; of other types it is."""
    profile = Profile("made up", ())
    for name, price, fee in (("large", 4.0, 0.27), ("large", 3.0, 0.27), ("head", 0.4, 0.1)):
        cluster = Cluster.of_nodes(instance_type=name, nodes=2, catalog=CATALOG)
        (group,) = cluster.groups
        cluster = replace(cluster, groups=(replace(group, price_usd_per_hour=price),))
        told = cost_of(cluster, HOUR, profile)
        assert told == pytest.approx(2 * (price + fee) + 0.2 + 0.05)
        assert cost_assumptions(cluster) == ("surcharge 25 % assumed: a rule",)
