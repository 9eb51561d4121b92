"""Resource profiles: the throughputs of a node, as YAML (SimCost 4.2.2; docs/formats.md).

`sparkplan measure-host` writes one without the HDFS rates.
"""

from __future__ import annotations

from pathlib import Path

from engine.errors import BadInput, UnknownName
from engine.given_profiles import ResourceProfile
from engine.models.simcost.rates import revised
from engine.profile import Profile
from engine.sources.formats.workflow_values import rate
from engine.text.located_yaml import Section, read_yaml

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
    hdfs_read, hdfs_write = (_rate(top, key) for key in OPTIONAL)
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
    value = _rate(section, key)
    if value is None:
        raise BadInput(
            f"{key} is missing",
            where=str(section.path),
            remedy=f"a resource profile needs {', '.join(NEEDED)}",
        )
    return value


def _rate(section: Section, key: str) -> float | None:
    text = section.get(key, str)
    try:
        return None if text is None else rate(text)
    except BadInput as error:
        where = section.where_of(key)
        raise BadInput(f"{key}: {error.what}", where=where, remedy=error.remedy) from None
