"""Executor memory beside the heap, from a log's settings: overhead, Python memory, off-heap memory.

A job that was configured with more than Spark's default usually needs it, for Python or native
code. `engine.machines.beside_heap` derives from it what a plan gives to executors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from engine.cluster import BesideHeap
from engine.memory import OVERHEAD_FRACTION, default_overhead_gib
from engine.sources.distilling.settings import MIB_PER_GIB, is_local, memory_gib, plausible_gib
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Executor
from engine.sources.logs.events import Amount

NOTABLE_FACTOR = 2.0
"""An overhead given as a share of the heap counts above this multiple of Spark's default: a share
is mostly a platform's rule for all jobs. EMR's (18.75 % of the heap) does not count, Kubernetes'
for Python (40 %) does. An absolute amount was set for this job and counts from the first MiB."""

MAX_FACTOR = 100.0
"""A larger share of the heap is treated as damage."""

_OVERHEADS = ("spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead")
_FACTORS = ("spark.executor.memoryOverheadFactor", "spark.kubernetes.memoryOverheadFactor")
_MINIMUM = "spark.executor.minMemoryOverhead"
"""Minimum overhead where no amount is given; an absolute amount as well (Spark 4.0)."""


def requested_beside_heap(application: Application, heap_gib: float | None) -> BesideHeap | None:
    """Memory beside the heap in an executor's container; None where it is Spark's default.

    Before Spark 3.0 off-heap memory was part of the overhead.
    """
    if heap_gib is None or is_local(application):
        return None
    set_gib = memory_gib(application.properties.get("spark.executor.pyspark.memory"))
    python_gib = _requested_of_all(application).get("pyspark.memory") or set_gib
    beside = BesideHeap(_overhead(application, heap_gib), python_gib, _off_heap(application))
    return beside or None


def _overhead(application: Application, heap_gib: float) -> float | None:
    """The overhead in GiB where it exceeds Spark's default, else None."""
    properties, default = application.properties, default_overhead_gib(heap_gib)
    amount = _requested_of_all(application).get("memoryOverhead")
    if amount is None:
        amount = next((a for key in _OVERHEADS if (a := memory_gib(properties.get(key)))), None)
    if amount is not None:
        # Spark counts in whole MiB: a default that was written out may be rounded up.
        return amount if amount >= default + 1.0 / MIB_PER_GIB else None
    share = _factor(properties) * heap_gib
    minimum = memory_gib(properties.get(_MINIMUM)) or 0.0
    if minimum >= max(share, default + 1.0 / MIB_PER_GIB):
        return minimum
    return share if share > NOTABLE_FACTOR * default else None


def _requested_of_all(application: Application) -> dict[str, float]:
    return requested_gib(application, application.executors.by_id.values())


def requested_gib(application: Application, executors: Iterable[Executor]) -> dict[str, float]:
    """GiB of each kind of memory requested by the most common resource profile of executors."""
    profile_counts = Counter(executor.profile for executor in executors)
    if not profile_counts:
        return {}
    profile = application.resource_profiles.get(profile_counts.most_common(1)[0][0])
    requests: Mapping[str, Amount] = profile.executor if profile else {}
    gib = {name: plausible_gib(request.amount / MIB_PER_GIB) for name, request in requests.items()}
    return {name: amount_gib for name, amount_gib in gib.items() if amount_gib is not None}


def _off_heap(application: Application) -> float | None:
    properties = application.properties
    early = (application.version or "").startswith(("1.", "2."))
    if early or properties.get("spark.memory.offHeap.enabled", "").lower() != "true":
        return None
    text = properties.get("spark.memory.offHeap.size", "").strip()  # a bare number is bytes
    set_gib = memory_gib(f"{text}b" if text.isdigit() else text)
    return _requested_of_all(application).get("offHeap") or set_gib


def _factor(properties: Mapping[str, str]) -> float:
    """The configured overhead as a share of the heap; else Spark's default."""
    for key in _FACTORS:
        try:
            value = float(properties[key])
        except (KeyError, ValueError):
            continue
        if 0.0 < value < MAX_FACTOR:
            return value
    return OVERHEAD_FRACTION
