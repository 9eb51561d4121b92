"""Transfers speed from measured to unmeasured instance types, with its uncertainty.

Speed is per core. Sizes of one family, which names tell, have the same cores. Otherwise it is the
ratio of CPU scores per vCPU, where both machines have one of the same benchmark. Every other case
is an assumption with its own warning code and a wider spread.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from engine.catalog import Catalog, InstanceType
from engine.notices import Notice
from engine.profile import Profile

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


SPREAD_TRANSFERRED = 0.25
SPREAD_UNKNOWN_SOURCE = 0.35
SPREAD_NO_SCORE = 0.35
"""Prior standard deviations of log time. Predicting one measured type from another on public run
tables had an RMS error in log time of 0.20 to 0.45, by job: memory and disks differ too, which a
CPU score does not capture."""

SPREAD_OF_SIZES = 0.20
"""The same between sizes of one family, whose scores differ only by noise (4 %). With equal cores
they were 0.16 apart in one collection; predicting one size from another, 97 and 89 % of the runs of
two collections lie inside the 90 % interval (docs/models/sparkplan_tried.md, Sizes of a family)."""

SPREAD_BETWEEN_CATALOGS = 0.30
"""The same where the two scores are from different catalogs: two campaigns measured them (on equal
processors they agree within about 10 %), and disks and object store differ as well."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of one core relative to the source's; `code` is None for the measured machine.

    Args:
        size_of: the measured type, if the target is another size of its family.
    """

    relative: float
    log_scale: float = 0.0
    code: str | None = None
    size_of: str | None = None


def speed_of(
    target: InstanceType | None, source: InstanceType | None, catalog: Catalog | None
) -> Speed:
    """Speed of a core of `target` relative to a core of `source`.

    A target of None means the measured machines. A source of None (the log does not name its type)
    is assumed to be the catalog's median machine by the target's benchmark.
    """
    if target is None or (source is not None and target.name == source.name):
        return Speed(1.0)
    if source is not None and same_family(target.name, source.name):
        return Speed(1.0, SPREAD_OF_SIZES, "transferred-speed", source.name)
    target, source = _with_score(target, catalog), source and _with_score(source, catalog)
    target_score = target.cpu_score_per_vcpu
    if source is None:
        medians = catalog.median_cpu_scores_per_vcpu if catalog is not None else {}
        median = medians.get(target.cpu_benchmark)
        if target_score is None or median is None:
            return Speed(1.0, SPREAD_NO_SCORE, "unknown-source-type")
        return Speed(target_score / median, SPREAD_UNKNOWN_SOURCE, "unknown-source-type")
    source_score = source.cpu_score_per_vcpu
    same_benchmark = source.cpu_benchmark == target.cpu_benchmark
    if target_score is None or source_score is None or not same_benchmark:
        return Speed(1.0, SPREAD_NO_SCORE, "no-cpu-score")
    other_catalog = catalog is not None and source.name not in catalog.offers
    spread = SPREAD_BETWEEN_CATALOGS if other_catalog else SPREAD_TRANSFERRED
    spreads = (spread, source.cpu_score_spread or 0.0, target.cpu_score_spread or 0.0)
    return Speed(target_score / source_score, math.hypot(*spreads), "transferred-speed")


def _with_score(instance: InstanceType, catalog: Catalog | None) -> InstanceType:
    """The catalog's entry for a type without a score or without a benchmark name; else the type
    unchanged."""
    if instance.cpu_benchmark is not None or catalog is None:
        return instance
    offer = catalog.offers.get(instance.name)
    return offer.instance if offer is not None and offer.instance.cpu_score else instance


def measured_instance_type(profile: Profile, catalog: Catalog) -> InstanceType | None:
    """The type on which a job's times were measured; None where it is not named."""
    run = profile.largest_run
    if run is not None and run.cluster.instance is not None:
        return run.cluster.instance
    named = [name for name in profile.instance_types if name in catalog.offers]
    return catalog.offers[named[0]].instance if named else None


def transfer_notice(speed: Speed, target: InstanceType | None) -> Notice | None:
    """The warning that goes with a transferred speed."""
    name = target.name if target else "the target"
    add_log, name_it = f"run the job once on {name} and add its log", "name it with --ran-on TYPE"
    as_fast = "every vCPU is taken to be as fast as the measured ones"
    if speed.size_of is not None:
        text = (
            f"{name} was not measured: its vCPUs are taken to be as fast as those of "
            f"{speed.size_of}, another size of its family"
        )
        return Notice("transferred-speed", text, add_log)
    if speed.code == "transferred-speed":
        text = f"{name} was not measured: {speed.relative:.2f} times the measured speed per core, "
        return Notice(speed.code, f"{text}by CPU score", add_log)
    if speed.code == "no-cpu-score":
        text = f"no CPU score compares {name} with the measured type: {as_fast}"
        return Notice(speed.code, text, add_log)
    if speed.code == "unknown-source-type":
        text = "nothing says where it ran: the catalog's median speed per vCPU is assumed"
        if target is not None and target.cpu_score is None:
            text = f"nothing says where it ran, and {name} has no CPU score: {as_fast}"
        return Notice(speed.code, text, name_it)
    return None
