"""The planner in a browser: what is refused, what is warned of, a page that is served."""

import errno
import re
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec

import pytest
from command_line import refused

import engine
from tui import cli, terminal, web
from tui.widgets.glyphs import UNICODE, choose_glyphs

needs_server = pytest.mark.skipif(
    find_spec("textual_serve") is None, reason="textual-serve is not installed"
)
BROWSER = {"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver", "LC_ALL": "C"}


def test_the_arguments_of_the_planner_are_passed_on():
    typed = ["a b.zstd", "--web", "--port", "9", "--deadline", "45m", "--host=::1", "--mix", "2"]
    assert web.without_web(typed) == ["a b.zstd", "--deadline", "45m", "--mix", "2"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--port 8001", "--port belongs to --web"),
        ("--host 0.0.0.0", "--host belongs to --web"),
        ("--web --port 70000", "must be at most 65,535, not 70000"),
        ("--web /no/such/file", "no such file"),
    ],
)
def test_wrong_usage_is_one_line(capsys, line, said):
    assert said in refused(capsys, line)


def test_without_the_server_one_line_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    # Another test may have imported it: then planners would be served, and the test never end.
    monkeypatch.delitem(sys.modules, "tui.web_server", raising=False)
    error = refused(capsys, "--web")
    assert "pip install 'sparkplan[web]'" in error
    assert "pipx inject sparkplan textual-serve" in error


def test_only_this_machine_is_loopback():
    assert all(map(web.is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(web.is_loopback, ("0.0.0.0", "::", "10.0.0.1", "gateway")))
    assert "WARNING: 0.0.0.0 is not loopback" in web.warning("0.0.0.0", 8000)


def test_a_browser_is_a_terminal_of_its_own():
    terminal.require_interactive({**BROWSER, "TERM": "dumb"})
    sizes = {**BROWSER, "COLUMNS": "90", "ROWS": "30"}
    terminal.prepare(sizes)
    assert sizes["COLUMNS"] == "90"
    assert choose_glyphs("auto", BROWSER) is UNICODE
    with pytest.raises(engine.BadInput):
        terminal.require_interactive({"TEXTUAL_DRIVER": "other", "TERM": "dumb"})


@needs_server
@pytest.mark.slow
async def test_a_page_and_a_planner_are_served_to_who_has_the_address():
    import aiohttp

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tui.cli", "--web", "--port", str(port), "sales-report-small"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            said = server.stdout.readline()
            base, key = re.search(r"(http://127\.0\.0\.1:\d+)/\?key=(\S+)", said).groups()
            async with aiohttp.ClientSession() as stranger:
                for path in ("/", "/?key=guess", "/ws", "/static/js/textual.js"):
                    assert (await stranger.get(base + path)).status == 403
            jar = aiohttp.CookieJar(unsafe=True)
            async with aiohttp.ClientSession(cookie_jar=jar) as browser:
                page = await browser.get(f"{base}/?key={key}")
                assert page.status == 200
                text = await page.text()
                assert f"ws://127.0.0.1:{port}/ws" in text
                assert text.count('querySelector(".xterm-helper-textarea").focus()') == 1
                assert text.rstrip().endswith("</script></body>\n</html>")
                policy = page.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'self';")
                assert f"ws://127.0.0.1:{port};" in policy
                assert (await browser.get(f"{base}/static/js/textual.js")).status == 200
                elsewhere = await browser.get(f"{base}/ws", headers={"Origin": "http://evil.test"})
                assert elsewhere.status == 403
                shown = b""
                async with browser.ws_connect(f"{base}/ws?width=100&height=30") as line:
                    while b"sales-report" not in shown or b"Deadline" not in shown:
                        message = await line.receive(timeout=60)
                        assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT)
                        shown += message.data if isinstance(message.data, bytes) else b""
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(30) == 0


@needs_server
def test_a_port_that_is_taken_is_one_line(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "tui.cli", "--web", "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert done.stderr.count("\n") == 1


@needs_server
@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.EADDRINUSE, "--port"), (errno.EADDRNOTAVAIL, "--host"), (socket.EAI_NONAME, "--host")],
)
def test_the_remedy_names_the_option_that_is_at_fault(number, remedy, capsys, monkeypatch):
    from tui.web_server import AuthenticatedServer

    def fails(server):
        raise OSError(number, "cannot be had")

    monkeypatch.setattr(AuthenticatedServer, "serve", fails)
    for name in ("TERM", "COLORTERM"):  # which serving sets
        monkeypatch.setenv(name, "")
    assert cli.main(["--web"]) == 2
    assert capsys.readouterr().err.endswith(f"cannot be had; choose another one with {remedy}\n")
