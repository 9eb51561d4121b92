"""`sparkplan measure-host`: measures this machine, as an instance type and as throughputs."""

from __future__ import annotations

import argparse
import platform
import re
import shlex
from dataclasses import asdict
from pathlib import Path

import engine
from tui import format as text
from tui import streams
from tui.arguments import options
from tui.headless import output


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", metavar="NAME", help="what to call it (default: the host's name)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write it as a type, for --ran-on NAME@FILE"
    )
    parser.add_argument(
        "--usd-per-hour",
        type=options.quantity(engine.parse_usd),
        metavar="USD",
        help="what an hour costs you: with -o, a file for --catalog too",
    )
    parser.add_argument(
        "--resources", metavar="FILE", help="write network and disk throughputs as YAML"
    )
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="where the disk is measured (default: $TMPDIR)"
    )
    parser.add_argument(
        "--disk-size",
        type=options.quantity(engine.parse_bytes),
        default=256 * 1024**2,
        metavar="S",
        help="size of the file that is written, read and removed (default 256MiB)",
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.usd_per_hour is not None and args.output is None:
        raise engine.BadInput("goes into a file", where="--usd-per-hour", remedy="add -o FILE")
    check_folders(args.output, args.resources)
    report = engine.measure_host(
        name=args.name or default_name(),
        folder=args.dir,
        disk_bytes=int(args.disk_size),
        say=lambda what: streams.say(f"measuring: {what}"),
    )
    if args.json:
        output.print_json(as_dict(report))
    else:
        print("\n".join(map(text.escaped, as_text(report))))
        output.print_notices(report.notices)
    if args.output is not None:
        catalog = engine.host_catalog_text(report, usd_per_hour=args.usd_per_hour)
        engine.write_text(args.output, catalog)
        ran_on = shlex.quote(f"{report.name}@{args.output}")
        streams.say(text.escaped(f"wrote {args.output}: --ran-on {ran_on}"))
    if args.resources is not None:
        engine.write_text(args.resources, engine.resources_text(report))
        streams.say(f"wrote {text.escaped(args.resources)}")
    return 0


def check_folders(*files: str | None) -> None:
    """Refuse files that cannot be written before anything is measured."""
    for file in files:
        if file is not None and not Path(file).parent.is_dir():
            raise engine.BadInput(
                "its folder does not exist",
                where=file,
                remedy="make the folder first, or choose another",
            )


def default_name() -> str:
    """The host's name, without characters that a type's name cannot have."""
    return re.sub(r"[^\w.-]+", "-", platform.node().partition(".")[0], flags=re.ASCII) or "host"


def as_text(report: engine.HostReport) -> list[str]:
    """The measurements, each with its spread over the repetitions."""
    disk = report.disk
    rows = [
        ("CPU score, all cores", *score(report.score)),
        ("CPU score, one core alone", *score(report.score_per_core)),
        ("memory copy, all cores", *rate(report.memory_bytes_per_second)),
        ("disk write, to the disk", *rate(disk.write)),
        ("disk read, past the cache" if disk.direct else "disk read", *rate(disk.read)),
        ("network loopback", *rate(report.loopback_bytes_per_second)),
    ]
    link = report.link_bytes_per_second
    rows.append(("network card, as stated", text.UNKNOWN if link is None else per_second(link), ""))
    cores = text.counted(report.cores, "core")
    processor = f", {report.processor}" if report.processor else ""
    return [
        f"{report.name}: {cores}, {report.memory_gib:.1f} GiB{processor}",
        *text.table(rows, right=(1,)).splitlines(),
        "CPU score: on the scale of the catalogs (CoreMark iterations per second), by calibration;",
        "from compression, hashing and sorting per second of processor time",
        f"disk: {disk.bytes_written / 1e6:,.0f} MB each time; network: no card was involved",
    ]


def score(measured: engine.Measured) -> tuple[str, str]:
    spread = f"{measured.low:,.0f} to {measured.high:,.0f} in {measured.repetitions} repetitions"
    return f"{measured.median:,.0f}", spread


def rate(measured: engine.Measured | None) -> tuple[str, str]:
    if measured is None:
        return text.UNKNOWN, "not known"
    low, high = per_second(measured.low), per_second(measured.high)
    return per_second(measured.median), f"{low} to {high} in {measured.repetitions} repetitions"


def per_second(rate: float) -> str:
    return f"{engine.format_bytes(rate)}/s"


def as_dict(report: engine.HostReport) -> dict[str, object]:
    disk = report.disk
    return {
        "name": report.name,
        "date": report.day,
        **output.fields_of(report, "cores", "memory_gib", "arch", "processor", "threads_per_core"),
        "cpu_score": asdict(report.score),
        "cpu_score_one_core": asdict(report.score_per_core),
        **output.fields_of(report.instance, "cpu_score_spread", "cpu_benchmark"),
        "one_core": {name: asdict(measurement) for name, measurement in report.single.items()},
        "all_cores": {name: asdict(measurement) for name, measurement in report.all_cores.items()},
        "memory_bytes_per_second": asdict(report.memory_bytes_per_second),
        "local_write_bytes_per_second": asdict(disk.write),
        "local_read_bytes_per_second": disk.read and asdict(disk.read),
        "disk_bytes_written": disk.bytes_written,
        "loopback_bytes_per_second": asdict(report.loopback_bytes_per_second),
        **output.fields_of(report, "link_bytes_per_second", "network_bytes_per_second"),
        "warnings": output.notices(report.notices),
    }
