"""SimCost without logs: the transformed model of 4.3 fitted to run times alone.

T(D, V) = gamma_0 D / V + gamma_1 N + gamma_2: linear in the data when the cluster is given (4.1),
and the law of Lemmas 1 to 3 when the data is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.errors import ModelDoesNotFit
from engine.forecast import FloatArray
from engine.models.assured_memory import AssuredMemory
from engine.models.base import Explanation
from engine.models.curves.fitted_curve import FittedCurve, fit_terms
from engine.models.curves.model import CurvesModel, Question
from engine.models.curves.terms import Term, parallel, per_machine, serial
from engine.models.simcost.memory import assured_by_runs
from engine.models.simcost.search import (
    Coefficients,
    fastest_vcores,
    least_seconds,
    most_throughput,
)
from engine.models.workloads import sharing_parameters
from engine.notices import Notice, in_order
from engine.profile import Profile

TERMS = (
    Term("1", "overhead", serial),
    Term("s / m", "compute", parallel),
    Term("m", "communication", per_machine),
)


@dataclass(frozen=True, eq=False, repr=False)
class SimcostCurves(CurvesModel):
    """The transformed model, one curve per measured type."""

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        """Phases, and what Lemmas 1 and 3 say of any number of machines."""
        asked = self._asked(batch, workload)
        curve = asked.curves[int(asked.at.family[0])].fitted
        explanation = super().explain(batch, workload)
        if curve is None:
            return explanation
        law = coefficients(curve, size=asked.size, iterations=asked.workload.iterations)
        figures = {"fastest_possible_seconds": least_seconds(law)}
        if (best := fastest_vcores(law)) < math.inf:
            figures[f"fastest_{curve.runs.unit}"] = max(1.0, round(best))
        if asked.size is not None and self.profile.input_unit == "bytes" and least_seconds(law):
            figures["most_throughput_bytes_per_second"] = most_throughput(
                law, data_bytes=asked.size
            )
        return replace(explanation, job_profile=figures)

    def assured_memory(self, workload: Workload) -> AssuredMemory | None:
        """4.2.1 by elbows, which run times tell as well as logs do; None where no input was run
        with three memory sizes."""
        wanted = self.completed(workload)
        runs = sharing_parameters(self.profile.runs, wanted.parameters)
        return assured_by_runs(runs, input_bytes=wanted.input_bytes)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        asked = self._asked(batch, workload)
        notices: list[Notice | None] = [*super().notices(batch, workload)]
        for family in np.unique(asked.at.family):
            curve = asked.curves[family].fitted
            machines = asked.at.machines[asked.at.family == family]
            if curve is not None:
                notices.append(_beyond_fastest_notice(curve, machines, asked))
            elif asked.workload.iterations is not None:
                notices.append(_no_law(asked.workload.iterations))
        return in_order(notices)


def _no_law(iterations: float) -> Notice:
    """Between two numbers of iterations the time is on a line through two laws: it has none."""
    return Notice(
        "not-modelled",
        f"the fastest number of machines and the most throughput (Lemmas 1 and 3) are unknown for "
        f"{iterations:g} iterations, a number that was not run",
        "ask for a number of iterations that was run, or add runs of this one",
    )


def _beyond_fastest_notice(
    curve: FittedCurve, machines: FloatArray, asked: Question
) -> Notice | None:
    """Lemma 1: beyond sqrt(gamma_0 k / gamma_1) more machines take longer."""
    law = coefficients(curve, size=asked.size, iterations=asked.workload.iterations)
    best = fastest_vcores(law)
    if not machines.size or not machines.max() > best:
        return None
    return Notice(
        "beyond-fastest",
        f"the time is least at about {max(1.0, best):.0f} {curve.runs.unit}; with more, "
        "communication takes more than computing saves",
        "use fewer",
    )


def coefficients(
    curve: FittedCurve, *, size: float | None, iterations: float | None
) -> Coefficients:
    """gamma_0 ... gamma_2 of a fitted curve for one input; a machine is the unit, so k = 1."""
    gamma_2, per_scale, gamma_1 = (float(x) * (iterations or 1.0) for x in curve.fit.coefficients)
    scale = (1.0 if size is None else size) / curve.runs.size.max()
    return Coefficients(per_scale * scale, gamma_1, gamma_2)


def fitted_curve(name: str, profile: Profile) -> SimcostCurves:
    """The transformed model of a profile whose runs have no stages.

    Raises:
        ModelDoesNotFit: with fewer than three configurations of machines and size.
    """
    if not profile.runs:
        raise ModelDoesNotFit(
            f"{name} needs an event log or runs, and {profile.name} has none",
            remedy="add event logs or a run table, or use --model optex",
        )
    fit_curve = partial(fit_terms, TERMS, relative=True, model=name, steepest=1.0)
    notices = (_NO_STAGES, *((_NO_RATES,) if profile.resources else ()))
    return SimcostCurves(name, profile, fit_curve, fit_notices=notices).validated()


_NO_RATES = Notice(
    "resources-not-used",
    "the resource profile changes nothing: without stages nothing is known of the data that moves",
    "add an event log",
)

_NO_STAGES = Notice(
    "no-stages",
    "no run has stages: the time follows machines and size alone, without costs per stage or "
    "sizes of data",
    "add an event log",
)
