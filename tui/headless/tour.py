"""`sparkplan tour`: the guided tour in the real planner, by hand, by itself or recorded."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import engine
from tui.arguments import options

RECORDED_SIZE = (120, 40)
MIN_SIZE, MAX_SIZE = (60, 20), (400, 200)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--auto", action="store_true", help="plays by itself, for demos")
    parser.add_argument(
        "--pause", type=options.duration, metavar="TIME",
        help="with --auto or --record, for each step; default: as long as its text takes to read",
    )  # fmt: skip
    parser.add_argument(
        "--record", type=Path, metavar="FILE",
        help="plays without a terminal into FILE.cast (asciinema) or FILE.svg (pictures in turn)",
    )  # fmt: skip
    parser.add_argument("--size", metavar="COLUMNSxROWS", help="of a recording; default 120x40")


def run(args: argparse.Namespace) -> int:
    recorder = None
    if args.size is not None and args.record is None:
        raise engine.BadInput("--size belongs to --record", remedy="add --record FILE.cast")
    size = size_of(args.size)
    if args.record is not None:
        from tui.tour.record import recorder_for

        recorder = recorder_for(args.record)
        if "NO_COLOR" not in os.environ:
            os.environ.setdefault("TEXTUAL_COLOR_SYSTEM", "truecolor")
            os.environ.setdefault("COLORTERM", "truecolor")
    from tui import terminal

    if recorder is None:
        terminal.require_interactive()
    terminal.speed_up_start()
    from tui import app, start
    from tui.tour.guide import TourOptions

    tour = TourOptions(
        auto=args.auto or recorder is not None,
        pause_seconds=args.pause,
        recorder=recorder,
        size=size if recorder is not None else None,
    )
    status = app.run(start.AppOptions(tour=tour))
    if recorder is not None and status == 0:
        recorder.finish(args.record, size)
        print(args.record)
    return status


def size_of(typed: str | None) -> tuple[int, int]:
    """ "100x30" as columns and rows.

    Raises:
        BadInput: for anything else, or a size that no terminal has.
    """
    if typed is None:
        return RECORDED_SIZE
    columns, _, rows = typed.lower().partition("x")
    if columns.isdecimal() and rows.isdecimal():
        size = (int(columns), int(rows))
        if all(low <= n <= high for low, n, high in zip(MIN_SIZE, size, MAX_SIZE, strict=True)):
            return size
    raise engine.BadInput(
        f"{typed!r} is not a size",
        where="--size",
        remedy="write 80x24, 120x40 or another up to 400x200",
    )
