"""Processor time of one call: other programs on the machine do not count."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def timed(run: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> tuple[T, float]:
    """What a function answers, and the processor seconds that takes."""
    start = time.process_time()
    found = run(*arguments, **options)
    return found, time.process_time() - start
