"""Base of all exports: their input (`Handover`), Spark and memory settings, comments."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.catalog import UNNAMED_PROVIDER
from engine.cluster import Layout
from engine.errors import BadInput
from engine.memory import default_overhead_gib, requested_cores
from engine.notices import Notice
from engine.text.lists import printable

if TYPE_CHECKING:  # the names of the targets are completed in a shell, which waits for numpy
    from engine.choosing.recommendation import Choice, Recommendation

IDLE_MINUTES = 10
"""A rented cluster terminates after this idle time, and only then: the pasted text starts no job,
so terminating after the last step would end the cluster before the job is submitted."""

CPU_REQUEST = "spark.kubernetes.executor.request.cores"

NODE_MEMORY = "yarn.nodemanager.resource.memory-mb"
LARGEST_CONTAINER = "yarn.scheduler.maximum-allocation-mb"

SPARK_OF_RELEASES = "3.5"
"""The Spark version of the releases, images and runtimes that the exports name as examples."""


@dataclass(frozen=True)
class Handover:
    """The input of an export: a recommendation with its cluster, settings and notices.

    Args:
        composition: type -> nodes; empty for a cluster that the user owns.
        statement: the prediction and its assumptions as text lines. Every export includes it and
            the notices as comments, if its format has comments.
        provider, region: None for a cluster that the user owns.
        master: the type of the master, and master_memory_gib its memory; None where none is known.
        node_memory_gib: memory that YARN may allocate per node; memories_gib: by type, in a mix.
        node_vcpus: vCPUs of the one type; mixed_nodes: of each type of a mix, (vCPUs, executors) of
            a node.
        settings: job settings that the prediction depends on (`engine.runs.carried_settings`);
            setting_notes: what was changed of them, as text lines.
        spot: the workers are rented at spot prices; the master never is.
        part_spot: type -> number of spot nodes, where only some nodes are spot.
        report: the whole answer, and choice: the exported part of it, for human-readable targets.
        dynamic_allocation: minimum and maximum executors; None where it is off.
        platform: the platform of the executor sizes and prices; None where unknown.
        unsupported: types that EMR does not support -> the nearest supported ones.
        diskless: types, including the master's, that are not known to have a local disk.
        architectures: type -> architecture, including the master's, where it is known.
        owned: nodes that cost nothing.
        spark_version: that of the largest run's log; None where unknown.
        cluster_mode: whether YARN placed the driver of every log on a worker.
    """

    application: str
    composition: Mapping[str, int]
    executors: int
    layout: Layout
    statement: tuple[str, ...]
    notices: tuple[Notice, ...] = ()
    provider: str | None = None
    region: str | None = None
    master: str | None = None
    master_memory_gib: float | None = None
    node_memory_gib: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    setting_notes: tuple[str, ...] = ()
    spot: bool = False
    report: Recommendation | None = None
    choice: Choice | None = None
    part_spot: Mapping[str, int] | None = None
    dynamic_allocation: tuple[int, int] | None = None
    memories_gib: Mapping[str, float] = field(default_factory=dict)
    node_vcpus: float | None = None
    mixed_nodes: tuple[tuple[float, int], ...] = ()
    platform: str | None = None
    unsupported: Mapping[str, Sequence[str]] = field(default_factory=dict)
    diskless: Sequence[str] = ()
    architectures: Mapping[str, str] = field(default_factory=dict)
    owned: Mapping[str, int] = field(default_factory=dict)
    spark_version: str | None = None
    cluster_mode: bool = False

    def on_spot(self, name: str) -> int:
        if self.part_spot is not None:
            return self.part_spot.get(name, 0)
        return self.composition[name] if self.spot else 0

    @property
    def spot_nodes(self) -> int:
        return sum(map(self.on_spot, self.composition))

    @property
    def nodes(self) -> int:
        return sum(self.composition.values())


class Export(ABC):
    """An export target: its command-line name, one-line summary, file suffix and renderer."""

    name: str
    summary: str
    suffix: str
    spark: str | None = None
    """The Spark version of the release that the text names ("3.5"); None where it names none."""

    def platform(self, handover: Handover) -> str | None:
        """The platform of the text (a name of `engine.machines.platforms`); None for any."""
        return self.name if self.spark else None

    def decides(self, handover: Handover) -> tuple[str, ...]:
        """Beginnings of settings that the target's platform decides itself, and that the text does
        not set."""
        return ()

    @abstractmethod
    def render(self, handover: Handover) -> str:
        """The text to paste.

        Raises:
            BadInput: when the target cannot express this recommendation; the message says why.
        """


def heap_mib(layout: Layout) -> int | None:
    """`spark.executor.memory` in whole MiB, rounded down so that the container still fits."""
    if layout.executor_memory_gib is None:
        return None
    return math.floor(layout.executor_memory_gib * 1024.0)


def overhead_mib(heap: int) -> int:
    """`spark.executor.memoryOverhead` in whole MiB: max(10 % of the heap, 384 MiB), rounded down as
    in Spark. Rounded up, heap and overhead could exceed the container by a MiB."""
    return math.floor(1024.0 * default_overhead_gib(heap / 1024.0))


def yarn_memory(handover: Handover) -> dict[str, str]:
    """YARN's memory settings for nodes of one type: per node, and the largest container."""
    if handover.node_memory_gib is None:
        return {}
    return dict.fromkeys((NODE_MEMORY, LARGEST_CONTAINER), mib(handover.node_memory_gib))


def mib(gib: float) -> str:
    """GiB in whole MiB, rounded down."""
    return str(math.floor(gib * 1024.0))


def beside_properties(layout: Layout) -> dict[str, str]:
    """The settings of memory beside the heap, where above Spark's default: one per kind, as in the
    log, so that the container is their sum."""
    return layout.beside.properties if layout.beside else {}


def spark_properties(handover: Handover) -> dict[str, str]:
    """The Spark settings that reproduce the predicted configuration."""
    cores = handover.layout.executor_cores
    properties = {"spark.executor.cores": str(cores)}
    if handover.dynamic_allocation is None:
        instances = {"spark.executor.instances": str(handover.executors)}
        properties = {**instances, **properties}
        if handover.platform == "standalone" or not handover.composition:
            # Standalone masters read no number of executors, only this; others do not read it.
            properties["spark.cores.max"] = str(handover.executors * cores)
    if handover.platform == "kubernetes" and (request := cpu_request(handover)) is not None:
        properties[CPU_REQUEST] = request
    heap = heap_mib(handover.layout)
    if heap is not None:
        properties["spark.executor.memory"] = f"{heap}m"
        properties["spark.executor.memoryOverhead"] = f"{overhead_mib(heap)}m"
        properties.update(beside_properties(handover.layout))
        if _ran_before(handover, 2, 3):
            overhead = properties.pop("spark.executor.memoryOverhead")
            properties["spark.yarn.executor.memoryOverhead"] = overhead.removesuffix("m")
    properties.update(dynamic_allocation_properties(handover))
    return {**properties, **handover.settings}


def cpu_request(handover: Handover) -> str | None:
    """The CPU request of an executor pod, if it must be below its number of cores so that all
    executors of a node can be scheduled: a node does not offer all of its CPUs. Else None."""
    layout = handover.layout
    nodes = handover.mixed_nodes
    if handover.node_vcpus is not None:
        nodes = ((handover.node_vcpus, layout.executors_per_node),)
    millis = min(
        (math.floor(1000.0 * requested_cores(vcpus, executors)) for vcpus, executors in nodes),
        default=math.inf,
    )
    return f"{millis}m" if millis < 1000 * layout.executor_cores else None


def dynamic_allocation_properties(handover: Handover) -> dict[str, str]:
    """The settings of dynamic allocation: off, or within its bounds and starting with all
    executors, as predicted. Shuffle tracking replaces the external shuffle service; Spark before
    3.0 has no tracking and refuses to start without the service."""
    prefix = "spark.dynamicAllocation"
    if handover.dynamic_allocation is None:
        return {f"{prefix}.enabled": "false"}
    fewest, most = handover.dynamic_allocation
    service = {"spark.shuffle.service.enabled": "true"} if _ran_before(handover, 3, 0) else {}
    return {
        f"{prefix}.enabled": "true",
        f"{prefix}.minExecutors": str(fewest),
        f"{prefix}.initialExecutors": str(handover.executors),
        f"{prefix}.maxExecutors": str(most),
        f"{prefix}.shuffleTracking.enabled": "true",
        **service,
    }


def _ran_before(handover: Handover, major: int, minor: int) -> bool:
    """Whether the job ran with a Spark version before `major.minor`; False where unknown."""
    ran = re.match(r"(\d+)\.(\d+)", handover.spark_version or "")
    return ran is not None and (int(ran[1]), int(ran[2])) < (major, minor)


def comments(handover: Handover) -> str:
    """The statement, prefixed with the program's name, and the notices as comment lines. Line
    breaks and control characters are replaced, so that no text can end a comment."""
    notes = (f"note: {notice.text} [{notice.code}]" for notice in handover.notices)
    lines = [*handover.statement, *notes]
    lines[:1] = [f"sparkplan: {line}" for line in lines[:1]]
    return "\n".join(f"# {printable(line)}" for line in lines)


def rented_comments(handover: Handover) -> str:
    """`comments` for a rented cluster, plus the cost of its idle time before termination, and that
    owned nodes and their master are started anew: no service uses running ones."""
    lines = [f"ends after {IDLE_MINUTES} minutes without work: billed too, and not in the cost"]
    if handover.owned:
        owned = " + ".join(f"{count} x {name}" for name, count in handover.owned.items())
        lines.append(
            f"starts the nodes you own as well ({owned}): billed unless a reservation covers them"
        )
    cost = handover.choice.cost if handover.choice is not None else None
    if cost is not None and cost.master_owned:
        lines.append("starts a master of its own, which is billed, and not in the cost")
    return "\n".join([comments(handover), *(f"# {printable(line)}" for line in lines)])


def resource_name(application: str) -> str:
    """A valid name for Google Cloud and Kubernetes: lower case letters, digits and hyphens, a
    letter first, at most 50 characters."""
    kept = "".join(
        char if char.isalnum() else "-" for char in application.lower() if ord(char) < 128
    )
    name = "-".join(part for part in kept.split("-") if part)
    if not name[:1].isalpha():
        name = f"job-{name}"
    return name[:50].strip("-")


def require_provider(handover: Handover, provider: str, why: str) -> str:
    """The region of a recommendation for that provider.

    Raises:
        BadInput: for another provider, and for a cluster that the user owns.
    """
    if handover.provider != provider or handover.region is None:
        given = handover.provider or "no provider"
        ways = [f"price it with --catalog {provider}"] if handover.provider else []
        if handover.provider == UNNAMED_PROVIDER:
            given = "a catalog that names no provider"
            ways.insert(0, f"write provider: {provider} and its region into that file")
        raise BadInput(
            f"{why}, this recommendation is for {given}",
            where="--to",
            remedy=", or ".join([*ways, "choose spark-submit or spark-defaults"]),
        )
    return handover.region


def only_type(handover: Handover, target: str) -> str:
    """The only instance type of the recommendation.

    Raises:
        BadInput: for a mix, which `target` cannot express.
    """
    if len(handover.composition) != 1:
        takes = "emr (or terraform, of two types)" if handover.provider == "aws" else "spark-submit"
        raise BadInput(
            f"{target} cannot express a cluster of unlike nodes",
            where="--to",
            remedy=f"choose {takes}, or ask for one type with --mix 1",
        )
    return next(iter(handover.composition))
