"""Resource profiles: the throughputs of a node, as YAML (SimCost 4.2.2; docs/formats.md).

`sparkplan measure-host` writes one without the HDFS rates.
"""

from __future__ import annotations

import math
from pathlib import Path

from engine.errors import BadInput, UnknownName
from engine.given_profiles import ResourceProfile
from engine.models.simcost.rates import revised
from engine.profile import Profile
from engine.sources.formats.workflow_values import LEAST_RATE, MOST_RATE
from engine.text.located_yaml import Section, read_yaml
from engine.text.quantities import parse_bytes

RATE = "_bytes_per_second"
NEEDED = (f"network{RATE}", f"local_read{RATE}", f"local_write{RATE}")
OPTIONAL = (f"hdfs_read{RATE}", f"hdfs_write{RATE}")


def read_resources(path: str | Path) -> ResourceProfile:
    """Reads a resource profile; keys that are no rates (host, date, notes) are ignored.

    Raises:
        BadInput: with file and line, for a rate that is missing, zero or no number.
        UnknownName: for an unknown rate.
    """
    top = read_yaml(Path(path))
    for key in top.entries:
        if key.endswith(RATE) and key not in NEEDED + OPTIONAL:
            raise UnknownName("rate", key, NEEDED + OPTIONAL, where=top.where_of(key))
    network, local_read, local_write = (_needed(top, key) for key in NEEDED)
    hdfs_read, hdfs_write = (top.get(key, _rate) for key in OPTIONAL)
    return ResourceProfile(
        network_bytes_per_second=network,
        local_read_bytes_per_second=local_read,
        local_write_bytes_per_second=local_write,
        hdfs_read_bytes_per_second=hdfs_read,
        hdfs_write_bytes_per_second=hdfs_write,
        origin=f"the resource profile {Path(path).name}",
    )


def revise_resources(resources: ResourceProfile, stress: Profile) -> ResourceProfile:
    """The resource profile revised by the log of a shuffle-intensive job (its largest run).

    Raises:
        BadInput: when the log has no stages, or is not shuffle-intensive.
    """
    run = stress.largest_run
    if run is None or not run.stages:
        raise BadInput(
            f"{stress.name} has no stages to measure shuffling by",
            remedy="give an event log of a shuffle-heavy job, such as a sort",
        )
    return revised(resources, run)


def _needed(section: Section, key: str) -> float:
    rate = section.get(key, _rate)
    if rate is None:
        raise BadInput(
            f"{key} is missing",
            where=str(section.path),
            remedy=f"a resource profile needs {', '.join(NEEDED)}",
        )
    return rate


def _rate(text: str) -> float:
    """A throughput: a number of bytes (also as 1.1e8), with or without a unit."""
    wrong = ValueError(f"must be bytes per second above zero, such as 110MB, not {text!r}")
    try:
        rate = float(text)
    except ValueError:
        try:
            rate = parse_bytes(text)
        except BadInput:
            raise wrong from None
    if not 0.0 < rate < math.inf:
        raise wrong
    if not LEAST_RATE <= rate <= MOST_RATE:
        raise ValueError(f"must lie between 1 B/s and 1 PB/s, not {text!r}")
    return rate
