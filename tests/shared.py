"""Where reference material lies that tests may read but do not need."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="reference material is not here")
