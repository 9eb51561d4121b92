"""A catalog of a large type and a small one, and a job whose time falls with the cores."""

from dataclasses import replace
from datetime import date

import engine
from engine.optimiser import recommend

TODAY = date(2026, 7, 20)


def offer(name: str, vcpus: int, usd: float) -> engine.Offer:
    shape = engine.InstanceType(
        name, vcpus, vcpus * 4.0, cpu_score=20_000.0 * vcpus, arch="x86_64", emr_supported=True
    )
    return engine.Offer(shape, engine.Price(usd, TODAY, "test"))


CATALOG = engine.Catalog(
    name="test",
    provider="aws",
    region="us-east-1",
    currency="USD",
    date=TODAY,
    # The large type is a little cheaper per core, the small one fills what is left.
    offers={o.instance.name: o for o in (offer("big", 32, 1.50), offer("small", 4, 0.20))},
    billing=engine.Billing(surcharge_fraction=0.25, surcharge_assumed=True, master="small"),
)


def fitted(model: str = "ernest-extended") -> engine.FittedModel:
    """Work that divides over cores, and a serial minute."""
    runs = []
    for nodes in (2, 3, 4, 6, 8, 12, 16, 24):
        cluster = engine.Cluster.of_nodes(instance_type="small", nodes=nodes, catalog=CATALOG)
        workload = engine.Workload(input_bytes=1e9)
        runs.append(
            engine.Run(seconds=60.0 + 40_000.0 / (nodes * 4), cluster=cluster, workload=workload)
        )
    return engine.fit(engine.Profile(name="job", runs=tuple(runs)), model=model)


def best(deadline: float, mix: int, **more) -> engine.Recommendation:
    return recommend(
        fitted(), catalog=CATALOG, deadline_seconds=deadline, max_nodes=40, mix=mix, today=TODAY,
        confidence=0.5, **more,
    )  # fmt: skip


def spot(name: str, vcpus: int, usd: float, interruption: str | None) -> engine.Offer:
    price = engine.Price(usd * 0.4, TODAY, "test")
    return replace(offer(name, vcpus, usd), spot=price, interruption=interruption)
