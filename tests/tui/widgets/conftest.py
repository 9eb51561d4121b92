"""Settings of the property tests: no deadline, because a test never asserts a time."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
