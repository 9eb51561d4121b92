"""What an export is given, and how memory is written in all of them."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.choosing.recommendation import Choice, Recommendation
from engine.cluster import Layout
from engine.errors import BadInput
from engine.memory import default_overhead_gib
from engine.notices import Notice
from engine.text.lists import printable

IDLE_MINUTES = 10
"""A rented cluster ends after so long without work. It ends only then: what is pasted begins no job
by itself, and ending after the last of its steps would end it before the job is submitted."""

NODE_MEMORY = "yarn.nodemanager.resource.memory-mb"
LARGEST_CONTAINER = "yarn.scheduler.maximum-allocation-mb"

SPARK_OF_RELEASES = "3.5"
"""Of the releases, images and runtimes that the exports name as examples."""


@dataclass(frozen=True)
class Handover:
    """A recommendation as its exports need it.

    Args:
        composition: type -> nodes; empty for a cluster that one owns.
        statement: what was predicted and assumed, in plain lines; notices: what is to be minded.
            Every export carries both as comments where its format has any.
        provider, region: None for a cluster that one owns.
        node_memory_gib: what YARN may hand out per node; memories_gib: the same by type, in a mix.
        node_vcpus: of the one type.
        settings: those that the prediction rests on and the cluster does not follow from
            (`engine.runs.carried_settings`).
        spot: the workers are rented at spot prices; the master never is.
        part_spot: how many of each type are spot nodes, where the others are not.
        report: the whole answer, and choice: what of it is exported, for targets that are read.
        dynamic_allocation: its bounds; None where it is off.
        platform: what the executors were sized and priced for; None where nothing says.
        unsupported: the types that EMR does not support, and the nearest that it does.
        diskless: types, the master's among them, that are not known to have a disk of their own.
        owned: nodes that cost nothing.
        spark_version: that of the largest run's log; None where nothing tells it.
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
    node_memory_gib: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    spot: bool = False
    report: Recommendation | None = None
    choice: Choice | None = None
    part_spot: Mapping[str, int] | None = None
    dynamic_allocation: tuple[int, int] | None = None
    memories_gib: Mapping[str, float] = field(default_factory=dict)
    node_vcpus: float | None = None
    platform: str | None = None
    unsupported: Mapping[str, Sequence[str]] = field(default_factory=dict)
    diskless: Sequence[str] = ()
    owned: Mapping[str, int] = field(default_factory=dict)
    spark_version: str | None = None

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
    """One target: its name on the command line, one line on it, what a file of it ends in, and how
    it is written."""

    name: str
    summary: str
    suffix: str
    spark: str | None = None
    """Of the release that the text names, "3.5"; None where it names none."""

    def platform(self, handover: Handover) -> str | None:
        """What the text is for, by the names of `engine.machines.platforms`: its own where it names
        a release; None for any."""
        return self.name if self.spark else None

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
    """`spark.executor.memoryOverhead` in whole MiB: max(10 %, 384 MiB) of the heap, rounded down as
    Spark's default is: rounded up, heap and overhead may be a MiB more than the container."""
    return math.floor(1024.0 * default_overhead_gib(heap / 1024.0))


def yarn_memory(handover: Handover) -> dict[str, str]:
    """YARN's settings for nodes of one type: what it may hand out on each, and in one container."""
    if handover.node_memory_gib is None:
        return {}
    return dict.fromkeys((NODE_MEMORY, LARGEST_CONTAINER), mib(handover.node_memory_gib))


def mib(gib: float) -> str:
    """GiB in whole MiB, rounded down."""
    return str(math.floor(gib * 1024.0))


def beside_properties(layout: Layout) -> dict[str, str]:
    """The settings of what a container holds beside its heap, where that is more than Spark's
    default: each kind by itself, as the log had it, so that the container is their sum."""
    return layout.beside.properties if layout.beside else {}


def spark_properties(handover: Handover) -> dict[str, str]:
    """The Spark settings that make a cluster run as it was predicted."""
    cores = handover.layout.executor_cores
    properties = {"spark.executor.cores": str(cores)}
    if handover.dynamic_allocation is None:
        instances = {"spark.executor.instances": str(handover.executors)}
        properties = {**instances, **properties}
        if handover.platform == "standalone" or not handover.composition:
            # Standalone masters read no number of executors, only this; others do not read it.
            properties["spark.cores.max"] = str(handover.executors * cores)
    heap = heap_mib(handover.layout)
    if heap is not None:
        properties["spark.executor.memory"] = f"{heap}m"
        properties["spark.executor.memoryOverhead"] = f"{overhead_mib(heap)}m"
        properties.update(beside_properties(handover.layout))
        if _before(handover, 2, 3):
            overhead = properties.pop("spark.executor.memoryOverhead")
            properties["spark.yarn.executor.memoryOverhead"] = overhead.removesuffix("m")
    properties.update(allocation(handover))
    return {**properties, **handover.settings}


def allocation(handover: Handover) -> dict[str, str]:
    """The settings of dynamic allocation: off, or within its bounds and begun with all executors,
    as it was predicted. Shuffle files are tracked, so that no shuffle service is needed; Spark
    before 3.0 cannot do that, and refuses to start without the service."""
    prefix = "spark.dynamicAllocation"
    if handover.dynamic_allocation is None:
        return {f"{prefix}.enabled": "false"}
    fewest, most = handover.dynamic_allocation
    service = {"spark.shuffle.service.enabled": "true"} if _before(handover, 3, 0) else {}
    return {
        f"{prefix}.enabled": "true",
        f"{prefix}.minExecutors": str(fewest),
        f"{prefix}.initialExecutors": str(handover.executors),
        f"{prefix}.maxExecutors": str(most),
        f"{prefix}.shuffleTracking.enabled": "true",
        **service,
    }


def _before(handover: Handover, major: int, minor: int) -> bool:
    """Whether the job ran with a Spark before that; not where nothing tells with which."""
    ran = re.match(r"(\d+)\.(\d+)", handover.spark_version or "")
    return ran is not None and (int(ran[1]), int(ran[2])) < (major, minor)


def noted(handover: Handover, platform: str | None) -> Handover:
    """What is handed to a target that is for one platform: its statement says so where the cluster
    was planned for another, whose executors and price these are."""
    if platform is None or not handover.composition or platform == handover.platform:
        return handover
    note = (
        f"note: executors and price are for {handover.platform or 'another platform'}, this is for "
        f"{platform}: plan with --platform {platform} [other-platform]"
    )
    return replace(handover, statement=(*handover.statement, note))


def with_spark(handover: Handover, spark: str | None) -> Handover:
    """What is handed to a target whose text names a release with that Spark: its statement says so
    where the job ran with another. The number of a release is not told from that of Spark: which
    one has it, the provider's list says."""
    ran = re.match(r"\d+\.\d+", handover.spark_version or "")
    if spark is None or ran is None or ran[0] == spark:
        return handover
    note = (
        f"note: the job ran with Spark {handover.spark_version}, the release named here has Spark "
        f"{spark}: put one that has yours [other-spark]"
    )
    return replace(handover, statement=(*handover.statement, note))


def comments(handover: Handover) -> str:
    """The statement, which says first by whom it is, and the notices as comment lines; line breaks
    and control characters cannot leave them."""
    notes = (f"note: {notice.text} [{notice.code}]" for notice in handover.notices)
    lines = [*handover.statement, *notes]
    lines[:1] = [f"sparkplan: {line}" for line in lines[:1]]
    return "\n".join(f"# {printable(line)}" for line in lines)


def rented_comments(handover: Handover) -> str:
    """The same for a cluster that is rented, with what its end adds to the cost, and that nodes
    which one owns are started anew: no service takes those that run already."""
    lines = [f"ends after {IDLE_MINUTES} minutes without work: billed too, and not in the cost"]
    if handover.owned:
        owned = " + ".join(f"{count} x {name}" for name, count in handover.owned.items())
        lines.append(
            f"starts the nodes you own as well ({owned}): billed unless a reservation covers them"
        )
    return "\n".join([comments(handover), *(f"# {printable(line)}" for line in lines)])


def resource_name(application: str) -> str:
    """A name as Google Cloud and Kubernetes demand it: lower case letters, digits and hyphens,
    a letter first, at most 50 characters."""
    kept = "".join(
        char if char.isalnum() else "-" for char in application.lower() if ord(char) < 128
    )
    words = "-".join(word for word in kept.split("-") if word)
    if not words[:1].isalpha():
        words = f"job-{words}"
    return words[:50].strip("-")


def require_provider(handover: Handover, provider: str, why: str) -> str:
    """The region of a recommendation for that provider.

    Raises:
        BadInput: for another provider, and for a cluster one owns.
    """
    if handover.provider != provider or handover.region is None:
        priced = f"price it with --catalog {provider}, or " if handover.provider else ""
        raise BadInput(
            f"{why}, this recommendation is for {handover.provider or 'no provider'}",
            where="--to",
            remedy=f"{priced}choose spark-submit or spark-defaults",
        )
    return handover.region


def only_type(handover: Handover, target: str) -> str:
    """The one instance type of the recommendation.

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
