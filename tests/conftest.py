"""What holds for all tests."""

import gc

from hypothesis import settings

# A test asserts no times, and Hypothesis would by default: 200 ms for each example, which a busy
# machine takes for anything.
settings.register_profile("sparkplan", deadline=None)
settings.load_profile("sparkplan")

# The objects of thousands of tests are looked through each time: as often as Python does that by
# itself it takes a tenth of the whole run.
gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    """What was collected stays until the end, and is looked through no more: it is most of what a
    worker holds, and half a second at each time that everything is."""
    gc.freeze()
