import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import catalog_of, offer

from engine.catalog import Billing, Price
from engine.catalog_files.reader import load_catalog
from engine.choosing.answer_notices import price_notices, rate_notices
from engine.cost import (
    EXACT_BILLING,
    assumptions,
    billed_seconds,
    billing_notes,
    cost_usd,
    itemised,
    node_rate,
    price_of,
    rate_ratio_terms,
    service_rate,
    usd_along,
    usd_at,
)
from engine.errors import UnknownName

HOUR = 3600.0
MASTER = replace(offer("master", 0.2), dbu_per_hour=0.75)
WORKER = replace(offer("worker", 0.5, spot=0.2, vcpus=16), dbu_per_hour=3.0)
CATALOG = catalog_of(MASTER, WORKER)
EMR_LIKE = Billing(
    minimum_seconds=60.0,
    startup_seconds=210.0,
    startup_note="measured once",
    master="master",
    surcharge_fraction=0.25,
    surcharge_assumed=True,
    surcharge_note="two data points",
)


def plain(nodes: int, hours: float, price: float) -> float:
    return float(
        cost_usd(
            nodes=nodes,
            seconds=hours * HOUR,
            price_usd_per_hour=price,
            service_usd_per_hour=0.0,
            billing=Billing(),
        )
    )


def test_optex_introduction() -> None:
    """OptEx I: 30 nodes for 40 h or 10 nodes for 60 h at 0.1403 (printed: 168.45 and 84.18)."""
    assert plain(30, 40, 0.1403) == pytest.approx(168.36, abs=0.005)
    assert plain(10, 60, 0.1403) == pytest.approx(84.18, abs=0.005)


def test_ernest_section_6_3() -> None:
    """Ernest 6.3: one hour of r3.xlarge at 0.35 on 64 and on 16 machines, and what 15 USD buys."""
    assert plain(64, 1, 0.35) == pytest.approx(22.4)
    assert plain(16, 1, 0.35) == pytest.approx(5.6)


def test_ernest_budget_of_15_usd() -> None:
    """Ernest 6.3: 40 machines for an hour stay within 15 USD, the greedy 64 do not."""
    assert plain(40, 1, 0.35) == pytest.approx(14.0)
    assert plain(40, 1, 0.35) <= 15.0 < plain(64, 1, 0.35)


def test_ernest_section_6_4() -> None:
    """Ernest 6.4: 64 m3.2xlarge at 0.532 in 45 % less time than 45 r3.xlarge at 0.35 cost "only 20
    % more" (19 %)."""
    assert plain(64, 0.55, 0.532) / plain(45, 1, 0.35) == pytest.approx(1.2, abs=0.015)


@pytest.mark.parametrize(
    ("seconds", "granularity", "minimum", "startup", "billed"),
    [
        (100.2, 1, 0, 0, 101),
        (100.0, 1, 0, 0, 100),
        (61.0, 60, 0, 0, 120),
        (60.0, 60, 0, 0, 60),
        (3600.1, 3600, 0, 0, 7200),
        (5.0, 1, 60, 0, 60),
        (5.0, 1, 60, 210, 215),
        (0.3 * 3, 0.3, 0, 0, 0.9),
        (100.25, 0, 0, 0, 100.25),
        (5.0, 0, 60, 10, 60),
    ],
)
def test_billed_seconds(
    seconds: float, granularity: float, minimum: float, startup: float, billed: float
) -> None:
    billing = Billing(
        granularity_seconds=granularity, minimum_seconds=minimum, startup_seconds=startup
    )
    assert float(billed_seconds(seconds, billing)) == pytest.approx(billed)


def test_unknown_time_has_an_unknown_cost() -> None:
    cost = cost_usd(
        nodes=1,
        seconds=math.nan,
        price_usd_per_hour=1.0,
        service_usd_per_hour=0.25,
        billing=EMR_LIKE,
    )
    assert math.isnan(float(cost))


def test_every_part_by_hand() -> None:
    billing = replace(EMR_LIKE, discount_fraction=0.1, granularity_seconds=60.0)
    cost = itemised(nodes=8, seconds=1000.0, offer=WORKER, billing=billing, catalog=CATALOG)
    hourly = 8 * 0.5 + 0.2
    assert cost.billed_seconds == 1260.0
    assert cost.workers_usd == pytest.approx(8 * 0.5 * 1000 / HOUR)
    assert cost.master_usd == pytest.approx(0.2 * 1000 / HOUR)
    assert cost.startup_usd == pytest.approx(hourly * 210 / HOUR)
    assert cost.rounding_usd == pytest.approx(hourly * 50 / HOUR)
    assert cost.discount_usd == pytest.approx(-0.1 * hourly * 1260 / HOUR)
    assert cost.surcharge_usd == pytest.approx(0.25 * hourly * 1260 / HOUR)
    assert cost.total_usd == pytest.approx((0.9 + 0.25) * hourly * 1260 / HOUR)


def test_what_is_not_billed_beyond_a_whole_multiple_is_no_negative_rounding() -> None:
    """A time that is a step by all but a trillionth of it is billed as that step."""
    seconds = 390.0 * (1.0 + 1e-12)
    billing = replace(EMR_LIKE, granularity_seconds=60.0)
    cost = itemised(nodes=8, seconds=seconds, offer=WORKER, billing=billing, catalog=CATALOG)
    assert (cost.billed_seconds, cost.rounding_usd) == (600.0, 0.0)


def test_spot_workers_have_an_on_demand_master_and_surcharge() -> None:
    billing = replace(EMR_LIKE, spot=True)
    cost = itemised(nodes=10, seconds=HOUR - 210, offer=WORKER, billing=billing, catalog=CATALOG)
    assert cost.total_usd == pytest.approx(10 * 0.2 + 0.2 + 0.25 * (10 * 0.5 + 0.2))
    estimated, surcharge, startup = cost.assumptions
    assert estimated.startswith("price estimated (2026-07-01)")
    assert surcharge == "surcharge 25 % assumed: two data points"
    assert startup == "start-up 210 s assumed (not in the time): measured once"


def test_nothing_is_assumed_in_plain_billing() -> None:
    cost = itemised(nodes=1, seconds=10.0, offer=WORKER, billing=Billing(), catalog=CATALOG)
    assert cost.assumptions == ()
    assert cost.parts == pytest.approx(
        {
            "workers": 0.5 * 10 / HOUR,
            "master": 0,
            "startup": 0,
            "rounding": 0,
            "discount": 0,
            "surcharge": 0,
            "dbu": 0,
        }
    )


def test_a_master_that_the_catalog_does_not_hold() -> None:
    with pytest.raises(UnknownName, match="mastr"):
        itemised(
            nodes=1, seconds=1.0, offer=WORKER, billing=Billing(master="mastr"), catalog=CATALOG
        )


@given(
    nodes=st.integers(1, 500),
    seconds=st.floats(0.1, 1e6),
    granularity=st.sampled_from([0.0, 1.0, 60.0, 3600.0]),
    minimum=st.sampled_from([0.0, 60.0, 600.0]),
    startup=st.floats(0.0, 600.0),
    surcharge=st.floats(0.0, 1.0),
    per_vcpu=st.floats(0.0, 0.1),
    usd_per_dbu=st.none() | st.floats(0.01, 1.0),
    discount=st.floats(0.0, 0.9),
    spot=st.booleans(),
)
def test_the_parts_add_up_to_the_vectorised_cost(
    nodes: int,
    seconds: float,
    granularity: float,
    minimum: float,
    startup: float,
    surcharge: float,
    per_vcpu: float,
    usd_per_dbu: float | None,
    discount: float,
    spot: bool,
) -> None:
    billing = Billing(
        granularity_seconds=granularity,
        minimum_seconds=minimum,
        startup_seconds=startup,
        master="master",
        surcharge_fraction=surcharge,
        surcharge_usd_per_vcpu_hour=per_vcpu,
        usd_per_dbu=usd_per_dbu,
        discount_fraction=discount,
        spot=spot,
    )
    cost = itemised(nodes=nodes, seconds=seconds, offer=WORKER, billing=billing, catalog=CATALOG)
    whole = cost_usd(
        nodes=nodes,
        seconds=np.asarray([seconds, 2 * seconds]),
        price_usd_per_hour=0.2 if spot else 0.5,
        service_usd_per_hour=service_rate(WORKER, billing),
        master=MASTER,
        billing=billing,
    )
    assert cost.total_usd == pytest.approx(float(whole[0]), rel=1e-9)
    assert whole[1] >= whole[0]
    assert cost.rounding_usd >= 0.0
    assert cost.billed_seconds >= minimum


def test_dataproc_charges_every_vcpu_of_the_cluster() -> None:
    """Google's example: 24 vCPUs (a master and five workers of four) for two hours, 0.48 USD."""
    node = offer("n1-standard-4", 0.19, vcpus=4)
    billing = Billing(surcharge_usd_per_vcpu_hour=0.01, master="n1-standard-4")
    cost = itemised(
        nodes=5, seconds=2 * HOUR, offer=node, billing=billing, catalog=catalog_of(node)
    )
    assert cost.surcharge_usd == pytest.approx(0.48)
    assert cost.total_usd == pytest.approx(0.48 + 6 * 2 * 0.19)


def test_dbus_stand_apart_and_are_not_discounted() -> None:
    """Three workers of 3 DBU/h and a driver of 0.75 for two hours at 0.30 USD per DBU."""
    billing = Billing(usd_per_dbu=0.3, dbu_note="premium", master="master", discount_fraction=0.5)
    cost = itemised(nodes=3, seconds=2 * HOUR, offer=WORKER, billing=billing, catalog=CATALOG)
    assert cost.dbu_usd == pytest.approx((3 * 3.0 + 0.75) * 2 * 0.3)
    assert cost.surcharge_usd == 0.0
    assert cost.discount_usd == pytest.approx(-0.5 * (3 * 0.5 + 0.2) * 2)
    assert any("DBU at $0.3: premium" in line for line in cost.assumptions)
    assert any("discount of 50 %" in line for line in cost.assumptions)


def test_a_type_whose_dbus_nobody_knows_has_no_cost() -> None:
    unknown = replace(WORKER, dbu_per_hour=None)
    assert service_rate(unknown, Billing(usd_per_dbu=0.3)) == math.inf
    assert service_rate(unknown, Billing()) == 0.0


@pytest.mark.parametrize("name", ["aws", "azure", "azure-databricks", "gcp"])
def test_prices_of_every_catalog_grow_old(name: str) -> None:
    catalog = load_catalog(name)
    offer = next(iter(catalog.offers.values()))

    def codes(today: date) -> list[str]:
        notices = price_notices(offer.on_demand, "x", catalog, today)
        return [notice.code for notice in notices if notice.code == "old-price"]

    assert codes(date(2026, 8, 1)) == []
    assert codes(date(2027, 2, 1)) == ["old-price"]


def test_the_price_of_a_dbu_grows_old_too() -> None:
    catalog = load_catalog("azure-databricks")
    (notice,) = rate_notices(catalog.billing, catalog, date(2026, 8, 1))
    assert (notice.code, "2023-06-20" in notice.text) == ("old-price", True)
    assert rate_notices(catalog.billing, catalog, date(2023, 7, 1)) == ()
    assert rate_notices(catalog.with_terms(dbu=0.2).billing, catalog, date(2026, 8, 1)) == ()
    assert rate_notices(Billing(), catalog, date(2026, 8, 1)) == ()


def test_exact_billing_neither_rounds_nor_adds() -> None:
    """OptEx Eq. 9: 3 nodes at 0.5 for 100.25 s."""
    cost = cost_usd(
        nodes=3,
        seconds=100.25,
        price_usd_per_hour=0.5,
        service_usd_per_hour=0.0,
        billing=EXACT_BILLING,
    )
    assert float(cost) == pytest.approx(3 * 0.5 * 100.25 / HOUR, rel=1e-12)


def test_spot_of_a_type_that_is_not_let_as_spot_has_no_cost() -> None:
    with pytest.raises(ValueError, match="master has no spot price"):
        itemised(nodes=1, seconds=1.0, offer=MASTER, billing=Billing(spot=True), catalog=CATALOG)


def test_a_fee_per_vcpu_and_an_assumed_master_are_said() -> None:
    fee = Billing(surcharge_usd_per_vcpu_hour=0.01, surcharge_note="list price")
    assert billing_notes(fee) == ["surcharge $0.01 per vCPU and hour: list price"]
    assumed = replace(fee, surcharge_assumed=True, surcharge_note=None)
    assert billing_notes(assumed) == [
        "surcharge $0.01 per vCPU and hour assumed: no price list tells it"
    ]
    master = Billing(master="m", master_note="the smallest")
    assert billing_notes(master) == ["master m assumed: the smallest"]
    assert billing_notes(replace(master, master_note=None)) == []
    assert billing_notes(replace(master, master=None)) == []


@given(
    billing=st.builds(
        Billing,
        spot=st.booleans(),
        discount_fraction=st.floats(0.0, 0.9),
        surcharge_fraction=st.floats(0.0, 1.0),
        surcharge_usd_per_vcpu_hour=st.sampled_from([0.0, 0.01, 0.2]),
        usd_per_dbu=st.sampled_from([None, 0.1, 1.0]),
        startup_seconds=st.floats(0.0, 600.0),
    )
)
def test_types_compare_as_their_weighing_says(billing: Billing) -> None:
    """The ratio of the hourly rates of two types is kept."""
    small = replace(offer("small", 0.1, spot=0.09, vcpus=2), dbu_per_hour=2.5)

    def ratio(terms: Billing) -> float:
        rates = []
        for one in (WORKER, small):
            price, service = price_of(one, terms), service_rate(one, terms)
            rates.append(float(node_rate(price.usd_per_hour, terms, service_usd_per_hour=service)))
        return rates[0] / rates[1]

    assert ratio(rate_ratio_terms(billing, [WORKER, small])) == pytest.approx(ratio(billing))
    small = replace(small, surcharge=Price(0.06, date(2026, 7, 1), "price page"))
    assert ratio(rate_ratio_terms(billing, [WORKER, small])) == pytest.approx(ratio(billing))


def test_terms_that_scale_all_rates_alike_weigh_nothing() -> None:
    """So that what was narrowed down under the one serves under the other."""
    plain = rate_ratio_terms(EMR_LIKE, [WORKER])
    assert plain == Billing()
    for same in (replace(EMR_LIKE, discount_fraction=0.3), replace(EMR_LIKE, startup_seconds=0.0)):
        assert rate_ratio_terms(same, [WORKER]) == plain
    own_fee = replace(WORKER, surcharge=WORKER.on_demand)
    assert rate_ratio_terms(EMR_LIKE, [own_fee, WORKER]) != Billing()
    assert rate_ratio_terms(replace(EMR_LIKE, surcharge_fraction=0.0), [own_fee]) == Billing()


@given(nodes=st.integers(1, 200), times=st.lists(st.floats(1.0, 1e5), min_size=3, max_size=3))
def test_a_longer_run_is_not_cheaper_by_the_last_digit(nodes: int, times: list[float]) -> None:
    """An interval of costs holds its own cost, also where all three bill the same minutes."""
    low, seconds, high = sorted(times)
    cost = itemised(nodes=nodes, seconds=seconds, offer=WORKER, billing=EMR_LIKE, catalog=CATALOG)
    cheapest, dearest = (usd_at(cost, bound, EMR_LIKE) for bound in (low, high))
    assert cheapest <= cost.total_usd <= dearest
    longer = itemised(nodes=nodes, seconds=high, offer=WORKER, billing=EMR_LIKE, catalog=CATALOG)
    assert dearest == pytest.approx(longer.total_usd, rel=1e-12)
    assert usd_at(cost, None, EMR_LIKE) is None


def test_costs_of_many_clusters_at_other_times_are_unknown_where_a_time_is() -> None:
    """As of one; free ones stay free, and nothing that is unknown is taken for a cost."""
    usd, seconds = np.asarray([2.0, 2.0, 2.0, 0.0]), np.asarray([HOUR, np.nan, HOUR, HOUR])
    others = np.asarray([2.0 * HOUR, HOUR, np.nan, HOUR])
    found = usd_along(usd, seconds, others, Billing())
    assert found == pytest.approx([4.0, np.nan, np.nan, 0.0], nan_ok=True)
    assert usd_along(usd[:1], np.zeros(1), others[:1], Billing()) == usd[:1]


def test_nothing_is_rounded_where_only_digits_differ() -> None:
    """0.2 + 0.1 is more than 0.3 by one digit in binary, which nobody pays for."""
    billing = replace(EXACT_BILLING, startup_seconds=0.2)
    cost = itemised(nodes=8, seconds=0.1, offer=WORKER, billing=billing, catalog=CATALOG)
    assert cost.billed_seconds > 0.3
    assert cost.rounding_usd == 0.0


def test_an_estimate_that_workers_and_master_share_is_said_once() -> None:
    price = Price(0.5, date(2026, 7, 1), "guess", estimated=True)
    one = replace(offer("one", 0.5), on_demand=price)
    assert assumptions(one, Billing(), master=one) == ("price estimated (2026-07-01): guess",)
    other = replace(one, on_demand=replace(price, usd_per_hour=0.2))
    both = assumptions(one, Billing(), master=other)
    assert both[1:] == ("master's price estimated (2026-07-01): guess",)
