"""What holds for all tests."""

import gc
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

# A test asserts no times, and Hypothesis would by default: 200 ms for each example, which a busy
# machine takes for anything.
settings.register_profile("sparkplan", deadline=None)
settings.load_profile("sparkplan")

# The objects of thousands of tests are looked through each time: as often as Python does that by
# itself it takes a tenth of the whole run.
gc.set_threshold(50_000, 20, 20)


HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of each folder are spread evenly over the run. Those of the terminal pause after each
    key until a planner is at rest, those of the engine never do: beside one another they keep the
    cores busy, one after the other they do not."""
    files: dict[str, dict[Path, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        below = item.path.relative_to(HERE).parts[:-1] if item.path.is_relative_to(HERE) else ()
        files["".join(below[:1])][item.path].append(item)
    placed = [
        ((number + 0.5) / len(folder), tests)
        for folder in files.values()
        for number, tests in enumerate(folder.values())
    ]
    items[:] = [item for _, tests in sorted(placed, key=lambda one: one[0]) for item in tests]


def pytest_collection_finish() -> None:
    """What was collected stays until the end, and is looked through no more: it is most of what a
    worker holds, and half a second at each time that everything is."""
    gc.freeze()
