"""Records a tour: as an asciinema cast (version 2), or as one SVG slideshow.

Both use the planner's own rendering: the cast is what its driver would have sent to a terminal,
changed cells only; the SVG consists of Textual's screenshots.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.driver import Driver
from textual.drivers.headless_driver import HeadlessDriver

import engine
from tui.widgets.lean_output import LeanOutput

if TYPE_CHECKING:
    from textual.app import App

SUFFIXES = (".cast", ".svg")


class CastRecorder:
    """Records the events of an asciinema cast; pauses are written, not waited for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._skipped = 0.0
        self._events: list[tuple[float, str]] = []

    def wrote(self, data: str) -> None:
        """An event at the time at which a spectator sees it."""
        self._events.append((self._clock() - self._start + self._skipped, data))

    def paused(self, app: App[Any], seconds: float) -> None:
        self._skipped += seconds

    def finish(self, path: Path, size: tuple[int, int]) -> None:
        """Write the header, then one event per line."""
        header = {
            "version": 2,
            "width": size[0],
            "height": size[1],
            "title": "sparkplan tour",
            "env": {"TERM": "xterm-256color"},
        }
        lines = [json.dumps(header)]
        lines += [json.dumps([round(at, 3), "o", data]) for at, data in self._events]
        engine.write_text(path, "\n".join(lines) + "\n")


class SvgRecorder:
    """Records a screenshot per step, shown in turn for the time that its text takes to read."""

    def __init__(self) -> None:
        self._pages: list[tuple[str, float]] = []

    def wrote(self, data: str) -> None:
        """Nothing: screenshots are taken in the pauses."""

    def paused(self, app: App[Any], seconds: float) -> None:
        self._pages.append((app.export_screenshot(title="sparkplan tour"), seconds))

    def finish(self, path: Path, size: tuple[int, int]) -> None:
        """Write all screenshots into one file; a viewer without animation shows the first."""
        engine.write_text(path, slideshow(self._pages))


Recorder = CastRecorder | SvgRecorder
"""Gets everything that is drawn, and the pauses in between."""


def slideshow(pages: list[tuple[str, float]]) -> str:
    """One SVG of several of the same size, each shown for its seconds, repeatedly."""
    whole = sum(seconds for _, seconds in pages)
    box = re.search(r'viewBox="([^"]+)"', pages[0][0])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box[1] if box else "0 0 1200 800"}">'
    ]
    start = 0.0
    for number, (page, seconds) in enumerate(pages):
        shown = "visible" if number == 0 else "hidden"
        values, times = ["hidden", "visible", "hidden"], [0.0, start / whole]
        times.append((start + seconds) / whole)
        if number == 0:
            values, times = values[1:], [0.0, times[-1]]
        if number == len(pages) - 1:
            values, times = values[:-1], times[:-1]
        parts.append(
            f'<g visibility="{shown}"><animate attributeName="visibility" calcMode="discrete"'
            f' dur="{whole:.2f}s" repeatCount="indefinite" values="{";".join(values)}"'
            f' keyTimes="{";".join(f"{at:.5f}" for at in times)}"/>'
        )
        parts += [page, "</g>"]
        start += seconds
    return "\n".join([*parts, "</svg>\n"])


def recorder_for(path: Path) -> Recorder:
    """The recorder for a file name's suffix.

    Raises:
        BadInput: for any other ending, or a folder that does not exist.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise engine.BadInput(
            f"a recording ends in .cast or .svg, not {suffix or 'nothing'}",
            where=str(path),
            remedy="name it demo.cast (asciinema) or demo.svg (pictures that turn)",
        )
    if not path.parent.is_dir():
        raise engine.BadInput(
            f"there is no folder {path.parent}", where=str(path), remedy="make it first"
        )
    return CastRecorder() if suffix == ".cast" else SvgRecorder()


def driver_for(recorder: Recorder) -> type[Driver]:
    """A driver without a terminal that passes its output to `recorder`."""

    class RecordingDriver(HeadlessDriver):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._lean = LeanOutput()

        @property
        def is_headless(self) -> bool:
            """Textual draws nothing for a driver that says so."""
            return False

        def write(self, data: str) -> None:
            """The shortest equivalent, as in a terminal."""
            lean = self._lean.rewrite(data)
            if lean:
                recorder.wrote(lean)

    return RecordingDriver
