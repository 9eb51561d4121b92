"""The installed command in a real terminal: tmux at both sizes and under the terminal variants."""

import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

COMMAND = Path(sys.executable).parent / "sparkplan"
PATIENCE_SECONDS = 90.0
UNSET = ("-u", "NO_COLOR", "-u", "LC_ALL", "-u", "LC_CTYPE", "-u", "COLORTERM")


class Terminal:
    """One tmux server with one pane, for one test."""

    def __init__(self) -> None:
        self.server = f"sparkplan-{uuid.uuid4().hex[:8]}"

    def tmux(self, *arguments: str) -> str:
        """Runs tmux on this server and returns what it prints."""
        done = subprocess.run(
            ["tmux", "-L", self.server, "-f", "/dev/null", *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def start(self, *arguments: str, size: tuple[int, int], env: dict[str, str]) -> None:
        """Runs the command in a pane of `size`, with `env` set in it."""
        settings = [f"{name}={value}" for name, value in env.items()]
        words = ["env", *UNSET, *settings, str(COMMAND), *arguments]
        line = f"{' '.join(words)}; echo ended with $?; sleep 1000"
        width, height = map(str, size)
        self.tmux("new-session", "-d", "-x", width, "-y", height, line)

    def start_in_shell(self, *arguments: str, size: tuple[int, int], env: dict[str, str]) -> None:
        """Types the command into a shell with job control, behind a script as `make` is one."""
        width, height = map(str, size)
        self.tmux(
            "new-session", "-d", "-x", width, "-y", height, "env PS1='shell> ' bash --norc -i"
        )
        self.wait_for("shell>")
        settings = [f"{name}={value}" for name, value in env.items()]
        line = " ".join([*settings, str(COMMAND), *arguments])
        self.keys("-l", f"env {' '.join(UNSET)} sh -c '{line}; exit $?'")
        self.keys("Enter")

    def keys(self, *names: str) -> None:
        """Sends keys by their tmux names."""
        self.tmux("send-keys", *names)

    def signal(self, name: str) -> None:
        """Sends a signal to the command."""
        pane = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        child = subprocess.run(["pgrep", "-P", pane], capture_output=True, text=True, check=True)
        subprocess.run(["kill", f"-{name}", child.stdout.split()[0]], check=True)

    def wait_for(self, *texts: str) -> str:
        """The screen once it holds all `texts`."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        screen = ""
        while time.monotonic() < deadline:
            screen = self.tmux("capture-pane", "-p")
            if all(text in screen for text in texts):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{texts} did not appear in:\n{screen}")


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal that is closed after the test."""
    made = Terminal()
    yield made
    subprocess.run(["tmux", "-L", made.server, "kill-server"], capture_output=True, check=False)


COLOURS = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_session_from_the_sample_to_the_export(terminal, size):
    terminal.start(size=size, env=COLOURS)
    terminal.wait_for("nightly-features", "finishes in", "9 in 10 runs")
    terminal.keys("Home")
    nearest = "Nearest (" if size == (80, 24) else "Nearest: "  # in few rows its chance is first
    terminal.wait_for("No cluster of up to 64 nodes", nearest, "in time")
    terminal.keys("End")
    terminal.wait_for("finishes in")
    terminal.keys("2")
    terminal.wait_for("[2 ", "7 Compare", "? help")
    terminal.keys("3")
    terminal.wait_for("[3 Front", " more buys ")
    terminal.keys("4")
    terminal.wait_for("[4 Stages]", "takes")
    terminal.keys("5")
    terminal.wait_for("[5 Evidence]", "Model sparkplan")
    terminal.keys("1", "e")
    terminal.wait_for("Export", "spark-submit", "esc leave")
    terminal.keys("Escape")
    terminal.wait_for("[1 Curves]")
    terminal.keys("C-q")
    terminal.wait_for("ended with 0")


def test_an_escape_closes_a_dialog_also_where_the_next_keys_come_with_it(terminal):
    """As on a slow line: the dialog stayed open, and the rest was typed into it."""
    terminal.start(size=(80, 24), env=COLOURS)
    terminal.wait_for("[1 Curves]", "finishes in")
    terminal.keys("-l", "o\x1b2")
    terminal.wait_for("[2 Types]", "? help")
    terminal.keys("-l", "e\x1b:deadline 3m\r")
    terminal.wait_for("[2 Types]", "within 3m")
    terminal.keys("C-q")
    terminal.wait_for("ended with 0")


def test_messages_that_go_to_a_file_leave_the_planner_on_the_terminal(terminal, tmp_path):
    terminal.start(f"2>{tmp_path}/messages", size=(80, 24), env=COLOURS)
    terminal.wait_for("[1 Curves]", "finishes in")
    terminal.keys("C-q")
    terminal.wait_for("ended with 0")
    assert (tmp_path / "messages").read_bytes() == b""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_ctrl_z_goes_to_the_shell_and_fg_draws_everything_again(terminal):
    terminal.start_in_shell(size=(80, 24), env=COLOURS)
    terminal.wait_for("finishes in")
    for opened in ("2", "o"):
        terminal.keys(opened, "C-z")
        assert "Deadline" not in terminal.wait_for("Stopped")
        assert terminal.tmux("display-message", "-p", "#{alternate_on}#{mouse_any_flag}") == "00\n"
        terminal.keys("-l", "clear; fg")
        terminal.keys("Enter")
        terminal.wait_for("[2 Types]" if opened == "2" else "esc leave")
    terminal.keys("Escape")
    terminal.wait_for("[2 Types]", "^q quit")
    terminal.keys("C-q")
    terminal.wait_for("shell>")


def test_ctrl_z_does_not_hang_a_window_without_a_shell(terminal):
    terminal.start(size=(80, 24), env=COLOURS)
    terminal.wait_for("finishes in")
    terminal.keys("C-z")
    terminal.wait_for("no shell waits behind the planner", "Deadline")
    terminal.keys("2")
    terminal.wait_for("[2 Types]")
    terminal.keys("C-q")
    terminal.wait_for("ended with 0")


def test_another_source_is_opened_and_a_wrong_one_is_said(terminal, tmp_path):
    (tmp_path / "notes.txt").write_text("not an event log\n")
    terminal.start(size=(120, 40), env=COLOURS)
    terminal.wait_for("finishes in")
    terminal.keys("o")
    terminal.wait_for("Open", "esc leave")
    terminal.keys("-l", "optex-als-table3")
    terminal.wait_for("optex-als-table3", "sample:")
    terminal.keys("Enter")
    terminal.wait_for("optex-als", "· mllib", "finishes in")
    terminal.keys("o")
    terminal.wait_for("esc leave")
    terminal.keys("-l", str(tmp_path / "notes.txt"))
    terminal.keys("Enter")
    # The notice may be drawn a frame before the panels behind the dialog are drawn again.
    screen = terminal.wait_for("✗", "notes.txt", "finishes in")
    assert "Traceback" not in screen
    terminal.keys("C-q")
    terminal.wait_for("ended with 0")


def test_it_follows_the_size_of_the_window(terminal):
    terminal.start(size=(120, 40), env={**COLOURS, "COLUMNS": "50", "LINES": "10"})
    terminal.wait_for("finishes in", "Cost by nodes", "Inputs")
    terminal.tmux("resize-window", "-x", "80", "-y", "24")
    terminal.wait_for("finishes in", "Types", "^q quit")
    assert "Inputs" not in terminal.tmux("capture-pane", "-p")
    terminal.tmux("resize-window", "-x", "120", "-y", "40")
    terminal.wait_for("Cost by nodes", "Inputs")


@pytest.mark.parametrize(
    ("term", "size"),
    [("xterm", (80, 24)), ("screen", (120, 40)), ("linux", (80, 24)), ("vt100", (120, 40))],
)
def test_terminals_of_sixteen_colours(terminal, term, size):
    terminal.start(size=size, env={"TERM": term, "LANG": "C.UTF-8"})
    terminal.wait_for("finishes in", "deadline")
    coloured = terminal.tmux("capture-pane", "-p", "-e")
    assert "38;2;" not in coloured
    terminal.keys("C-q")
    terminal.wait_for("ended with 0")


@pytest.mark.parametrize("term", ["xterm-256color", "xterm", "linux"])
def test_without_colours(terminal, term):
    terminal.start(size=(80, 24), env={"TERM": term, "LANG": "C.UTF-8", "NO_COLOR": "1"})
    terminal.wait_for("finishes in")
    drawn = terminal.tmux("capture-pane", "-p", "-e")
    assert re.findall(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]", drawn) == []
    terminal.keys("Right", "2", "3", "4", "5", "e")
    terminal.wait_for("Export", "esc leave")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_without_utf8_everything_is_ascii(terminal, size):
    terminal.start(size=size, env={"TERM": "xterm-256color", "LANG": "C", "LC_ALL": "C"})
    for key, text in (("1", "finishes in"), ("2", "[2 "), ("3", "[3 Fr"), ("4", "[4 St")):
        terminal.wait_for("Deadline", "meets the goal" if key == "1" else "^q quit")
        terminal.keys(key)
        assert terminal.wait_for(text).isascii()
    terminal.keys("o")
    assert terminal.wait_for("esc leave").isascii()


def test_a_terminal_that_cannot_draw_is_refused(terminal):
    terminal.start(size=(120, 10), env={"TERM": "dumb"})
    screen = terminal.wait_for("ended with 2")
    assert "sparkplan recommend" in screen


def test_a_missing_file_is_said_before_the_planner_opens(terminal):
    terminal.start("/no/such/file.zstd", size=(80, 24), env=COLOURS)
    screen = terminal.wait_for("ended with 2")
    assert "/no/such/file.zstd: no such file; check the path" in screen
    assert "Deadline" not in screen


@pytest.mark.parametrize("number", ["TERM", "HUP"])
def test_a_signal_leaves_the_terminal_clean_and_keeps_the_session(terminal, tmp_path, number):
    terminal.start("sales-report-small", size=(80, 24), env=COLOURS)
    terminal.wait_for("finishes in")
    terminal.keys("Right")
    terminal.signal(number)
    screen = terminal.wait_for(f"ended with {128 + {'TERM': 15, 'HUP': 1}[number]}")
    assert "Traceback" not in screen
    assert "Deadline" not in screen
    assert terminal.tmux("display-message", "-p", "#{alternate_on}#{mouse_any_flag}") == "00\n"
    kept = (tmp_path / "home" / "state" / "sparkplan" / "session.yaml").read_text()
    assert "- sales-report-small" in kept


def test_ctrl_c_leaves_and_the_session_is_resumed(terminal):
    terminal.start("sales-report-small", size=(80, 24), env=COLOURS)
    terminal.wait_for("finishes in")
    terminal.keys("s", "2")
    terminal.wait_for("[2 Types]")
    terminal.keys("C-c")
    terminal.wait_for("ended with 0")
    again = Terminal()
    try:
        again.start("--resume", size=(120, 40), env=COLOURS)
        again.wait_for("sales-report", "[2 Compositions]", "spot")
    finally:
        again.tmux("kill-server")


def test_a_signal_while_a_dialog_is_open(terminal):
    terminal.start(size=(80, 24), env=COLOURS)
    terminal.wait_for("finishes in")
    terminal.keys("e")
    terminal.wait_for("Export", "esc leave")
    terminal.signal("TERM")
    assert "Traceback" not in terminal.wait_for("ended with 143")


def test_resized_while_it_reads_and_jumped_with_letters(terminal):
    terminal.start("nightly-features", "nightly-features-small", size=(80, 24), env=COLOURS)
    terminal.wait_for("Deadline")
    for width, height in ((120, 40), (40, 12), (200, 60), (80, 24)):
        terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
        terminal.keys("Right")
    screen = terminal.wait_for("finishes in", "2 Types", "7 Compare", "? help", "^q quit")
    assert "Traceback" not in screen
    terminal.keys("f")
    terminal.wait_for("a▸ Deadline", "d  Data size", "Jump", "esc leave", "finishes in")
    terminal.keys("d")
    terminal.wait_for("▸ Data size", "^q quit")
    terminal.keys("C-q")
    terminal.wait_for("ended with 0")


@pytest.mark.parametrize("number", ["TERM", "HUP"])
def test_a_signal_while_it_reads(terminal, number):
    terminal.start("nightly-features", "nightly-features-small", size=(80, 24), env=COLOURS)
    terminal.wait_for("Deadline")
    terminal.signal(number)
    screen = terminal.wait_for(f"ended with {128 + {'TERM': 15, 'HUP': 1}[number]}")
    assert "Traceback" not in screen
    assert terminal.tmux("display-message", "-p", "#{alternate_on}#{mouse_any_flag}") == "00\n"
