"""What holds for all tests."""

import gc

import pytest
from hypothesis import settings

from engine.mixing import search

# A test asserts no times, and Hypothesis would by default: 200 ms for each example, which a busy
# machine takes for anything.
settings.register_profile("sparkplan", deadline=None)
settings.load_profile("sparkplan")

# The objects of thousands of tests are looked through each time: as often as Python does that by
# itself it takes a tenth of the whole run.
gc.set_threshold(50_000, 20, 20)


@pytest.fixture(autouse=True, scope="session")
def _searches_take_as_long_as_they_need():
    """Planned for a person who waits, a search ends after two seconds with the best it has; whether
    it proves more in that time is a matter of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "TIME_LIMIT_SECONDS", 60.0)
        yield
