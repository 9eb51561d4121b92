"""Instance families: types with the same processor that differ in size, by their names."""

from __future__ import annotations

import re
from functools import lru_cache

_NAMES = (
    # EC2: m5.2xlarge
    re.compile(
        r"(?P<family>[a-z]+\d[a-z0-9-]*)\.(nano|micro|small|medium|\d*x?large|metal[a-z0-9-]*)"
    ),
    # Compute Engine, whose series have one processor whatever their memory: n2-highmem-8
    re.compile(
        r"(?P<family>[a-z]\d+[a-z]?)-(standard|highcpu|highmem|(mega|ultra|hyper)mem|custom)-\d.*"
    ),
    # Azure: Standard_D8s_v5, of which the digits before the features are the size
    re.compile(r"(?P<family>Standard_[A-Z]+)\d+(-\d+)?(?P<features>[a-z]*(_[A-Z]\w*)?(_v\d+)?)"),
)


@lru_cache(maxsize=4096)
def family_of(name: str) -> str | None:
    """The family part of a type's name; None where the name follows no provider's rule."""
    for pattern in _NAMES:
        if match := pattern.fullmatch(name):
            return "".join(match.groupdict().values())
    return None


def same_family(one: str, other: str) -> bool:
    """Whether two types are sizes of one family."""
    return family_of(one) is not None and family_of(one) == family_of(other)
