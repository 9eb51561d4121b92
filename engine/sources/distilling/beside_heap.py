"""What executors had beside their heap: overhead, Python's own memory, Spark's off-heap memory.

An application that was given more of it than Spark adds by itself was mostly given it for a reason:
Python, native code. `engine.machines.beside_heap` says what is planned from that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from engine.cluster import BesideHeap
from engine.memory import OVERHEAD_FRACTION, default_overhead_gib
from engine.sources.distilling.settings import MIB_PER_GIB, is_local, memory_gib, plausible_gib
from engine.sources.logs.application import Application
from engine.sources.logs.events import Amount

MUCH_MORE = 2.0
"""Times Spark's default, beyond which an overhead that is a share of the heap counts: a share is
mostly a platform's rule for any job. EMR's own (18.75 % of the heap) does not count, Kubernetes'
for Python (40 %) does. An amount was given to this job, and counts from the first MiB."""

MOST_FACTOR = 100.0
"""A larger share of the heap is no setting that anybody made."""

_OVERHEADS = ("spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead")
_FACTORS = ("spark.executor.memoryOverheadFactor", "spark.kubernetes.memoryOverheadFactor")
_LEAST = "spark.executor.minMemoryOverhead"
"""What the overhead is at least, where no amount is given: an amount as well (Spark 4.0)."""


def asked_beside_heap(application: Application, heap_gib: float | None) -> BesideHeap | None:
    """What an executor's container had beside the heap, where that is more than Spark's default.

    Before Spark 3.0 off-heap memory was part of the overhead.
    """
    if heap_gib is None or is_local(application):
        return None
    set_gib = memory_gib(application.properties.get("spark.executor.pyspark.memory"))
    python_gib = _asked(application).get("pyspark.memory") or set_gib
    found = BesideHeap(_overhead(application, heap_gib), python_gib, _off_heap(application))
    return found or None


def _overhead(application: Application, heap_gib: float) -> float | None:
    """The overhead in GiB where it was more than Spark's default, None where it was not."""
    properties, default = application.properties, default_overhead_gib(heap_gib)
    given = _asked(application).get("memoryOverhead")
    if given is None:
        given = next((a for key in _OVERHEADS if (a := memory_gib(properties.get(key)))), None)
    if given is not None:
        # Spark counts in whole MiB: a default that somebody wrote out may be rounded up.
        return given if given >= default + 1.0 / MIB_PER_GIB else None
    share = _factor(properties) * heap_gib
    least = memory_gib(properties.get(_LEAST)) or 0.0
    if least >= max(share, default + 1.0 / MIB_PER_GIB):
        return least
    return share if share > MUCH_MORE * default else None


def _asked(application: Application) -> dict[str, float]:
    """GiB of each kind of memory in the commonest resource profile of executors."""
    counted = Counter(executor.profile for executor in application.executors.values())
    if not counted:
        return {}
    profile = application.profiles.get(counted.most_common(1)[0][0])
    requests: Mapping[str, Amount] = profile.executor if profile else {}
    asked = {name: plausible_gib(one.amount / MIB_PER_GIB) for name, one in requests.items()}
    return {name: amount_gib for name, amount_gib in asked.items() if amount_gib is not None}


def _off_heap(application: Application) -> float | None:
    properties = application.properties
    early = (application.version or "").startswith(("1.", "2."))
    if early or properties.get("spark.memory.offHeap.enabled", "").lower() != "true":
        return None
    return _asked(application).get("offHeap") or _off_heap_setting(properties)


def _off_heap_setting(properties: Mapping[str, str]) -> float | None:
    """`spark.memory.offHeap.size`, of which a bare number is bytes."""
    text = properties.get("spark.memory.offHeap.size", "").strip()
    return memory_gib(f"{text}b" if text.isdigit() else text)


def _factor(properties: Mapping[str, str]) -> float:
    """The overhead as a share of the heap; Spark's default where none is told."""
    for key in _FACTORS:
        try:
            value = float(properties[key])
        except (KeyError, ValueError):
            continue
        if 0.0 < value < MOST_FACTOR:
            return value
    return OVERHEAD_FRACTION
