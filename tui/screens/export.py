"""Export of text to paste: a target, a preview, a file or the clipboard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.markup import escape
from textual.widgets import Input

import engine
from tui.panels import CAPTION_ROWS
from tui.screens.dialog import Dialog, TypedLine
from tui.screens.picker import LEAVE
from tui.storage.read_files import require_none_of
from tui.storage.user_folders import current_folder, expand_home, path_exists
from tui.views.bars import Bar, keys
from tui.views.planner_words import in_planner
from tui.views.prose import Line, Prose, Verbatim
from tui.widgets.glyphs import Glyphs
from tui.widgets.table import Column, Row, Table
from tui.widgets.text import fit, plain

SHORT_BELOW = 30
"""Terminal rows below which list and text do not both fit."""

OTHER_ROWS = 8
"""Rows of the dialog without targets: its frame, a framed line of the text, path, answer, keys."""

MORE_LINES, MIN_TARGETS = 3, 4
"""Further lines of the text that stay visible before all targets do, and rows of the targets that
stay in any case."""

KEYS: Mapping[str, tuple[list[tuple[str, str, str]], str]] = {
    "targets": ([("↑ ↓", "target", ""), ("⏎", "path", "")], "preview"),
    "preview": ([("↑ ↓", "scroll", ""), ("← →", "along lines", "")], "path"),
    "path": ([], "targets"),
}
"""By the focused widget: keys beside saving and copying, and where tab leads."""

MAX_TITLE = 66
"""Width of a title that fits in every terminal."""


class Target(NamedTuple):
    """A target of the export: its name, a description, the suffix of its file."""

    name: str
    what: str
    suffix: str


Render = Callable[[str], str]
"""From the name of a target to the text; raises EngineError."""


def file_name(application: str, target: Target, *, ascii_only: bool = False) -> str:
    """A safe file name for an export, with the suffix that its reader expects."""
    stem = f"{safe_name(application, ascii_only=ascii_only)}.{target.name}"
    return stem if stem.endswith(target.suffix) else stem + target.suffix


def safe_name(application: str, *, ascii_only: bool) -> str:
    """The name of an application, made safe as part of a file name; in ASCII where nothing else can
    be shown, or typed to open it."""
    name = plain(application, ascii_only=True) if ascii_only else application
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return re.sub("-{2,}", "-", safe)[:40].strip(".-") or "job"


def save(
    path: Path, content: str, *, overwrite: bool, read: Iterable[tuple[str, Path]] = ()
) -> str | None:
    """Write the text; None when done, else the reason why not. No file that the plan reads
    (`tui.storage.read_files`) is replaced."""
    try:
        require_none_of(path, read)
        if path_exists(path) and not path.is_dir() and not overwrite:
            return f"{path} exists; press ctrl+s again to overwrite it"
        engine.write_text(path, content)
    except engine.EngineError as error:
        return str(error)
    return None


class ExportScreen(Dialog[str | None]):
    """Targets above, the text below; ctrl+s saves, ctrl+y copies."""

    COLUMNS: ClassVar[tuple[Column, ...]] = (
        Column(title="for", width=16),
        Column(title="what it is", shrink=True, least=10),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, priority=True),
        Binding("ctrl+s", "save", "Save", show=False, priority=True),
        Binding("ctrl+y", "copy", "Copy", show=False, priority=True),
    ]

    def __init__(
        self,
        targets: Sequence[Target],
        render: Render,
        *,
        application: str,
        what: str,
        read: Callable[[], Iterable[tuple[str, Path]]],
        glyphs: Glyphs,
    ) -> None:
        """`read` tells the files that the plan reads: none of them is replaced."""
        super().__init__(glyphs)
        self._what = what
        self._targets = targets
        self._text_for = render
        self._application, self._read = application, read
        self._content = self._text_to_copy = ""
        self._refused: Path | None = None

    def compose(self) -> ComposeResult:
        """Targets, preview, path, keys."""
        with Container(id="dialog", classes="-tall"):
            rows: list[Row] = [(each.name, (each.what, "muted")) for each in self._targets]
            yield Table(self.COLUMNS, rows, glyphs=self._glyphs, id="targets")
            yield Verbatim(focusable=True, glyphs=self._glyphs, id="preview")
            yield TypedLine(placeholder="file to save to", id="path")
            yield Prose(glyphs=self._glyphs, id="said")
            yield Bar(self._glyphs, firm=True, id="dialog-keys")

    def on_mount(self) -> None:
        title = plain(f"Export {self._what}", ascii_only=self._glyphs.ascii_only)
        title = fit(title, MAX_TITLE, ellipsis=self._glyphs.ellipsis).rstrip()
        self.query_one("#dialog").border_title = escape(title)
        self._share_rows(self.app.size.height)
        self._show_keys()
        self._show(0)

    def on_descendant_focus(self) -> None:
        """Give rows to what is read; show the keys of the focused widget."""
        self._share_rows(self.app.size.height)
        self._show_keys()

    def on_resize(self, event: events.Resize) -> None:
        """Divide the rows again."""
        self._share_rows(event.size.height)

    def _share_rows(self, height: int) -> None:
        """Divide the rows between targets and text. Where there are few, also beside a tour's
        caption, the targets shrink while the text has the focus, and always leave some lines of it,
        the path and the keys."""
        all_rows = len(self._targets) + 1
        reading_text = height < SHORT_BELOW and self.focused is self.query_one("#preview")
        touring = self.app.screen_stack[0].has_class("touring")
        rows_left = (height - (CAPTION_ROWS if touring else 0)) * 92 // 100 - OTHER_ROWS
        target_rows = max(2, min(rows_left, max(MIN_TARGETS, rows_left - MORE_LINES)))
        self.query_one("#targets", Table).styles.height = (
            2 if reading_text else min(all_rows, target_rows)
        )

    def _show_keys(self) -> None:
        focused = self.focused.id if self.focused is not None else ""
        moves, tab = KEYS.get(focused or "", KEYS["targets"])
        save_copy = [("^s", "save", "screen.save"), ("^y", "copy", "screen.copy")]
        here = keys([*moves, *save_copy, ("tab", tab, "")])
        self.query_one("#dialog-keys", Bar).show(here, keys(LEAVE))

    def on_table_cursor_moved(self, event: Table.CursorMoved) -> None:
        """Preview the target under the cursor."""
        event.stop()
        self._show(event.index)

    def on_table_row_chosen(self, event: Table.RowChosen) -> None:
        """Enter on a target goes on to the path."""
        event.stop()
        self.query_one("#path", Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_save()

    def _show(self, index: int) -> None:
        target = self._targets[index]
        try:
            self._content = self._text_for(target.name)
        except engine.EngineError as error:
            self._content = self._text_to_copy = ""
            self._show_line([(refusal(error), "bad")])
            self._preview([], comments=0)
            self.query_one("#path", Input).value = ""
            return
        self._show_line([])
        comments = 0 if target.suffix == ".md" else leading_comments(self._content)
        self._text_to_copy = text_to_copy(self._content, target.suffix)
        self._preview(preview(self._content), comments=comments)
        self.query_one("#path", Input).value = file_name(
            self._application, target, ascii_only=self._glyphs.ascii_only
        )

    def _preview(self, lines: Sequence[Line], *, comments: int) -> None:
        """Show the text, scrolled to its first setting where it does not fit: that is what is
        pasted."""
        shown = self.query_one("#preview", Verbatim)
        shown.show(lines, first=comments)
        note = f", after {comments} lines of notes" if comments else ""
        shown.border_title = f"Preview{note}"

    def _show_line(self, line: Line) -> None:
        widget = self.query_one("#said", Prose)
        widget.show([line])
        widget.taken(3)

    def action_save(self) -> None:
        """Write the text to the path; an existing file only when asked twice."""
        name = self.query_one("#path", Input).value.strip()
        if not self._content:
            return
        if not name:
            self._show_line([("no file to save to: type its path", "bad")])
            self.query_one("#path", Input).focus()
            return
        path = current_folder() / expand_home(name)
        overwrite = path == self._refused
        problem = save(path, self._content, overwrite=overwrite, read=self._read())
        self._refused = path if problem and path_exists(path) else None
        self._show_line([(problem, "bad")] if problem else [(f"saved to {path}", "good")])

    def action_copy(self) -> None:
        """Copy the text to the terminal's clipboard, and say what to do where that is ignored."""
        if self._content:
            self.app.copy_to_clipboard(self._text_to_copy)
            bare = ", without its notes" if self._text_to_copy != self._content else ""
            self._show_line(
                [
                    (f"sent to the terminal's clipboard{bare}", "good"),
                    (" (some terminals and tmux ignore it: then save with ctrl+s)", "muted"),
                ]
            )


def text_to_copy(content: str, suffix: str) -> str:
    """The part of a text that is copied: of shell commands all but the comments above them. Not
    every shell takes a typed # for a comment: zsh would wait for the closing quote in "the
    catalog's"."""
    if suffix != ".sh":
        return content
    return "".join(content.splitlines(keepends=True)[leading_comments(content) :])


def refusal(error: engine.EngineError) -> str:
    """Why a target cannot express a cluster, in the planner's words: no option was typed here."""
    reason = error.what if error.where == "--to" else str(error)
    remedy = f"; {error.remedy}" if error.where == "--to" and error.remedy else ""
    return in_planner(reason + remedy)


def leading_comments(content: str) -> int:
    """Number of comment lines before the first setting."""
    lines = content.splitlines()
    return next((at for at, line in enumerate(lines) if not line.startswith("#")), 0)


def preview(content: str) -> list[Line]:
    """The text line by line, comments styled."""
    return [
        [(line.expandtabs(4), "muted" if line.lstrip().startswith("#") else "base")]
        for line in content.splitlines()
    ]
