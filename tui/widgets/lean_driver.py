"""A Textual driver that sends only the cells that changed (see `lean_output`)."""

from __future__ import annotations

import signal
from typing import Any

from textual import events, messages
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from tui.widgets.lean_output import LeanOutput

REPAINT_KEY = "ctrl+l"


class LeanDriver(LinuxDriver):
    """The driver for Linux and macOS with `LeanOutput` between Textual and the terminal.

    A resize makes it forget what the terminal shows; Ctrl+L draws everything again, as in other
    terminal programs, for when something else wrote over the screen.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._lean = LeanOutput()

    def start_application_mode(self) -> None:
        """Begin with an unknown screen, and forget it again whenever the window changes."""
        self._lean.forget()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        textual_handler = signal.getsignal(signal.SIGWINCH)

        def on_resize(number: int, frame: Any) -> None:
            self._lean.forget()
            if callable(textual_handler):
                textual_handler(number, frame)

        signal.signal(signal.SIGWINCH, on_resize)

    def write(self, data: str) -> None:
        """Write what has the effect of `data`; nothing when the terminal shows it already."""
        lean = self._lean.rewrite(data)
        if lean:
            super().write(lean)

    def process_message(self, message: Message) -> None:
        """Watch for what concerns the screen itself, on the way to the app."""
        if isinstance(message, events.Resize | messages.InBandWindowResize):
            self._loop.call_soon_threadsafe(self._lean.forget)
        elif isinstance(message, events.Key) and message.key == REPAINT_KEY:
            self._loop.call_soon_threadsafe(self._repaint)
        super().process_message(message)

    def _repaint(self) -> None:
        super().write(self._lean.repaint())


def lean_driver(chosen: type[Driver]) -> type[Driver]:
    """`LeanDriver` in place of the ordinary terminal driver; any other driver is left alone."""
    return LeanDriver if chosen is LinuxDriver else chosen
