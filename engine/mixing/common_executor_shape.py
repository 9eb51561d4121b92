"""A common executor shape for a composition that the user names.

Executors of an application have one shape. Each type by itself may have another: a measured one
that of its runs, small nodes fewer cores than large ones.
"""

from __future__ import annotations

from dataclasses import replace

from engine.choosing.candidates import Candidates
from engine.cluster import Layout
from engine.errors import BadInput
from engine.machines.beside_heap import planned_beside
from engine.memory import layout_of
from engine.notices import Notice
from engine.profile import Profile
from engine.units import format_count


def with_common_shape(candidates: Candidates, profile: Profile) -> tuple[Candidates, list[Notice]]:
    """The candidates with executors of the same cores, and a notice where that changes any.

    The cores are those that a measured type ran with, if all nodes can hold such executors, else
    the fewest of any type.

    Raises:
        BadInput: where no shape of any of them fits all nodes.
    """
    by_name = dict(zip(candidates.names, candidates.layouts, strict=True))
    if len({layout.executor_cores for layout in candidates.layouts}) == 1:
        return candidates, []
    measured = [name for name in profile.instance_types if name in by_name]
    fewest = min(candidates.names, key=lambda name: by_name[name].executor_cores)
    for name in (*measured, fewest):
        laid_out = _with_cores(candidates, by_name[name].executor_cores, profile)
        if laid_out is not None:
            notice = _shape_notice(name, by_name[name], measured=name in measured)
            return replace(candidates, layouts=laid_out), [notice]
    shapes = " and ".join(
        f"{format_count(layout.executor_cores, 'core')} on {name}"
        for name, layout in by_name.items()
    )
    raise BadInput(
        f"executors of an application have one shape, not {shapes}",
        where="composition",
        remedy="combine types whose executors have the same cores",
    )


def _with_cores(
    candidates: Candidates, executor_cores: int, profile: Profile
) -> tuple[Layout, ...] | None:
    """(k,) layouts of executors of so many cores; a layout that has them stays as it is. None where
    a node cannot hold one."""
    layouts = []
    for offer, layout in zip(candidates.offers, candidates.layouts, strict=True):
        new_layout: Layout | None = layout
        if layout.executor_cores != executor_cores:
            new_layout = layout_of(
                offer.instance,
                candidates.catalog.memory_rule,
                executor_cores=executor_cores,
                beside_per_core=planned_beside(profile),
            )
        if new_layout is None or new_layout.executor_cores != executor_cores:
            return None
        layouts.append(new_layout)
    return tuple(layouts)


def _shape_notice(name: str, layout: Layout, *, measured: bool) -> Notice:
    why = "as it ran there" if measured else "the fewest of these types"
    return Notice(
        "one-executor-shape",
        f"executors of an application are alike: all nodes have executors of "
        f"{format_count(layout.executor_cores, 'core')}, the shape of {name} ({why})",
        "predict one type by itself to see it with its own executors",
    )
