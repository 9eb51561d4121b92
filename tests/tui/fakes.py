"""A job whose time is a known law, on a catalog of seven types: fixed data for the planner.

The law runs through the real optimiser, so that what a screen shows is consistent; the models and
the bundled prices may change without changing a snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

import numpy as np

import engine
from engine.batch import ClusterBatch
from engine.forecast import Forecast
from engine.models.base import Explanation, LeaveOneOut, StageForecast
from tui.session import Built, EngineSession, Say, limits_of
from tui.state import MAX_NODES, PlanState

_SHAPES = (
    ("m5.xlarge", 4, 16, 0.192, 80_000.0),
    ("m5.2xlarge", 8, 32, 0.384, 160_000.0),
    ("m5.4xlarge", 16, 64, 0.768, 320_000.0),
    ("c6i.2xlarge", 8, 16, 0.34, 210_000.0),
    ("c6i.4xlarge", 16, 32, 0.68, 420_000.0),
    ("r5.2xlarge", 8, 64, 0.504, 165_000.0),
    ("r6g.2xlarge", 8, 64, 0.4032, None),
)


def catalog() -> engine.Catalog:
    """Seven types with fixed prices."""
    offers = {
        name: engine.Offer(
            engine.InstanceType(name, vcpus, memory, cpu_score=score, arch="x86_64"),
            engine.Price(usd, date(2026, 7, 20), "test"),
            spot=engine.Price(round(usd * 0.35, 4), date(2026, 7, 20), "test", estimated=True),
        )
        for name, vcpus, memory, usd, score in _SHAPES
    }
    return engine.Catalog(
        name="test",
        provider="aws",
        region="us-east-1",
        currency="USD",
        date=date(2026, 7, 20),
        offers=offers,
        billing=engine.Billing(
            minimum_seconds=60.0, surcharge_fraction=0.25, surcharge_assumed=True
        ),
    )


def profile(
    *, name: str = "nightly-als", ran_on: str | None = "m5.2xlarge", runs: int = 3
) -> engine.Profile:
    """Runs of one job; `ran_on` None is a log that does not say where it ran."""
    prices = catalog()
    found = []
    for number in range(runs):
        nodes = 4 * (number + 1)
        if ran_on is None:
            cluster = engine.Cluster.of_executors(executors=2 * nodes, executor_cores=4)
        else:
            cluster = engine.Cluster.of_nodes(instance_type=ran_on, nodes=nodes, catalog=prices)
        found.append(
            engine.Run(
                seconds=400.0 + 24_000.0 / nodes,
                cluster=cluster,
                workload=engine.Workload(input_bytes=2.1e12),
                source=f"/logs/run-{number + 1}.zstd",
                application=name,
            )
        )
    return engine.Profile(name, tuple(found), category="mllib", sources=("/logs",))


@dataclass(frozen=True, eq=False)
class Law(engine.FittedModel):
    """T = (400 s + 1,536,000 core s / slots / speed) x size, with an error of 8 % (log scale)."""

    def forecast(self, batch: ClusterBatch, workload: engine.Workload) -> Forecast:
        """The law."""
        scores = [
            t.cpu_score_per_vcpu if t and t.cpu_score_per_vcpu else 20_000 for t in batch.types
        ]
        speed = np.asarray(scores)[batch.type_index] / 20_000.0
        reference = self.profile.reference_workload.input_bytes or 1.0
        size = (workload.input_bytes or reference) / reference * (workload.scale or 1.0)
        return Forecast.of((400.0 + 192_000.0 / batch.slots / speed) * size, 0.08, 12.0)

    def explain(self, batch: ClusterBatch, workload: engine.Workload) -> Explanation:
        """Three phases and two stages."""
        total = float(self.forecast(batch, workload).seconds[0])
        return Explanation(
            phases={"driver": 0.1 * total, "read": 0.3 * total, "iterate": 0.6 * total},
            stages=(
                StageForecast(0, "load at als.py:12", 400, 0.1 * total, 0.4 * total, 3.1, "disk"),
                StageForecast(1, "fit [b]at[/b] als.py:20", 200, 0.4 * total, total, 1.6, "cpu"),
            ),
            bottleneck="cpu",
        )


class FakeSession(EngineSession):
    """Plans from the law; a source named "missing" does not exist, "tiny" has fewer runs."""

    def __init__(self, *, evidence: engine.Profile | None = None) -> None:
        super().__init__()
        self.evidence = evidence or profile()
        self.prices = catalog()
        self.builds = 0

    def build(self, state: PlanState, say: Say) -> Built:
        """At once, without files."""
        self.builds += 1
        say("building the plan")
        if "missing" in state.sources:
            raise engine.BadInput(
                "no such file", where="missing", remedy="give a path or the name of a sample"
            )
        evidence = self.evidence
        if state.ran_on is not None:
            self.prices.offer(state.ran_on)
            evidence = profile(name=evidence.name, ran_on=state.ran_on, runs=len(evidence.runs))
        if state.category is not None:
            evidence = replace(evidence, category=state.category)
        validation = LeaveOneOut((2100.0, 1100.0), (2000.0, 1000.0))
        request = engine.PlanRequest(
            profile=evidence,
            catalog=self.prices,
            workload=evidence.workload_at(state.scale),
            instances=state.instances or None,
            max_nodes=MAX_NODES,
            limits=limits_of(state),
        )
        fitted = Law("sparkplan", evidence, validation=validation)
        return Built(evidence, self.prices, engine.prepare_fitted(fitted, request))
