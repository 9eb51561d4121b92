"""`sparkplan --web`: the planner in a browser, through textual-serve, for whoever has the address.

Every browser window gets a planner of its own, a process with the rights of the user. A gateway has
other users, and a browser has other pages: so the address that is printed holds a secret, without
which nothing is served.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

import engine
from tui import options

LOOPBACK = "127.0.0.1"
PORT = 8000
MOST_PORT = 65535
COOKIE = "sparkplan"
PARAMETER = "key"


def add_web(parser: argparse.ArgumentParser) -> None:
    """The options of a planner in a browser."""
    parser.add_argument("--web", action="store_true", help="serve the planner to a browser")
    parser.add_argument(
        "--host", metavar="ADDRESS", help=f"with --web: where to listen (default {LOOPBACK})"
    )
    parser.add_argument(
        "--port", type=options.whole(), metavar="N", help=f"with --web: default {PORT}"
    )


def without_web(arguments: Sequence[str]) -> list[str]:
    """The arguments of the planner itself."""
    found, skip = [], False
    for argument in arguments:
        takes_value = argument in ("--host", "--port")
        ours = takes_value or argument == "--web" or argument.startswith(("--host=", "--port="))
        if not skip and not ours:
            found.append(argument)
        skip = takes_value and not skip
    return found


def check_options(args: argparse.Namespace) -> None:
    """Refuses an address for nothing.

    Raises:
        BadInput: for --host or --port without --web, or a port that there is not.
    """
    for name in ("host", "port"):
        if not args.web and getattr(args, name) is not None:
            raise engine.BadInput(f"--{name} belongs to --web", remedy="add --web")
    if args.port is not None and args.port > MOST_PORT:
        raise engine.BadInput(f"there is no port {args.port}", where="--port")


def is_loopback(host: str) -> bool:
    """Whether nobody outside this machine can reach an address."""
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(arguments: Sequence[str], *, host: str | None, port: int | None) -> int:
    """Serves planners that were given `arguments` until ctrl+c.

    Raises:
        BadInput: where textual-serve is not installed, or the address cannot be listened on.
    """
    import shlex

    host, port = host or LOOPBACK, port or PORT
    try:
        from textual_serve.server import Server
    except ImportError:
        raise engine.BadInput(
            "textual-serve is not installed",
            where="--web",
            remedy="pip install 'sparkplan[web]', or pip install textual-serve",
        ) from None
    if not is_loopback(host):
        print(warning(host, port), file=sys.stderr)
    # What the planner draws on is the browser, not the terminal that this was typed in.
    os.environ.update({"TERM": "xterm-256color", "COLORTERM": "truecolor"})
    command = shlex.join([sys.executable, "-m", "tui.cli", *without_web(arguments)])
    try:
        _guarded(Server)(command, host, port).serve()
    except OSError as error:
        raise engine.BadInput(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            where="--web",
            remedy="choose another one with --port",
        ) from None
    return 0


def warning(host: str, port: int) -> str:
    """What everybody should read before they leave loopback."""
    return (
        f"sparkplan: WARNING: {host} is not loopback. Whoever learns the address below uses this\n"
        "planner as you and reads what you can read; nothing on the line is encrypted. Better:\n"
        f"    ssh -L {port}:{LOOPBACK}:{port} HOST    and --web without --host"
    )


def _guarded(server: Any) -> Any:
    """The server of textual-serve with a secret, and without its banner."""
    import asyncio
    import logging
    import secrets
    import signal

    from aiohttp import web

    class Guarded(server):  # type: ignore[misc]
        def __init__(self, command: str, host: str, port: int) -> None:
            super().__init__(command, host, port, title="sparkplan")
            self._secret = secrets.token_urlsafe(16)

        async def _make_app(self) -> web.Application:
            app: web.Application = await super()._make_app()

            async def guard(request: web.Request, handler: Any) -> web.StreamResponse:
                return await self._guard(request, handler)

            app.middlewares.append(web.middleware(guard))
            return app

        async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
            """The address with the secret opens the page and leaves a cookie; all else needs it,
            and sockets an origin that is this server."""
            asked = request.query.get(PARAMETER, "")
            if request.path == "/" and secrets.compare_digest(asked.encode(), self._key):
                # The page names its own addresses: those by which the browser came, as through ssh.
                self.public_url = f"http://{request.host}"
                response: web.StreamResponse = await handler(request)
                response.set_cookie(COOKIE, self._secret, httponly=True, samesite="Strict")
                return response
            held = request.cookies.get(COOKIE, "")
            origin = request.headers.get("Origin")
            foreign = origin is not None and origin.partition("://")[2] != request.host
            if foreign or not secrets.compare_digest(held.encode(), self._key):
                raise web.HTTPForbidden(text="sparkplan: open the whole address that it printed\n")
            if request.path == "/":
                self.public_url = f"http://{request.host}"
            answered: web.StreamResponse = await handler(request)
            return answered

        @property
        def _key(self) -> bytes:
            return self._secret.encode()

        async def on_startup(self, app: web.Application) -> None:
            """No banner."""

        def serve(self, debug: bool = False) -> None:
            """Until a signal; where it is stands in one line that scripts can read."""
            logging.basicConfig(level="WARNING", format="sparkplan: %(message)s")
            asyncio.run(self._serve())

        async def _serve(self) -> None:
            runner = web.AppRunner(await self._make_app(), access_log=None, shutdown_timeout=1.0)
            await runner.setup()
            try:
                await web.TCPSite(runner, self.host, self.port).start()
                where = f"http://{_bracketed(self.host)}:{self.port}/?{PARAMETER}={self._secret}"
                print(f"sparkplan is at {where}  (ctrl+c ends it)", flush=True)
                ended, loop = asyncio.Event(), asyncio.get_running_loop()
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    loop.add_signal_handler(number, ended.set)
                await ended.wait()
            finally:
                await runner.cleanup()

    return Guarded


def _bracketed(host: str) -> str:
    """An address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host
