"""Two looks at once at the logs that may have grown."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

from tui import log_watcher
from tui.log_watcher import LogWatcher


def test_the_end_of_a_log_is_told_once(tmp_path, monkeypatch):
    """On a slow disk a look may last until the next: both then removed the log, and one failed."""
    log, both, snapshot = tmp_path / "app.inprogress", Barrier(2), log_watcher.log_snapshot

    def slow_snapshot(source):
        with suppress(BrokenBarrierError):  # where the other look waits for this one
            both.wait(0.5)
        return snapshot(source)

    log.write_bytes(b"x")
    watch = LogWatcher()
    watch.follow((str(log),))
    log.rename(tmp_path / "app")
    monkeypatch.setattr(log_watcher, "log_snapshot", slow_snapshot)
    with ThreadPoolExecutor(2) as pool:
        changes = [found.result() for found in [pool.submit(watch.poll) for _ in range(2)]]
    (change,) = [change for change in changes if change is not None]
    assert change.sources == (str(tmp_path / "app"),)
