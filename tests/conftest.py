"""What holds for all tests."""

import gc
import sys
from contextlib import suppress

import pytest
from _pytest.assertion import rewrite
from hypothesis import settings

# A test asserts no times, and Hypothesis would by default: 200 ms for each example, which a busy
# machine takes for anything.
settings.register_profile("sparkplan", deadline=None)
settings.load_profile("sparkplan")

# The objects of thousands of tests are looked through each time: as often as Python does that by
# itself it takes a tenth of the whole run.
gc.set_threshold(50_000, 20, 20)


def pytest_sessionstart(session: pytest.Session) -> None:
    """In a fresh tree each worker would make of every file what pytest makes of asserts, more than
    half of what it costs to collect them all: each makes a share of them, and reads the others'.
    What is still missing then is made on collection, as ever. No public way leads there."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    state = session.config.stash[rewrite.assertstate_key]
    for path in sorted(session.config.rootpath.glob("tests/**/test_*.py"))[number::count]:
        folder = rewrite.get_cache_dir(path)
        kept = folder / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite.try_makedirs(folder) and rewrite._read_pyc(path, kept) is None:
            with suppress(SyntaxError):  # which is told when that file is collected
                stat, code = rewrite._rewrite_test(path, session.config)
                rewrite._write_pyc(state, code, stat, kept)


def pytest_collection_finish() -> None:
    """What was collected stays until the end, and is looked through no more: it is most of what a
    worker holds, and half a second at each time that everything is."""
    gc.freeze()
