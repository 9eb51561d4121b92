"""Choices are true of the surface point that they show: warnings, reasons, prices."""

import math
import re
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
import pytest
from synthetic import DAY, TableModel, catalog_of, model, offer, profile_on

from engine.batch import ClusterBatch
from engine.catalog import Billing, Catalog, Price
from engine.choosing.difference_texts import takes_longer
from engine.choosing.interruptions import HOURS_PER_MONTH
from engine.choosing.limits import Limits
from engine.choosing.recommendation import Recommendation
from engine.cluster import Workload
from engine.cost import assumptions, billing_notes, owned_lines
from engine.notices import Notice
from engine.optimiser import recommend

EXACT = Billing(granularity_seconds=0.0)
ONE = catalog_of(offer("one", 0.36), billing=EXACT)


def ask(fitted: TableModel, catalog: Catalog = ONE, **goal) -> Recommendation:
    return recommend(
        fitted, catalog=catalog, instances=["*"], max_nodes=8, **{"today": DAY, **goal}
    )


@dataclass(frozen=True, eq=False)
class Counting(TableModel):
    """A model that warns of how many nodes it was asked about."""

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        return (Notice("counted", f"{batch.nodes[0]:g} of {batch.types[0].name}", ""),)


@pytest.mark.parametrize("deadline", [1000.0, 500.0, 1.0])
def test_warnings_are_those_of_the_cluster_that_is_shown(deadline: float) -> None:
    fitted = Counting(
        "table", profile_on(), law=lambda name, nodes: 60.0 * nodes + 1800.0 / nodes, log_scale=0.1
    )
    answer = ask(fitted, deadline_seconds=deadline)
    shown = answer.recommended or answer.nearest
    assert [notice.text for notice in shown.warnings if notice.code == "counted"] == [
        f"{shown.nodes} of one"
    ]


@pytest.mark.parametrize(
    ("objective", "deadline", "says"),
    [
        ("cost", 500.0, "one node fewer misses the deadline by 2m 30s"),
        ("cost", 650.0, "one node fewer takes all of the time up to the deadline"),
        ("time", None, "one node fewer takes 35 s longer"),
    ],
)
def test_without_an_interval_one_node_fewer_is_told_by_its_time(
    objective: str, deadline: float | None, says: str
) -> None:
    fitted = model(lambda name, nodes: 1950.0 / nodes if name == "one" else np.inf)
    catalog = replace(ONE, billing=Billing(granularity_seconds=0.0, startup_seconds=60.0))
    best = ask(fitted, catalog, deadline_seconds=deadline, objective=objective).recommended
    assert best.nodes == (4 if deadline else 8)
    assert best.why[0].startswith(says)


def test_one_node_fewer_may_be_over_the_budget() -> None:
    """Two nodes take four times as long as three, and hours are begun."""
    fitted = model(lambda name, nodes: np.where(nodes < 3, 14_000.0, 3500.0))
    hourly = replace(ONE, billing=Billing(granularity_seconds=3600.0))
    best = ask(fitted, hourly, budget_usd=1.2).recommended
    assert best.nodes == 3
    assert best.cost_usd == pytest.approx(1.08)
    assert best.why[0] == "one node fewer is over budget by $1.68"


def test_runners_up_say_what_the_service_does_not_start() -> None:
    unsupported = offer("b", 0.5, emr_supported=False)
    catalog = replace(
        catalog_of(offer("a", 0.36, emr_supported=True), unsupported, billing=EXACT),
        provider="aws",
        managed_only=True,
    )
    answer = ask(model(lambda name, nodes: 1000.0 / nodes), catalog, deadline_seconds=900.0)
    told = [{notice.code for notice in choice.warnings} for choice in answer.alternatives]
    assert [choice.instance for choice in answer.alternatives] == ["b"]
    assert "not-supported-by-emr" in told[0]
    assert "not-supported-by-emr" not in {notice.code for notice in answer.recommended.warnings}


def test_what_interruptions_cost_is_their_delay_at_the_price_of_the_cluster() -> None:
    """Half a year's share of ten nodes over a day; without stages all work on a node is lost: one
    interruption holds n nodes up by (1 + 1) T / 2 / n."""
    rented = replace(offer("one", 1.0, spot=0.5), interruption="5-10%")
    fitted = model(lambda name, nodes: np.where(nodes == 8, 86_400.0, np.inf), log_scale=0.1)
    best = ask(fitted, catalog_of(rented, billing=EXACT), spot=True).recommended
    (notice,) = (notice for notice in best.warnings if notice.code == "spot-interruptions")
    rates = [-math.log1p(-share) / HOURS_PER_MONTH for share in (0.05, 0.10)]
    delay = sum(rates) / 2 * 8 * 24.0 * 86_400.0 / 8
    usd = re.search(r"and \$([0-9.]+) ± \$([0-9.]+) more", notice.text)
    assert float(usd[1]) == pytest.approx(8 * 0.5 * delay / 3600.0, rel=0.01)
    assert best.seconds == pytest.approx(86_400.0 + delay, rel=1e-3)


@pytest.mark.parametrize("broken", [math.nan, math.inf, 0.0, -5.0])
def test_a_time_that_is_none_is_never_recommended(broken: float) -> None:
    """However cheap it would be."""
    fitted = model(lambda name, nodes: np.where(nodes == 3, 900.0, broken), log_scale=0.1)
    answer = ask(fitted)
    assert answer.recommended.nodes == 3
    assert [choice.nodes for choice in answer.frontier] == [3]
    nothing = ask(model(lambda name, nodes: np.full(len(nodes), broken), log_scale=0.1))
    assert nothing.recommended is None
    assert [one.code for one in nothing.rejected] == ["no-prediction"]


def test_of_equal_points_the_frontier_keeps_the_fewest_nodes_then_the_first_name() -> None:
    """One large node is as fast and as dear as two small ones, and the other type is the same."""
    cores = {"a": 4, "b": 8, "c": 4, "d": 8}
    catalog = catalog_of(
        *(offer(name, 0.1 * n, vcpus=n, memory_gib=4.0 * n) for name, n in cores.items()),
        billing=Billing(granularity_seconds=3600.0),
    )
    answer = ask(model(lambda name, nodes: 4000.0 / (nodes * cores[name])), catalog)
    found = [dict(choice.composition) for choice in answer.frontier]
    large = [{"b": nodes} for nodes in (8, 7, 6, 5)]
    assert found == [*large, *({"a": n // 4} if n % 8 else {"b": n // 8} for n in range(32, 0, -4))]


def test_lines_of_a_cost_are_in_words() -> None:
    assert owned_lines(0, "x") == ()
    (one,), (many,) = owned_lines(1, "x"), owned_lines(3, "x")
    assert one.startswith("x: 1 node is owned and costs nothing")
    assert many.startswith("x: 3 nodes are owned and cost nothing")
    unknown = Billing(startup_note="nobody measured it")
    assert billing_notes(unknown) == ["start-up not billed (nor in the time): nobody measured it"]
    known = replace(unknown, startup_seconds=90.0)
    assert billing_notes(known) == ["start-up 90 s assumed (not in the time): nobody measured it"]
    let = offer("x", 0.4, spot=0.1)
    assert any("estimated" in line for line in assumptions(let, Billing(spot=True)))
    assert assumptions(let, Billing()) == ()
    assert assumptions(None, Billing()) == ()


@pytest.mark.parametrize(
    ("deadline", "nodes", "fewer"), [(950.0, 5, "50 s"), (1050.0, 4, "4m 10s"), (1990.0, 2, None)]
)
def test_the_neighbour_of_the_best_is_told_by_its_exact_time(
    deadline: float, nodes: int, fewer: str | None
) -> None:
    """On the grid of all numbers of nodes times are a tenth too long: one node fewer misses the
    deadline by less than it seems, or does not miss it."""

    def law(name: str, nodes: np.ndarray) -> np.ndarray:
        return (3600.0 / nodes + 100.0) * (1.1 if len(nodes) == 8 else 1.0)

    best = ask(model(law), deadline_seconds=deadline).recommended
    assert best.nodes == nodes
    if fewer is not None:
        assert best.why[0] == f"one node fewer misses the deadline by {fewer}"


def test_types_that_hold_no_executor_are_listed_behind_those_that_miss_the_goal() -> None:
    catalog = catalog_of(
        offer("a", 0.4), offer("b", 0.5), offer("tiny", 0.1, memory_gib=0.25), billing=EXACT
    )
    fitted = model(lambda name, nodes: 1000.0 / nodes + (900.0 if name == "b" else 0.0))
    answer = ask(fitted, catalog, deadline_seconds=500.0)
    assert answer.recommended.instance == "a"
    assert [(one.instance, one.code) for one in answer.rejected] == [
        ("b", "deadline"),
        ("tiny", "no-executor"),
    ]
    assert len(answer.rejected) == 2
    assert answer.rejected[-1].instance == "tiny"
    assert answer.sensitivity is None, "it takes a while, and nobody asked for it"


@pytest.mark.parametrize("mix", [1, 2])
@pytest.mark.parametrize("owned", [(), (("one", 8),)])
def test_what_the_master_costs_is_warned_of_as_the_workers_prices_are(
    owned: tuple[tuple[str, int], ...], mix: int
) -> None:
    """Its price may be a guess and years old, and that of its DBUs; beside nodes that one owns it
    may be all that is paid."""
    guess = Price(1.0, date(2019, 1, 1), "a guess", estimated=True)
    head = replace(offer("head", 1.0), on_demand=guess, dbu_per_hour=1.0)
    metered = replace(offer("one", 0.36), dbu_per_hour=1.0)
    rules = replace(EXACT, master="head", usd_per_dbu=0.3, dbu_date=date(2020, 1, 1))
    catalog = catalog_of(metered, head, billing=rules)
    fitted = model(lambda name, nodes: 60.0 * nodes + 1800.0 / nodes, log_scale=0.1)
    best = ask(
        fitted, catalog, deadline_seconds=1000.0, mix=mix,
        limits=Limits(owned=owned, most=(("head", 0),)),
    ).recommended  # fmt: skip
    assert set(best.composition) == {"one"}
    said = [notice.text for notice in best.warnings if notice.code.endswith("-price")]
    of_dbus = f"the price of a DBU is {(DAY - date(2020, 1, 1)).days} days old (2020-01-01)"
    assert "the price of the master head is an estimate of 2019-01-01: a guess" in said
    assert of_dbus in said
    assert "master's price estimated (2019-01-01): a guess" in best.cost.assumptions
    alike = replace(catalog, offers={**catalog.offers, "one": replace(metered, on_demand=guess)})
    paid = ask(fitted, alike, deadline_seconds=1000.0, limits=Limits(most=(("head", 0),)))
    assert not any("master" in notice.text for notice in paid.recommended.warnings), "said already"


@pytest.mark.parametrize(
    ("less_usd", "says"),
    [(0.1119, "takes less than 1 s longer and costs $0.11 less"),
     (0.0009, "takes less than 1 s longer"), (-0.5, "takes less than 1 s longer"),
     (math.nan, "takes less than 1 s longer")],
)  # fmt: skip
def test_what_is_slower_says_what_it_saves(less_usd: float, says: str) -> None:
    """The fastest within a budget may cost twice as much as one that takes milliseconds longer."""
    assert takes_longer(seconds=80.0042, than_seconds=80.0, less_usd=less_usd) == says
