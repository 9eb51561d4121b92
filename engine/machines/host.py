"""Benchmarks the local machine in about ten seconds: as an instance type, and as throughputs.

The catalogs' CPU score is CoreMark, which is not run here. Instead three kernels that resemble
Spark's work (`engine.machines.host_probes.cpu_kernels`) are timed on all cores. Each rate is
divided by that of one core of a reference machine; the geometric mean of the ratios times the
CoreMark score of such a core is the score on the catalogs' scale. The calibration rests on one
machine whose own CoreMark was not measured: `SCORE_SPREAD` is the resulting uncertainty, and enters
every prediction that uses the score (`engine.machines.transfer`).
"""

from __future__ import annotations

import math
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from engine.catalog import UNNAMED_PROVIDER, Catalog, InstanceType, Offer, Price
from engine.catalog_files.writer import pairs, price_file_text, shapes_file_text
from engine.errors import BadInput
from engine.machines.host_probes import (
    MIB,
    DiskRates,
    Measured,
    cpu_kernels,
    disk_rates,
    link_bytes_per_second,
    loopback_rates,
    memory_copy,
    rate_on_all_cores,
    rate_on_one_core,
    require_free_space,
)
from engine.notices import Notice
from engine.units import GIB, format_share

REFERENCE_RATES: Mapping[str, float] = {"compress": 215e6, "hash": 944e6, "sort": 18.9e6}
"""Rates of one core of the reference machine (AMD EPYC of the fourth generation, 2.6 GHz nominal),
best of six rounds, per second of CPU time: bytes, bytes, numbers."""

REFERENCE_SCORE = 33_000.0
"""CoreMark iterations per second of one core of that generation: that of c7a and m7a in the
catalog, whose vCPUs are whole cores (32,805 to 33,270)."""

SCORE_SPREAD = 0.25
"""Standard deviation of the log of a calibrated score. Not measured: 0.15 for the clock of the
reference machine against that of the catalog's, 0.20 for three pieces of work in place of CoreMark
(in quadrature). To be replaced when someone measures both on several machines."""

CPU_BENCHMARK = "coremark"
CPU_REPETITIONS, IO_REPETITIONS = 5, 3
"""How often the processor and the memory, and the disk and the network, are measured. Each figure
comes with its extremes."""

BUSY_LOAD = 0.25
"""Load per core before the measurement above which the machine counts as busy."""

DISK_BYTES = 256 * MIB
MOST_DISK_BYTES = 8 * 1024 * MIB


@dataclass(frozen=True)
class HostReport:
    """The measured rates of a machine, and its properties as reported by the system.

    Args:
        cores: processors that this process may use; memory_gib: memory that it may use.
        single, all_cores: kernel -> rate per second on one core and on all at once.
        score_per_core, score: CPU score on the catalogs' scale, of one core and of the machine.
        memory_bytes_per_second: copy rate of all cores, bytes read plus bytes written.
        link_bytes_per_second: the network card's stated speed; None where it states none.
    """

    name: str
    day: date
    cores: int
    memory_gib: float
    arch: str | None
    processor: str | None
    threads_per_core: int | None
    single: Mapping[str, Measured]
    all_cores: Mapping[str, Measured]
    score_per_core: Measured
    score: Measured
    memory_bytes_per_second: Measured
    disk: DiskRates
    loopback_bytes_per_second: Measured
    link_bytes_per_second: float | None
    notices: tuple[Notice, ...]

    @property
    def network_bytes_per_second(self) -> float:
        """The card's stated speed, at most that of loopback; loopback where it states none."""
        loopback = self.loopback_bytes_per_second.median
        return min(loopback, self.link_bytes_per_second or loopback)

    @property
    def instance(self) -> InstanceType:
        """The machine as an instance type."""
        return InstanceType(
            self.name,
            vcpus=float(self.cores),
            memory_gib=round(self.memory_gib, 2),
            arch=self.arch,
            cpu_score=float(round(self.score.median)),
            cpu_score_spread=SCORE_SPREAD,
            threads_per_core=self.threads_per_core,
            cpu_benchmark=CPU_BENCHMARK,
        )


def measure_host(
    *,
    name: str,
    folder: Path | None = None,
    disk_bytes: int = DISK_BYTES,
    today: date | None = None,
    seconds: float = 1.0,
    say: Callable[[str], None] = lambda _: None,
) -> HostReport:
    """Measures this machine, in about ten times `seconds` and twice that for a slow disk.

    Args:
        name: the machine's name in the catalog.
        folder: where the disk is measured; None for the folder of temporary files.
        disk_bytes: size of the file that is written, read and removed, three times.
        say: called with the name of what is being measured.

    Raises:
        BadInput: for an invalid name, or a folder without enough free space.
    """
    where = folder or Path(tempfile.gettempdir())
    _check(name, where, disk_bytes)
    busy, cores, memory = _load(), usable_cores(), usable_memory_bytes()
    say("processor")
    single_rates, all_cores_rates = _cpu_rates(cores, seconds)
    say("memory")
    copied = _memory_rates(memory, cores, seconds)
    say("disk")
    disk = disk_rates(
        where, size_bytes=disk_bytes, repetitions=IO_REPETITIONS, seconds=seconds * 1.5
    )
    say("network loopback")
    loopback = Measured.of(loopback_rates(repetitions=IO_REPETITIONS, seconds=seconds * 0.3))
    link = link_bytes_per_second()
    return HostReport(
        name=name,
        day=today or date.today(),
        cores=cores,
        memory_gib=memory / GIB,
        arch=_ARCHITECTURES.get(platform.machine().lower()),
        processor=processor_name(),
        threads_per_core=threads_of_a_core(),
        single={kernel: Measured.of(rates) for kernel, rates in single_rates.items()},
        all_cores={kernel: Measured.of(rates) for kernel, rates in all_cores_rates.items()},
        score_per_core=score_of(single_rates),
        score=score_of(all_cores_rates),
        memory_bytes_per_second=Measured.of(copied),
        disk=disk,
        loopback_bytes_per_second=loopback,
        link_bytes_per_second=link,
        notices=notices_of(busy, cores, disk, link),
    )


_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
"""Architecture as the system names it -> as the catalogs do."""


def _check(name: str, folder: Path, disk_bytes: int) -> None:
    """Refuses an invalid name, and a folder without enough free space."""
    if not name or not all(char.isalnum() or char in "._-" for char in name):
        raise BadInput(
            f"{name!r} cannot be the name of a type", remedy="use letters, digits, . _ and -"
        )
    if not MIB <= disk_bytes <= MOST_DISK_BYTES:
        raise BadInput(f"a file of 1 MiB to 8 GiB is written, not of {disk_bytes:,} bytes")
    require_free_space(folder, disk_bytes)


def _memory_rates(memory_bytes: int, cores: int, seconds: float) -> list[float]:
    """Memory copy rate [B/s] of all cores together, per repetition."""
    return rate_on_all_cores(
        memory_copy(total_bytes=memory_bytes, threads=cores),
        threads=cores,
        repetitions=CPU_REPETITIONS,
        seconds=seconds * 0.2,
        clock=time.perf_counter,
    )


def _cpu_rates(cores: int, seconds: float) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Rates of each kernel per repetition, on one core and on all of them."""
    kernels = cpu_kernels()
    single = {
        kernel: rate_on_one_core(make, repetitions=CPU_REPETITIONS, seconds=seconds * 0.1)
        for kernel, make in kernels.items()
    }
    all_cores = {
        kernel: rate_on_all_cores(
            make, threads=cores, repetitions=CPU_REPETITIONS, seconds=seconds * 0.2
        )
        for kernel, make in kernels.items()
    }
    return single, all_cores


def score_of(rates: Mapping[str, list[float]]) -> Measured:
    """The score on the catalogs' scale, from the rates of the kernels per repetition."""
    scores = []
    for at_once in zip(*rates.values(), strict=True):
        ratios = (
            rate / REFERENCE_RATES[kernel] for kernel, rate in zip(rates, at_once, strict=True)
        )
        scores.append(REFERENCE_SCORE * statistics.geometric_mean(ratios))
    return Measured.of(scores)


def notices_of(
    busy: float | None, cores: int, disk: DiskRates, link: float | None
) -> tuple[Notice, ...]:
    """Notices about the limits of a measurement.

    Args:
        busy: load average before the measurement; None where not available.
        link: the network card's stated speed [B/s]; None where it states none.
    """
    notices = [
        Notice(
            "calibrated-score",
            "the CPU score is not from CoreMark but from three small programs, set against one "
            f"reference machine; it may be off by {format_share(math.expm1(SCORE_SPREAD))} (one "
            "standard deviation)",
            "run a job once on this machine and add its log",
        )
    ]
    if busy is not None and busy > BUSY_LOAD * cores:
        text = f"the machine was busy: load {busy:.1f} on {cores} cores before the measurement"
        notices.append(Notice("busy-host", text, "measure again when it is idle"))
    if disk.note is not None:
        notices.append(Notice("disk-not-measured", disk.note, "name a folder on a disk with --dir"))
    if link is None:
        text = "no network card states its speed: loopback is an upper bound for the network"
        notices.append(
            Notice("network-not-measured", text, "measure between two machines (iperf3)")
        )
    return tuple(notices)


# What the machine is -----------------------------------------------------------------------------


def _load() -> float | None:
    """Load average of the last minute; None where not available."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def usable_cores(limits: Path = Path("/sys/fs/cgroup")) -> int:
    """Processors that this process may use: CPU affinity, limited by a container's quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with suppress(OSError, ValueError):
        quota, period = (limits / "cpu.max").read_text().split()
        return max(1, min(cores or 1, int(float(quota) / float(period))))
    return cores or 1


def usable_memory_bytes(limits: Path = Path("/sys/fs/cgroup")) -> int:
    """Memory of the machine, or the container's limit where that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        return min(total, int((limits / "memory.max").read_text()))
    return total


def processor_name(info: Path = Path("/proc/cpuinfo")) -> str | None:
    """The processor's model name; None where it cannot be read."""
    with suppress(OSError):
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return " ".join(value.split())
    return None


def threads_of_a_core(
    topology: Path = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"),
) -> int | None:
    """Threads per core, from the kernel's list of the first core's threads ("0,4" or "0-1"); None
    where it cannot be read."""
    with suppress(OSError, ValueError):
        ranges = (part.partition("-") for part in topology.read_text().split(","))
        return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)
    return None


# Files --------------------------------------------------------------------------------------------


def host_catalog_text(report: HostReport, *, usd_per_hour: float | None) -> str:
    """The machine as a file for `--ran-on NAME@FILE`; with a price it is a catalog too."""
    source = f"measured by `sparkplan measure-host`; score calibrated, spread {SCORE_SPREAD:g}"
    if usd_per_hour is None:
        return shapes_file_text(report.name, [report.instance], source)
    price = Price(usd_per_hour, report.day, "stated by its owner")
    catalog = Catalog(
        name=report.name,
        provider=UNNAMED_PROVIDER,
        region="own",
        currency="USD",
        date=report.day,
        offers={report.name: Offer(report.instance, price)},
        filtered_by_default=False,
        note=source,
    )
    return price_file_text(catalog, price.source)


def resources_text(report: HostReport) -> str:
    """The five throughputs of SimCost's resource profile, as YAML; HDFS is not measured here."""
    network = "the card's stated speed" if report.link_bytes_per_second else "loopback: upper bound"
    read = report.disk.read
    lines = [
        f"# Throughputs of {report.name}, measured by `sparkplan measure-host`.",
        *pairs(name=report.name, date=str(report.day)),
        f"network_bytes_per_second: {report.network_bytes_per_second:.0f}  # {network}",
        "hdfs_read_bytes_per_second: null  # not measured",
        "hdfs_write_bytes_per_second: null  # not measured",
        f"local_read_bytes_per_second: {f'{read.median:.0f}' if read else 'null  # not measured'}",
        f"local_write_bytes_per_second: {report.disk.write.median:.0f}",
        *([f"# {report.disk.note}"] if report.disk.note else []),
    ]
    return "\n".join(lines) + "\n"
