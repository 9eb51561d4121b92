"""From the machines that were measured to machines that were not: relative speed and its doubt.

Speed is per core. Sizes of one family have the same cores. Else it comes from the ratio of CPU
scores per vCPU where both machines have one of the same benchmark; every other case is an
assumption with a warning code of its own and a wider spread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.catalog import Catalog, InstanceType
from engine.machines.families import same_family
from engine.notices import Notice
from engine.profile import Profile

SPREAD_TRANSFERRED = 0.25
SPREAD_UNKNOWN_SOURCE = 0.35
SPREAD_NO_SCORE = 0.35
"""Prior standard deviations of log time. Predicting one measured type from another on public run
tables was off by 0.20 to 0.45 (root mean square of log time, by job): memory and disks differ too,
and a CPU score says nothing of them."""

SPREAD_OF_SIZES = 0.20
"""The same between sizes of one family, whose scores differ by chance alone (by 4 %). On as many
cores they were 0.16 apart on one collection; asked for each other, 97 and 89 % of the runs of two
collections lie inside 90 % (docs/models/sparkplan_tried.md, Sizes of a family)."""

SPREAD_BETWEEN_CATALOGS = 0.30
"""The same where the two scores stand in different catalogs: two campaigns measured them (on equal
processors they agree within about 10 %), and other disks and another object store come with it."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of one core relative to the source's; `code` is None for the measured machine.

    Args:
        size_of: the measured type of whose family the target is another size.
    """

    relative: float
    log_scale: float = 0.0
    code: str | None = None
    size_of: str | None = None


def speed_of(
    target: InstanceType | None, source: InstanceType | None, catalog: Catalog | None
) -> Speed:
    """How fast a core of `target` is, in cores of `source`.

    A target of None means the machines that were measured. A source of None, when the log does
    not say where it ran, is taken to be the median machine of those that the catalog scores by
    the target's benchmark.
    """
    if target is None or (source is not None and target.name == source.name):
        return Speed(1.0)
    if source is not None and same_family(target.name, source.name):
        return Speed(1.0, SPREAD_OF_SIZES, "transferred-speed", source.name)
    target, source = _scored(target, catalog), source and _scored(source, catalog)
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
    foreign = catalog is not None and source.name not in catalog.offers
    spread = SPREAD_BETWEEN_CATALOGS if foreign else SPREAD_TRANSFERRED
    doubts = (spread, source.cpu_score_spread or 0.0, target.cpu_score_spread or 0.0)
    return Speed(target_score / source_score, math.hypot(*doubts), "transferred-speed")


def _scored(instance: InstanceType, catalog: Catalog | None) -> InstanceType:
    """A type that a table or a profile names without a score, or without saying of which
    benchmark its score is, is looked up in the catalog."""
    if instance.cpu_benchmark is not None or catalog is None:
        return instance
    offer = catalog.offers.get(instance.name)
    return offer.instance if offer is not None and offer.instance.cpu_score else instance


def source_of(profile: Profile, catalog: Catalog) -> InstanceType | None:
    """The type that the times of a job were measured on, None where nobody named it."""
    run = profile.largest_run
    if run is not None and run.cluster.instance is not None:
        return run.cluster.instance
    named = [name for name in profile.instance_types if name in catalog.offers]
    return catalog.offers[named[0]].instance if named else None


def notice_of(speed: Speed, target: InstanceType | None) -> Notice | None:
    """The warning that goes with a transferred speed."""
    name = target.name if target else "the target"
    if speed.size_of is not None:
        return Notice(
            "transferred-speed",
            f"{name} was not measured: its vCPUs are taken to be as fast as those of "
            f"{speed.size_of}, another size of its family",
            f"run the job once on {name} and add its log",
        )
    if speed.code == "transferred-speed":
        return Notice(
            speed.code,
            f"{name} was not measured: {speed.relative:.2f} times the measured speed per core, "
            "by CPU score",
            f"run the job once on {name} and add its log",
        )
    if speed.code == "unknown-source-type" and target is not None and target.cpu_score is None:
        return Notice(
            speed.code,
            f"nothing says where it ran, and {name} has no CPU score: every vCPU is taken "
            "to be as fast as the measured ones",
            "name it with --ran-on TYPE",
        )
    if speed.code == "unknown-source-type":
        return Notice(
            speed.code,
            "nothing says where it ran: the catalog's median speed per vCPU is assumed",
            "name it with --ran-on TYPE",
        )
    if speed.code == "no-cpu-score":
        return Notice(
            speed.code,
            f"no CPU score compares {name} with the measured type: every vCPU is taken to be as "
            "fast as the measured ones",
            f"run the job once on {name} and add its log",
        )
    return None
