"""What executors had beside their heap: overhead, Python's own memory, Spark's off-heap memory.

A recommendation divides a node's memory into heaps and the overhead that Spark adds by itself. An
application that was given more than that was mostly given it for a reason: Python, native code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import isfinite

from engine.errors import BadInput
from engine.memory import OVERHEAD_FRACTION, OVERHEAD_MINIMUM_GIB
from engine.profile import Notice
from engine.sources.application import Application
from engine.sources.events import Amount
from engine.units import parse_memory_gib

MUCH_MORE = 2.0
"""Times the overhead that is planned for, beyond which the difference is pointed out: EMR's own
default (18.75 % of the heap) is not, Kubernetes' for Python (40 %) is."""

MOST_FACTOR = 100.0
"""A larger share of the heap is no setting that anybody made."""

_OVERHEADS = ("spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead")
_FACTORS = ("spark.executor.memoryOverheadFactor", "spark.kubernetes.memoryOverheadFactor")
_MIB_PER_GIB = 1024.0


def more_beside_heap(application: Application, heap_gib: float | None) -> list[Notice]:
    """The notice that executors had much more beside their heap than is planned for."""
    if heap_gib is None or application.local_cores is not None:
        return []
    had = beside_heap_gib(application, heap_gib)
    planned = max(OVERHEAD_FRACTION * heap_gib, OVERHEAD_MINIMUM_GIB)
    if had <= MUCH_MORE * planned:
        return []
    return [
        Notice(
            "more-beside-heap",
            f"each executor had {had:.3g} GiB beside its heap of {heap_gib:.3g} GiB (overhead, "
            f"Python, off-heap): what is recommended leaves {OVERHEAD_FRACTION:.0%} of the heap "
            "for that, 384 MiB at least",
            "where tasks need it, raise spark.executor.memoryOverhead in the text that you paste "
            "and lower spark.executor.memory by as much",
        )
    ]


def beside_heap_gib(application: Application, heap_gib: float) -> float:
    """GiB that an executor's container had beside the heap, as far as the log tells: an overhead
    that it does not name is Spark's default.

    Before Spark 3.0 off-heap memory was part of the overhead.
    """
    properties = application.properties
    asked = _asked(application)
    overhead = asked.get("memoryOverhead")
    if overhead is None:
        overhead = next((a for key in _OVERHEADS if (a := _memory(properties, key))), None)
    if overhead is None:
        overhead = max(_factor(properties) * heap_gib, OVERHEAD_MINIMUM_GIB)
    python = asked.get("pyspark.memory") or _memory(properties, "spark.executor.pyspark.memory")
    return overhead + (python or 0.0) + (_off_heap(application) or 0.0)


def _asked(application: Application) -> dict[str, float]:
    """GiB of each kind of memory in the commonest resource profile of executors."""
    counted = Counter(executor.profile for executor in application.executors.values())
    if not counted:
        return {}
    profile = application.profiles.get(counted.most_common(1)[0][0])
    requests: Mapping[str, Amount] = profile.executor if profile else {}
    return {
        name: request.amount / _MIB_PER_GIB
        for name, request in requests.items()
        if isfinite(request.amount) and request.amount > 0
    }


def _off_heap(application: Application) -> float | None:
    properties = application.properties
    early = (application.version or "").startswith(("1.", "2."))
    if early or properties.get("spark.memory.offHeap.enabled", "").lower() != "true":
        return None
    return _asked(application).get("offHeap") or _off_heap_setting(properties)


def _off_heap_setting(properties: Mapping[str, str]) -> float | None:
    """`spark.memory.offHeap.size`, of which a bare number is bytes."""
    text = properties.get("spark.memory.offHeap.size", "").strip()
    return _parsed(f"{text}b" if text.isdigit() else text)


def _memory(properties: Mapping[str, str], key: str) -> float | None:
    return _parsed(properties.get(key, ""))


def _parsed(text: str) -> float | None:
    try:
        return parse_memory_gib(text) if text else None
    except BadInput:
        return None


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
