"""Where the installed `sparkplan` command begins: an interrupt is one line from here on, also while
what the command needs is still being imported, which takes a tenth of a second."""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""128 and the number of the signal, as shells have it."""


def main() -> int:
    """The exit code of the command (`tui.cli`)."""
    try:
        from tui import cli

        return cli.main()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("sparkplan: interrupted", file=sys.stderr)
        return INTERRUPTED
