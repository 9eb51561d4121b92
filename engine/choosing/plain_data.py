"""Answers of the optimiser as plain data for JSON: what `recommend --json` is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.cluster import BesideHeap, Layout
from engine.cost import Cost
from engine.memory import default_overhead_gib


def fields_dict(value: object, *names: str) -> dict[str, Any]:
    """Fields of a value as plain data for JSON, in this order."""
    return {name: _plain(getattr(value, name)) for name in names}


def _plain(value: Any) -> Any:
    """One value: a goal, a choice or a notice by its own `to_dict`."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    if isinstance(value, Layout):
        return _layout_dict(value)
    if isinstance(value, Cost):
        return _cost_dict(value)
    to_dict = getattr(value, "to_dict", None)
    return value if to_dict is None else to_dict()


def _layout_dict(layout: Layout) -> dict[str, Any]:
    """The layout as plain data; the memory overhead is Spark's default where none is planned."""
    heap, beside = layout.executor_memory_gib, layout.beside or BesideHeap()
    if (overhead := beside.overhead_gib) is None and heap is not None:
        overhead = default_overhead_gib(heap)
    return {
        **fields_dict(layout, "executors_per_node", "executor_cores", "executor_memory_gib"),
        "executor_memory_overhead_gib": overhead,
        "executor_pyspark_memory_gib": beside.pyspark_gib,
        "executor_off_heap_gib": beside.off_heap_gib,
    }


def _cost_dict(cost: Cost) -> dict[str, Any]:
    parts: dict[str, Any] = {f"{name}_usd": usd for name, usd in cost.parts.items()}
    return {**parts, "billed_seconds": cost.billed_seconds, "assumptions": list(cost.assumptions)}
