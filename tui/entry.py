"""Entry point of the installed `sparkplan` command. It catches an interrupt, as one line, also
while the command's modules are still being imported, which takes a tenth of a second."""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""Exit code after SIGINT: 128 plus the number of the signal, as in shells."""


def main() -> int:
    """Run the command (`tui.cli`) and return its exit code."""
    try:
        from tui import cli

        return cli.main()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("sparkplan: interrupted", file=sys.stderr)
        return INTERRUPTED
