"""From the machines that were measured to machines that were not: relative speed and its doubt.

Speed is per core. It comes from the ratio of CPU scores per vCPU where both machines have one;
every other case is an assumption with a warning code of its own and a wider spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.catalog import Catalog, InstanceType
from engine.profile import Notice

SPREAD_TRANSFERRED = 0.25
SPREAD_UNKNOWN_SOURCE = 0.35
SPREAD_NO_SCORE = 0.35
"""Prior standard deviations of log time. Predicting one measured type from another on public run
tables was off by 0.20 to 0.45 (root mean square of log time, by job): memory and disks differ too,
and a CPU score says nothing of them."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of one core relative to the source's; `code` is None for the measured machine."""

    relative: float
    log_scale: float = 0.0
    code: str | None = None


def speed_of(
    target: InstanceType | None, source: InstanceType | None, catalog: Catalog | None
) -> Speed:
    """How fast a core of `target` is, in cores of `source`.

    A target of None means the machines that were measured. A source of None, when the log does
    not say where it ran, is taken to be the catalog's median machine.
    """
    if target is None or (source is not None and target.name == source.name):
        return Speed(1.0)
    target_score = _score(target, catalog)
    source_score = _score(source, catalog) if source is not None else None
    median = catalog.median_cpu_score_per_vcpu if catalog is not None else None
    if source is None:
        if target_score is None or median is None:
            return Speed(1.0, SPREAD_NO_SCORE, "unknown-source-type")
        return Speed(target_score / median, SPREAD_UNKNOWN_SOURCE, "unknown-source-type")
    if target_score is None or source_score is None:
        return Speed(1.0, SPREAD_NO_SCORE, "no-cpu-score")
    return Speed(target_score / source_score, SPREAD_TRANSFERRED, "transferred-speed")


def speeds_of(
    targets: Sequence[InstanceType | None], source: InstanceType | None, catalog: Catalog | None
) -> list[Speed]:
    """`speed_of` for many targets."""
    return [speed_of(target, source, catalog) for target in targets]


def _score(instance: InstanceType, catalog: Catalog | None) -> float | None:
    """A type that a table or a profile names without a score is looked up in the catalog."""
    if instance.cpu_score_per_vcpu is not None or catalog is None:
        return instance.cpu_score_per_vcpu
    offer = catalog.offers.get(instance.name)
    return offer.instance.cpu_score_per_vcpu if offer else None


def notice_of(speed: Speed, target: InstanceType | None) -> Notice | None:
    """The warning that goes with a transferred speed."""
    name = target.name if target else "the target"
    if speed.code == "transferred-speed":
        return Notice(
            speed.code,
            f"{name} was not measured: {speed.relative:.2f} times the measured speed per core, "
            "by CPU score",
            f"run the job once on {name} and add its log",
        )
    if speed.code == "unknown-source-type":
        return Notice(
            speed.code,
            "the log does not say where it ran: the catalog's median speed per vCPU is assumed",
            "name it with --ran-on TYPE",
        )
    if speed.code == "no-cpu-score":
        return Notice(
            speed.code,
            f"no CPU score for {name}: every vCPU is taken to be as fast as the measured ones",
            f"run the job once on {name} and add its log",
        )
    return None
