"""A Textual driver that sends only the cells that changed (see `lean_output`).

Its parser of the terminal's bytes takes an Escape that arrives together with another key for a key
of its own.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Thread
from typing import IO, Any

from textual import events, messages
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from tui.widgets.lean_output import LeanOutput

ESCAPE = "\x1b"

ESCAPE_ALONE = "[27u"
"""Appended to an Escape, this makes it an explicit Escape key in kitty's keyboard protocol, which
Textual parses without waiting for further bytes. No terminal needs to send it."""

_CONTINUED = "[]OPX^_\\\\" + ESCAPE
"""Characters after an Escape that continue a terminal's sequence: keys, mouse, replies."""

_WORDWISE = "bf\t\x7f"
"""Keys that terminals send as Escape and a character only: option with an arrow or backspace,
back-tab."""

_KEY_AFTER = re.compile(f"{ESCAPE}(?=[^{re.escape(_CONTINUED + _WORDWISE)}])")


class KeyParser(XTermParser):
    """Textual's parser, except that an Escape and a key that arrive together, or within the tenth
    of a second for which it waits, are two keys.

    Terminals send the same bytes for alt with that key. On a slow line several keys arrive at once:
    Textual read "escape, 2" as a trade mark sign and "escape, e" as a meaningless key, so that the
    dialog stayed open and the rest was typed into it.
    """

    def __init__(self, debug: bool = False, *, alt_keys: bool = False) -> None:
        """Create a parser; with `alt_keys` (the user has bound some) Escape and a key stay one
        key."""
        super().__init__(debug)
        self._alt_keys = alt_keys
        self._held = False

    def feed(self, data: str) -> Iterable[Message]:
        """The messages in `data`."""
        if self._alt_keys or not data:
            return super().feed(data)
        waiting = self._held and self._timeout_time is not None
        self._held = data.endswith(ESCAPE)
        bytes_in = f"{ESCAPE if waiting else ''}{data}"
        separated = _KEY_AFTER.sub(ESCAPE + ESCAPE_ALONE, bytes_in)
        return super().feed(separated[1:] if waiting else separated)


REPAINT_KEY = "ctrl+l"

INPUT_BYTES = 4096
"""Bytes per read: more than a terminal sends per key."""

LOOK_SECONDS = 0.1
"""Interval at which a pending Escape is reported as a key, and the end of the app is checked."""

HUNG_UP = 128 + signal.SIGHUP
"""Exit code of a program ended by SIGHUP."""


class HangupSafeFile:
    """A terminal's file that ignores writes once the terminal is gone: a failing writer would leave
    a queue that nobody empties, and an app that waits for it."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._gone = False

    def fileno(self) -> int:
        """Of the file."""
        return self._file.fileno()

    def write(self, text: str) -> None:
        """To the file, as long as there is one."""
        self._unless_gone(self._file.write, text)

    def flush(self) -> None:
        """The file, as long as there is one."""
        self._unless_gone(self._file.flush)

    def _unless_gone(self, action: Callable[..., object], *arguments: str) -> None:
        if not self._gone:
            try:
                action(*arguments)
            except OSError:
                self._gone = True


class LeanDriver(LinuxDriver):
    """The driver for Linux and macOS with `LeanOutput` between Textual and the terminal.

    A resize makes it forget what the terminal shows; Ctrl+L redraws everything, as in other
    terminal programs, for when something else wrote over the screen. When the terminal is gone, the
    app ends.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._lean = LeanOutput()
        # Textual draws on stderr, which people redirect to drop messages (`2>FILE`).
        self._file: Any = HangupSafeFile(sys.__stdout__ or sys.stdout)
        self._watched = False
        self._continued = False
        self._resized = False

    def start_application_mode(self) -> None:
        """Start with an unknown screen, and forget it again whenever the window is resized."""
        self._forget()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        textual_handler = signal.getsignal(signal.SIGWINCH)

        def on_resize(number: int, frame: Any) -> None:
            # Python runs this anywhere, also in the middle of a `rewrite`, whose cells must stay.
            self._resized = True
            if callable(textual_handler):
                textual_handler(number, frame)

        signal.signal(signal.SIGWINCH, on_resize)
        if self._watched:
            # Resumed after SIGTSTP: Textual would redraw only what changes.
            self._loop.call_soon_threadsafe(self._app.refresh)
        else:
            self._watched = True
            Thread(target=self._await_hangup, name="hangup", daemon=True).start()

    @property
    def was_stopped(self) -> bool:
        """Whether the last SIGTSTP stopped the process: not where no shell could resume it."""
        return self._continued

    def _sigtstp_application(self, *_: Any) -> None:
        """Stop the whole job, not this process alone: `make` or a script that started it must stop
        too, or the shell would wait for them. With its default action SIGTSTP stops nothing where
        no shell could resume the job; SIGSTOP, as Textual sends it, would."""
        if self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
        self._continued = False
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)
        if not self._continued and self._auto_restart:
            self.resume_application_mode()

    def _sigcont_application(self, *arguments: Any) -> None:
        """The shell resumes the process."""
        self._continued = True
        super()._sigcont_application(*arguments)

    def _forget(self) -> None:
        self._lean.size = self._get_terminal_size()
        self._lean.forget()

    def _await_hangup(self) -> None:
        """Quit when the terminal is gone. A lost connection signals only the first process of the
        session: what `make` or a script has started would stay forever."""
        watch = select.poll()
        watch.register(self.fileno, 0)  # POLLHUP is always reported
        if any(events_seen & select.POLLHUP for _, events_seen in watch.poll()):
            leave = getattr(self._app, "quit_on_signal", lambda _: self._app.exit(None, HUNG_UP))
            with suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(leave, signal.SIGHUP)

    def run_input_thread(self) -> None:
        """Read keys and the mouse until the app ends or the terminal is gone, with `KeyParser`;
        `_await_hangup` tells the app of the latter."""
        parser = KeyParser(alt_keys=bool(getattr(self._app, "has_alt_keys", False)))
        decode = getincrementaldecoder("utf-8")("replace").decode
        while not self.exit_event.is_set():
            ready, _, _ = select.select([self.fileno], [], [], LOOK_SECONDS)
            if ready:
                try:
                    read = os.read(self.fileno, INPUT_BYTES)
                except OSError:
                    return
                if not read:
                    return
                if typed := decode(read):
                    for message in parser.feed(typed):
                        self.process_message(message)
            for message in parser.tick():
                self.process_message(message)

    def write(self, data: str) -> None:
        """Write the shortest equivalent of `data`; nothing when the terminal shows it already."""
        lean = self._shown().rewrite(data)
        if lean:
            super().write(lean)

    def process_message(self, message: Message) -> None:
        """Intercept what concerns the screen itself, on the way to the app."""
        if isinstance(message, events.Resize | messages.InBandWindowResize):
            self._loop.call_soon_threadsafe(self._forget)
        elif isinstance(message, events.Key) and message.key == REPAINT_KEY:
            self._loop.call_soon_threadsafe(self._repaint)
        super().process_message(message)

    def _repaint(self) -> None:
        super().write(self._shown().repaint())

    def _shown(self) -> LeanOutput:
        """What the terminal shows: unknown since the window was resized."""
        if self._resized:
            self._resized = False
            self._forget()
        return self._lean


def lean_driver(chosen: type[Driver]) -> type[Driver]:
    """`LeanDriver` in place of the ordinary terminal driver; any other driver is unchanged."""
    return LeanDriver if chosen is LinuxDriver else chosen
