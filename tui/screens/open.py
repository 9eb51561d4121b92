"""Open evidence: samples by name, files and folders by path, local or in an object store,
applications of a history server.

Each file is peeked into by a thread before it is opened; the result is shown beside its name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input

import engine
from tui.log_watcher import INTERVAL_SECONDS, RUNNING
from tui.screens.open_addresses import (
    LISTED_APPLICATIONS,
    NEWEST,
    REMOTE,
    is_remote_folder,
    is_server,
    listed,
    on_enter,
)
from tui.screens.open_line import SourceLine
from tui.screens.open_messages import FolderRead, ListingReady, PeekReady, SourcesPasted
from tui.screens.open_rows import COLUMNS, Entry, Listing, may_grow, row, sample_entries
from tui.screens.picker import Picker
from tui.storage.user_folders import expand_home
from tui.views.bars import Bar, Item, keys
from tui.views.prose import Line, Prose
from tui.widgets.glyphs import Glyphs
from tui.widgets.table import Column, Table
from tui.workers import LatestJobWorker


@dataclass(frozen=True)
class ChosenSources:
    """The sources to read; with `add`, beside those that are open."""

    sources: tuple[str, ...]
    add: bool


class OpenScreen(Picker):
    """Type a path, an address or a part of a sample's name; space marks, Enter opens.

    Args:
        take: callback for the chosen sources.
        here: base folder of relative paths.
    """

    COLUMNS: ClassVar[tuple[Column, ...]] = COLUMNS
    BINDINGS: ClassVar[list[BindingType]] = [
        *Picker.BINDINGS,
        Binding("space", "mark", "Mark", show=False, priority=True),
        Binding("ctrl+a", "add", "Add", show=False, priority=True),
        Binding("ctrl+o", "open_folder", "Open the folder", show=False, priority=True),
    ]

    def __init__(
        self, take: Callable[[ChosenSources], None], *, glyphs: Glyphs, here: Path
    ) -> None:
        super().__init__(
            "Open",
            self._matching_entries,
            glyphs=glyphs,
            placeholder="path, folder, sample, s3://... or http://history-server:18080",
            empty="no such file, folder or sample",
        )
        self._take = take
        self._listing = Listing(here)
        self._here = here
        self._samples = sample_entries()
        self._marked: dict[str, str] = {}
        self._peeks: dict[Hashable, engine.Peek] = {}
        self._last_peeks: dict[str, engine.Peek] = {}
        self._looking: object = None
        self._looker, self._lister = LatestJobWorker("peek"), LatestJobWorker("history")
        self._follower = LatestJobWorker("folder")
        self._server: tuple[str, Sequence[Entry]] | None = None
        self._asked = ""
        self._hidden = 0

    def compose(self) -> ComposeResult:
        """Title in the border, input, entries, what is to be said, keys."""
        with Container(id="dialog", classes="-wide"):
            yield SourceLine(placeholder=self._placeholder, id="typed")
            yield Table(self.COLUMNS, message=self._empty(""), glyphs=self._glyphs, id="matches")
            yield Prose(glyphs=self._glyphs, id="said")
            yield Bar(self._glyphs, firm=True, id="dialog-keys")

    def key_items(self) -> list[Item]:
        return keys(
            [
                ("⏎", "open", ""),
                ("space", "mark", "screen.mark"),
                ("tab", "complete", ""),
                ("^a", "add to open ones", "screen.add"),
                ("^o", "whole folder", "screen.open_folder"),
            ]
        )

    def on_mount(self) -> None:
        """Begin to follow logs that are still written."""
        self.set_interval(INTERVAL_SECONDS, self._follow)

    def on_unmount(self) -> None:
        """Stop the threads."""
        self._looking = None
        self._looker.abandon()
        self._lister.abandon()
        self._follower.abandon()

    def describe_current(self) -> None:
        """Describe the entry under the cursor."""
        self._show_line()

    # Entries

    def _matching_entries(self, typed: str) -> list[Entry]:
        """The entries that match the typed text."""
        self._hidden = 0
        if self._server is not None and typed.startswith(self._server[0]):
            return self._narrowed(typed)
        if REMOTE in typed:
            return []
        entries, self._hidden = self._local(typed)
        return entries

    def _local(self, typed: str) -> tuple[list[Entry], int]:
        """The files and samples that match the typed text, and how many more there are."""
        wanted = typed.lower()
        samples = [] if "/" in typed else [s for s in self._samples if wanted in s.label.lower()]
        entries, hidden = self._listing.entries(typed)
        return [*entries, *samples], hidden

    def _narrowed(self, typed: str) -> list[Entry]:
        """The listed entries that match what is typed behind the address."""
        _, entries = cast(tuple[str, Sequence[Entry]], self._server)
        wanted = self._name_in(typed).strip().lower()
        return [entry for entry in entries if any(wanted in name.lower() for name in entry.names)]

    def _name_in(self, typed: str) -> str:
        """The typed part of a name: behind the address of the listed server, or behind the last
        folder."""
        if self._server is not None and typed.startswith(self._server[0]):
            return typed[len(self._server[0]) :].lstrip("/# ").removeprefix("app=")
        return typed.rpartition("/")[2]

    def _name_continues(self, typed: str) -> bool:
        """Whether a listed name continues with a space after the typed part."""
        wanted = self._name_in(typed).lower()
        return bool(wanted.strip()) and any(
            f"{wanted} " in name.lower() for entry in self._entries for name in entry.names
        )

    def refill(self, typed: str) -> None:
        """Show the matches, and peek into them."""
        self._options = list(self._matches(typed))
        self._show(cursor=0)
        self._look()
        self._show_line()

    def _show(self, cursor: int | None = None) -> None:
        rows = [
            row(entry, self._peek_of(entry), marked=entry.value in self._marked)
            for entry in self._entries
        ]
        typed = self._typed_text
        empty = self._empty(typed)
        if self._server is not None and typed.startswith(self._server[0]) and self._server[1]:
            empty = f"none of those listed has {self._name_in(typed)} in its name"
            empty += f"; press enter to {on_enter(self._named(typed))}"
        elif REMOTE in typed:
            empty = f"press enter to {on_enter(typed)}"
        self.matched.show(rows, message=empty, cursor=cursor)

    def _peek_of(self, entry: Entry) -> engine.Peek | None:
        """What is known of the content; of a log that has grown what it held before, until it has
        been peeked into again."""
        return self._peeks.get(entry.key) or self._last_peeks.get(entry.value)

    @property
    def _entries(self) -> list[Entry]:
        return cast(list[Entry], self._options)

    @property
    def _typed_text(self) -> str:
        return self.query_one("#typed", Input).value.strip()

    # Peeking into files

    def _look(self) -> None:
        """Start to peek into the shown entries, those near the cursor first."""
        wanted = [e for e in self._entries if e.stamp is not None and e.key not in self._peeks]
        self._looking = token = object()
        table = self.matched
        indices = {entry.key: index for index, entry in enumerate(self._entries)}

        def job() -> None:
            while wanted and self._looking is token:
                cursor = table.cursor
                entry = min(wanted, key=lambda entry: abs(indices[entry.key] - cursor))
                wanted.remove(entry)
                source = entry.value if entry.stamp == (0, 0) else self._path(entry.value)
                self._peeks[entry.key] = self._last_peeks[entry.value] = engine.peek(source)
                if self._looking is token:
                    self.post_message(PeekReady())

        if wanted:
            self._looker.submit(job)

    def _path(self, source: str) -> str:
        return source if REMOTE in source else str(self._here / expand_home(source))

    def on_peek_ready(self, message: PeekReady) -> None:
        message.stop()
        self._show()

    def _follow(self) -> None:
        """Read the folder again where a log may grow. A shared folder may take long to answer: the
        keys do not wait for it."""
        if not any(may_grow(entry, self._peek_of(entry)) for entry in self._entries):
            return
        typed = self.query_one("#typed", Input).value

        def job() -> None:
            self.post_message(FolderRead(typed, *self._local(typed)))

        self._follower.submit(job)

    def on_folder_read(self, message: FolderRead) -> None:
        """Peek again into logs that have grown. The cursor and the marks stay with their logs, also
        where one has ended and lost its suffix."""
        message.stop()
        now = message.entries
        if message.typed != self.query_one("#typed", Input).value or now == self._entries:
            return
        self._hidden = message.hidden
        values = [entry.value for entry in now]
        names = {v + RUNNING: v for v in values if v + RUNNING not in values}
        current, cursor = self.current, self.matched.cursor
        if current is not None:
            value = names.get(current.value, current.value)
            cursor = values.index(value) if value in values else cursor
        self._marked = {
            names.get(value, value): label.removesuffix(RUNNING) if value in names else label
            for value, label in self._marked.items()
        }
        self._options = list(now)
        self._show(cursor=cursor)
        self._look()
        self._show_line()

    # History servers and stores

    def _ask(self, address: str) -> None:
        """List the applications of a history server or the files of a folder in a store; the answer
        comes as a message."""
        self._asked = address

        def job() -> None:
            try:
                entries = listed(address)
            except engine.EngineError as error:
                self.post_message(ListingReady(address, (), str(error)))
            else:
                self.post_message(ListingReady(address, entries))

        service = "history server" if is_server(address) else "store"
        self._show_line([(f"asking the {service} ...", "warn")])
        self._lister.submit(job)

    def on_listing_ready(self, message: ListingReady) -> None:
        """Show the entries, or why there are none."""
        message.stop()
        if message.address != self._asked:
            return
        self._asked = ""
        if message.failure is not None:
            self._show_line([(message.failure, "bad")])
            return
        self._server = (message.address, message.entries)
        self.refill(self._typed_text)
        if not message.entries:
            what = "application" if is_server(message.address) else "file"
            self._show_line([(f"there are no {what}s yet", "warn")])

    # Opening

    def answer(self, typed: str) -> None:
        """Open the marked entries, else the one under the cursor; a folder is entered, a server
        listed, a path without match is tried."""
        entry = cast(Entry | None, self.current)
        if self._marked and not (entry and entry.folder and entry.value[:-1] not in self._marked):
            self._leave_with(tuple(self._marked), add=False)
            return
        address = self._named(typed.strip())
        if entry is None and (is_server(address) or is_remote_folder(address)):
            self._ask(address)
            return
        source = entry.value if entry else address
        if entry is not None and entry.folder:
            line = self.query_one("#typed", Input)
            line.value = source
            line.cursor_position = len(source)
            if is_remote_folder(source):
                self._ask(source)
        elif source:
            self._leave_with((source,), add=False)

    def _named(self, address: str) -> str:
        """An address with a name typed right behind it, as that application: none of the listed
        ones has that name, but there may be older ones."""
        if self._server is None or not is_server(address) or not self._server[1]:
            return address
        typed_name = address.removeprefix(self._server[0])
        is_name = typed_name != address and typed_name and typed_name[0] not in "/:?#"
        return f"{self._server[0]}#app={typed_name}" if is_name else address

    def completed(self, typed: str, option: object) -> str:
        """The whole path."""
        return cast(Entry, option).value

    def action_mark(self) -> None:
        """Mark the entry under the cursor, or unmark it. Type a space where there are no entries,
        or where a name continues with one and the cursor has not been moved."""
        entry, line = cast(Entry | None, self.current), self.query_one("#typed", Input)
        if entry is None or (self.matched.cursor == 0 and self._name_continues(line.value)):
            line.insert_text_at_cursor(" ")
            return
        if entry.folder:
            self._show_line([("press enter to look into a folder, ^o to open all of it", "muted")])
            return
        if self._marked.pop(entry.value, None) is None:
            self._marked[entry.value] = entry.label
        self._show()
        self.matched.action_move(1)
        self._show_line()

    def on_sources_pasted(self, message: SourcesPasted) -> None:
        """Mark them, and show the first."""
        message.stop()
        sources = [source.rstrip("/") or source for source in message.sources]
        self._marked |= {source: source for source in sources}
        self.query_one("#typed", Input).value = sources[0]
        self.refill(sources[0])

    def action_add(self) -> None:
        """Read the marked entries, or the one under the cursor, beside the open sources."""
        entry = self.current
        source = entry.value if entry else self._named(self._typed_text)
        if sources := tuple(self._marked) or ((source,) if source else ()):
            self._leave_with(sources, add=True)

    def action_open_folder(self) -> None:
        """Read the typed folder, or the one under the cursor, as a folder of logs."""
        entry = cast(Entry | None, self.current)
        typed = self._typed_text
        inside = not typed or typed.endswith("/")
        source = entry.value if entry is not None and entry.folder and not inside else typed
        self._leave_with((source.rstrip("/") or ("/" if source else "."),), add=False)

    def _leave_with(self, sources: tuple[str, ...], *, add: bool) -> None:
        expanded = (str(expand_home(s)) if s.startswith("~") else s for s in sources)
        self._take(ChosenSources(tuple(expanded), add))
        self.close(None)

    def _show_line(self, line: Line | None = None) -> None:
        """Show a line below the entries: `line`, else the marked or the hidden entries."""
        if line is None and self._marked:
            names = ", ".join(self._marked.values())
            line = [(f"{len(self._marked)} marked: ", "strong"), (names, "muted")]
        elif line is None and self._hidden:
            line = [(f"{self._hidden} more: type the beginning of a name", "muted")]
        elif line is None and (entry := cast(Entry | None, self.current)) is not None:
            line = [(entry.detail, "muted")]
        if line is not None and self._is_cut(self._typed_text):
            line = [*line, (NEWEST, "muted")]
        widget = self.query_one("#said", Prose)
        widget.show([line] if line else [])
        widget.taken(3)

    def _is_cut(self, typed: str) -> bool:
        """Whether the listed server may have more applications than are listed."""
        if self._server is None or not typed.startswith(self._server[0]):
            return False
        return is_server(self._server[0]) and len(self._server[1]) >= LISTED_APPLICATIONS
