"""A job whose time is a known law, on a catalog of seven types: fixed data for the planner.

The law runs through the real optimiser, so that what a screen shows is consistent; the models and
the bundled prices may change without changing a snapshot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from threading import Event
from typing import Any

import numpy as np

import engine
from engine.batch import ClusterBatch
from engine.forecast import Forecast
from engine.models.base import Explanation, LeaveOneOut, StageForecast
from tui.answers import Answer, BuiltPlan, Evidence, ReportProgress, ShowEvidence
from tui.session import EngineSession, limits_of
from tui.state import PlanState, planned_nodes

_SHAPES = (
    ("m5.xlarge", 4, 16, 0.192, 80_000.0),
    ("m5.2xlarge", 8, 32, 0.384, 160_000.0),
    ("m5.4xlarge", 16, 64, 0.768, 320_000.0),
    ("c6i.2xlarge", 8, 16, 0.34, 210_000.0),
    ("c6i.4xlarge", 16, 32, 0.68, 420_000.0),
    ("r5.2xlarge", 8, 64, 0.504, 165_000.0),
    ("r6g.2xlarge", 8, 64, 0.4032, None),
)


def started(**inputs: Any) -> PlanState:
    """What the planner starts with on a command line that names these inputs."""
    chosen = inputs.get("deadline_seconds") is not None
    return PlanState(**{"sources": ("nightly-als",), "deadline_chosen": chosen, **inputs})


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
        name="aws",
        provider="aws",
        region="us-east-1",
        currency="USD",
        date=date(2026, 7, 20),
        offers=offers,
        billing=engine.Billing(
            minimum_seconds=60.0, surcharge_fraction=0.25, surcharge_assumed=True
        ),
    )


def _stages(seconds: float, slots: int) -> tuple[engine.StageRun, ...]:
    """Reads after a tenth of the time, then iterates to the end with one task that takes long."""
    return (
        _stage(0, "load at als.py:12", 400, 0.1 * seconds, 0.35 * seconds, slots, 1.0),
        _stage(1, "fit [b]at[/b] als.py:20", 200, 0.4 * seconds, seconds, slots, 0.6),
    )


def _stage(
    number: int, name: str, tasks: int, start: float, end: float, slots: int, busy: float
) -> engine.StageRun:
    mean = (end - start) * slots * busy / tasks
    longest = mean if busy == 1.0 else end - start
    return engine.StageRun(
        stage_id=number,
        name=name,
        tasks=tasks,
        submitted_seconds=start,
        completed_seconds=end,
        task_seconds=engine.Measure(tasks, mean * tasks, (0.5 * mean, mean, longest)),
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
            cluster = engine.Cluster.of_nodes(
                instance_type=ran_on,
                nodes=nodes,
                catalog=prices,
                layout=engine.Layout(2, 4, 12.0),
            )
        seconds = 400.0 + 24_000.0 / nodes
        found.append(
            engine.Run(
                seconds=seconds,
                stages=_stages(seconds, 8 * nodes),
                cluster=cluster,
                workload=engine.Workload(input_bytes=2.1e12),
                source=f"/logs/run-{number + 1}.zstd",
                application=name,
            )
        )
    return engine.Profile(name, tuple(found), category="mllib", sources=("/logs",))


def without_stages() -> engine.Profile:
    """The same runs told by a table: nothing says how coarse their tasks are."""
    told = profile()
    return replace(told, runs=tuple(replace(run, stages=()) for run in told.runs))


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

    def notices(self, batch: ClusterBatch, workload: engine.Workload) -> tuple[engine.Notice, ...]:
        """How the speed of a type came about, as every model says it."""
        prices = catalog()
        return tuple(
            notice
            for instance in batch.types
            if instance is not None
            for notice in self.transferred(instance, prices)[1]
        )

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


LEFT_OUT = LeaveOneOut((3570.0, 2640.0), (3400.0, 2400.0))
"""The second and third run, predicted 5 and 10 % too long; the first could not be left out."""

CLOSER = LeaveOneOut((3434.0, 2424.0), (3400.0, 2400.0))


class Failing(engine.Model):
    """Cannot be fitted: to this evidence, or because of a defect."""

    summary = "a test"

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        self.error = error

    def fit(
        self, profile: engine.Profile, *, models: Mapping[str, engine.Model]
    ) -> engine.FittedModel:
        """Raises."""
        raise self.error


class FakeSession(EngineSession):
    """Plans from the law; a source named "missing" does not exist, "tiny" has fewer runs."""

    def __init__(self, *, evidence: engine.Profile | None = None) -> None:
        super().__init__()
        self.evidence = evidence or profile()
        self.prices = catalog()
        self.builds = 0
        self.asked: list[str] = []

    def build(
        self, state: PlanState, say: ReportProgress, show: ShowEvidence = lambda _: None
    ) -> BuiltPlan:
        """At once, without files."""
        self.builds += 1
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
        show(Evidence(evidence))
        request = engine.PlanRequest(
            profile=evidence,
            catalog=self.prices,
            workload=evidence.workload_at(state.scale),
            instances=state.instances or None,
            max_nodes=planned_nodes(state),
            limits=limits_of(state),
        )
        fitted = Law(state.model, evidence, validation=LEFT_OUT)
        say("building the plan")
        return BuiltPlan(evidence, self.prices, engine.prepare_fitted(fitted, request))

    def separate_fit(self, state: PlanState, built: BuiltPlan) -> engine.FittedModel:
        """The law keeps nothing that two threads could spoil."""
        return built.plan.fitted

    @property
    def models(self) -> tuple[str, ...]:
        """One that is used, one that was closer, one that does not fit, one with a defect."""
        return ("sparkplan", "ernest", "peridot", "simcost")

    def ask(
        self,
        model: str,
        profile: engine.Profile,
        cluster: engine.Cluster,
        workload: engine.Workload,
    ) -> engine.ModelAnswer:
        """The law again, and models that fail."""
        self.asked.append(model)
        failing = {
            "peridot": engine.ModelDoesNotFit("it needs [b]two[/b] logs", remedy="add one"),
            "simcost": ZeroDivisionError("division by zero"),
        }
        if model in failing:
            outcome = engine.fit_outcome(Failing(model, failing[model]), profile)
        else:
            outcome = engine.FitOutcome(model, Law(model, profile, validation=CLOSER))
        return engine.ask(outcome, cluster=cluster, workload=workload)


class Gated(FakeSession):
    """Its first plan is built only once it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = Event()

    def build(
        self, state: PlanState, say: ReportProgress, show: ShowEvidence = lambda _: None
    ) -> BuiltPlan:
        """Waits."""
        assert self.go_on.wait(60.0)
        return super().build(state, say, show)


def answered(**inputs: Any) -> tuple[PlanState, Answer]:
    """What the planner starts with on a command line that names these inputs, and its answer."""
    session, state = FakeSession(), started(**inputs)
    return state, session.answer(state, session.build(state, lambda words: None))
