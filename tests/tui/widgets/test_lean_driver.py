"""The lean driver in a real terminal: the same picture as Textual's own driver."""

import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest
from textual.app import App
from textual.drivers.headless_driver import HeadlessDriver
from textual.drivers.linux_driver import LinuxDriver

from tui.widgets import lean_driver as driver_module
from tui.widgets import lean_output
from tui.widgets.lean_driver import LeanDriver, lean_driver
from tui.widgets.lean_output import blank_style, parse_sgr

ROOT = Path(__file__).parents[3]
APP = """
import sys
from textual.app import App
from tui.widgets.chart import Axis, Chart, ChartData, Series, Threshold
from tui.widgets.lean_driver import lean_driver
from tui.widgets.scales import LogScale, log_stops
from tui.widgets.slider import Slider

class Demo(App):
    CSS = "Chart { border: round $primary; }"

    def get_driver_class(self):
        chosen = super().get_driver_class()
        return lean_driver(chosen) if "lean" in sys.argv else chosen

    def compose(self):
        yield Slider("Deadline", scale=LogScale(1, 100), stops=log_stops(1, 100), value=10,
                     parse=float, format="{:g}".format)
        yield Chart(self.data(10))

    def data(self, level):
        xs = tuple(range(1, 60))
        curves = tuple(Series(xs=xs, ys=tuple(level * k / x for x in xs), slot=k, label=f"s{k}")
                       for k in (1, 2, 3))
        return ChartData(series=curves, y=Axis(log=True), thresholds=(Threshold(value=level / 5),))

    def on_slider_changed(self, message):
        self.query_one(Chart).show(self.data(message.value))

Demo().run()
"""


def test_only_the_ordinary_driver_is_replaced():
    assert lean_driver(LinuxDriver) is LeanDriver
    assert lean_driver(HeadlessDriver) is HeadlessDriver


async def test_a_resize_in_the_middle_of_a_frame_is_known_behind_it(monkeypatch):
    """Its signal came between two cells, and the row of the second was gone: the planner ended."""
    written, before = [], signal.getsignal(signal.SIGWINCH)
    monkeypatch.setattr(LinuxDriver, "write", lambda self, data: written.append(data))
    monkeypatch.setattr(LinuxDriver, "start_application_mode", lambda self: None)
    monkeypatch.setattr(driver_module, "Thread", Mock())
    driver = LeanDriver(App())
    frame = "\x1b[1;1Hone two three\x1b[2;1Hfour five six"
    try:
        driver.start_application_mode()
        driver.write(frame)
        runs = lean_output._runs

        def interrupted(changed):
            signal.raise_signal(signal.SIGWINCH)
            return runs(changed)

        monkeypatch.setattr(lean_output, "_runs", interrupted)
        driver.write("\x1b[2;1HFour five Six")
        monkeypatch.setattr(lean_output, "_runs", runs)
        driver.write(frame)
    finally:
        signal.signal(signal.SIGWINCH, before)
    for words in ("one two three", "four five six"):
        assert words in written[-1]


def seen(capture):
    """Rows of cells as an eye sees them: the text colour of a blank does not matter."""
    rows, state = [], ""
    for line in capture.splitlines():
        row = []
        for match in re.finditer(r"\x1b\[([\d;]*)m|(.)", line):
            if match[2] is None:
                state += f";{match[1] or 0}"
                continue
            look = parse_sgr(state.strip(";"), "")
            row.append((match[2], blank_style(look) if match[2] == " " else look))
        rows.append(row)
    return rows


def pictures(mode, keys):
    """What tmux shows after `keys`, once asked to paint all anew, and once the window is larger,
    cell by cell with colours."""
    server = f"lean-{uuid.uuid4().hex[:8]}"

    def tmux(*words):
        command = ["tmux", "-L", server, "-u", "-f", "/dev/null", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout

    def settled(needed="", other_than=None):
        """The screen once it no longer changes, holds `needed` and is another one."""
        before = None
        for _ in range(100):
            now = tmux("capture-pane", "-p", "-e", "-t", "w")
            if now == before != other_than and needed in now:
                return now
            before = now
            time.sleep(0.3)
        raise AssertionError(f"the screen never settled:\n{before}")

    words = ["env", "LANG=C.UTF-8", "COLORTERM=truecolor", sys.executable, "-c", APP, mode]
    try:
        tmux("new-session", "-d", "-s", "w", "-x", "80", "-y", "24", shlex.join(words))
        settled(needed="Deadline")
        for key in (*keys, "C-l"):
            small = settled()
            tmux("send-keys", "-t", "w", key)
        repainted = settled()
        tmux("resize-window", "-t", "w", "-x", "100", "-y", "30")
        return [seen(shown) for shown in (small, repainted, settled(other_than=repainted))]
    finally:
        subprocess.run(["tmux", "-L", server, "kill-server"], check=False, capture_output=True)


@pytest.mark.tmux
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_the_terminal_shows_the_same():
    keys = ["Right", "Right", "PageUp", "Left", "Enter", "5", "Enter", "End"]
    with ThreadPoolExecutor() as pool:  # each waits for its screen to settle
        lean, plain = pool.map(pictures, ("lean", "plain"), (keys, keys))
    assert lean == plain
    assert [len(rows) for rows in lean] == [24, 24, 30]
