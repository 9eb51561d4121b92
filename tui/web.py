"""`sparkplan --web`: the planner in a browser, through textual-serve.

Every browser window gets a planner of its own, a process with the rights of the user. A gateway has
other users, and a browser has other pages: so the address that is printed contains a secret,
without which nothing is served.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence

import engine
from tui import streams
from tui.arguments import options, sections

LOOPBACK = "127.0.0.1"
PORT = 8000
MAX_PORT = 65535

PORTS_FAULT = (errno.EADDRINUSE, errno.EACCES)
"""Errors of listening that another port solves; with others the address is at fault."""


def add_web(parser: argparse.ArgumentParser) -> None:
    """Add the options of a planner in a browser."""
    group = sections.section(parser, "in a browser")
    group.add_argument("--web", action="store_true", help="serve the planner to a browser")
    group.add_argument(
        "--host", metavar="ADDRESS", help=f"with --web: where to listen (default {LOOPBACK})"
    )
    group.add_argument(
        "--port",
        type=options.whole(most=MAX_PORT),
        metavar="N",
        help=f"with --web: default {PORT}",
    )


def without_web(arguments: Sequence[str]) -> list[str]:
    """The arguments without those of --web."""
    kept, skip_value = [], False
    for argument in arguments:
        takes_value = argument in ("--host", "--port")
        is_web_option = (
            takes_value or argument == "--web" or argument.startswith(("--host=", "--port="))
        )
        if not skip_value and not is_web_option:
            kept.append(argument)
        skip_value = takes_value and not skip_value
    return kept


def check_options(args: argparse.Namespace) -> None:
    """Refuse --host and --port without --web.

    Raises:
        BadInput: for --host or --port without --web.
    """
    for name in ("host", "port"):
        if not args.web and getattr(args, name) is not None:
            raise engine.BadInput(f"--{name} belongs to --web", remedy="add --web")


def is_loopback(host: str) -> bool:
    """Whether an address is unreachable from other machines."""
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(arguments: Sequence[str], *, host: str | None, port: int | None) -> int:
    """Serve planners with these `arguments` until interrupted.

    Raises:
        BadInput: where textual-serve is not installed, or the address cannot be listened on.
    """
    import shlex

    host, port = host or LOOPBACK, port or PORT
    try:
        from tui.web_server import AuthenticatedServer
    except ImportError:
        raise engine.BadInput(
            "textual-serve is not installed",
            where="--web",
            remedy="pip install 'sparkplan[web]', or pipx inject sparkplan textual-serve",
        ) from None
    if not is_loopback(host):
        streams.say(warning(host, port))
    # The planner draws in the browser, not in the terminal where this was typed.
    os.environ.update({"TERM": "xterm-256color", "COLORTERM": "truecolor"})
    command = shlex.join([sys.executable, "-m", "tui.cli", *without_web(arguments)])
    try:
        AuthenticatedServer(command, host, port).serve()
    except OSError as error:
        other = "--port" if error.errno in PORTS_FAULT else "--host"
        raise engine.BadInput(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            where="--web",
            remedy=f"choose another one with {other}",
        ) from None
    return 0


def warning(host: str, port: int) -> str:
    """The warning about an address that is not loopback."""
    return (
        f"sparkplan: WARNING: {host} is not loopback. Whoever learns the address below uses this\n"
        "planner as you and reads what you can read; nothing on the line is encrypted. Better:\n"
        f"    ssh -L {port}:{LOOPBACK}:{port} HOST    and --web without --host"
    )
