"""What holds for all tests."""

import gc
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from kept_fits import ENGINE_FIT, ENGINE_READS, KeptFits, KeptReads

import engine

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


@pytest.fixture(scope="session")
def kept_fits() -> KeptFits:
    """The fits of all command lines that tests run in this process."""
    return KeptFits()


@pytest.fixture(scope="session")
def kept_reads() -> KeptReads:
    """The samples that these command lines read."""
    return KeptReads()


@pytest.fixture
def commands_share_fits(
    request: pytest.FixtureRequest, kept_fits: KeptFits, kept_reads: KeptReads
) -> Iterator[None]:
    """Not those of planners, which ask from several threads, each of which has a fit of its own;
    what a test or one of its fixtures has put in the place of something is in no fit but its own;
    and a fit or a reading of the test itself is the one that is asked."""
    from tui import cli

    replaces = "monkeypatch" in request.fixturenames
    fits, reads = (KeptFits(), KeptReads()) if replaces else (kept_fits, kept_reads)
    run = cli.run

    def run_with_fits(arguments: list[str]) -> int:
        is_command = arguments[:1] and arguments[0] in cli.COMMANDS
        with pytest.MonkeyPatch.context() as patch:
            if is_command and engine.fit is ENGINE_FIT:
                patch.setattr(engine, "fit", fits.fit)
            for name, reading in ENGINE_READS.items():
                if is_command and getattr(engine, name) is reading:
                    patch.setattr(engine, name, reads.instead_of(name))
            return run(arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "run", run_with_fits)
        yield
