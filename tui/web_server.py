"""The server behind `sparkplan --web`; its libraries are optional, so only `tui.web` imports it."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
from typing import Any

from aiohttp import web
from textual_serve.server import Server

COOKIE = "sparkplan"
PARAMETER = "key"

# The page of textual-serve loads from Google a font that it has itself. What a gateway plans is
# private, so the browser may only load from this server.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self' ws://{host}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


# The page of textual-serve has no keyboard focus until it is clicked. Its body gets this class
# once the socket is open; the socket has to be open to be told of the focus.
FOCUS = b"""<script>
new MutationObserver((_, observer) => {
  if (!document.body.classList.contains("-loaded")) return;
  observer.disconnect();
  document.querySelector(".xterm-helper-textarea").focus();
}).observe(document.body, {attributes: true, attributeFilter: ["class"]});
</script></body>"""


class AuthenticatedServer(Server):
    """The server of textual-serve with a secret, and without its banner."""

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
        """Let requests through that know the secret: the printed address sets a cookie, all other
        requests need it, and sockets must come from this server's own pages."""
        key_given = request.query.get(PARAMETER, "")
        if request.path == "/" and secrets.compare_digest(key_given.encode(), self._key):
            response = await self._page(request, handler)
            response.set_cookie(COOKIE, self._secret, httponly=True, samesite="Strict")
            return response
        cookie = request.cookies.get(COOKIE, "")
        origin = request.headers.get("Origin")
        foreign = origin is not None and origin.partition("://")[2] != request.host
        if foreign or not secrets.compare_digest(cookie.encode(), self._key):
            raise web.HTTPForbidden(text="sparkplan: open the whole address that it printed\n")
        if request.path == "/":
            return await self._page(request, handler)
        response_to_handler: web.StreamResponse = await handler(request)
        return response_to_handler

    async def _page(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """The page with addresses of its own host: those by which the browser came, as through
        ssh."""
        self.public_url = f"http://{request.host}"
        page: web.Response = await handler(request)
        if isinstance(page.body, bytes):
            page.body = page.body.replace(b"</body>", FOCUS, 1)
        page.headers["Content-Security-Policy"] = POLICY.format(host=request.host)
        return page

    @property
    def _key(self) -> bytes:
        return self._secret.encode()

    async def on_startup(self, app: web.Application) -> None:
        """No banner."""

    def serve(self, debug: bool = False) -> None:
        """Serve until a signal; the address is printed in one line that scripts can read."""
        logging.basicConfig(level="WARNING", format="sparkplan: %(message)s")
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        runner = web.AppRunner(await self._make_app(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, self.host, self.port).start()
            host = f"[{self.host}]" if ":" in self.host else self.host
            where = f"http://{host}:{self.port}/?{PARAMETER}={self._secret}"
            print(f"sparkplan is at {where}  (ctrl+c ends it)", flush=True)
            ended, loop = asyncio.Event(), asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, ended.set)
            await ended.wait()
        finally:
            await runner.cleanup()
