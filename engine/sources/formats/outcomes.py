"""Outcomes of the runs in a table; runs that failed, were killed or have not ended are left out.

Their times do not measure the job.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadInput
from engine.notices import Notice
from engine.sources.formats.table_rows import NO_VALUE, Row, as_number
from engine.text.lists import abbreviated_list
from engine.units import format_count

_COLUMN = re.compile(
    r"((app|application|job|run|task|step|stage|query|execution|result|final|yarn|dag)_?)*"
    r"(status|state|outcome)|((app|application|job|run|task|step|query|execution|final)_?)?result"
)
"""Names of columns with the outcome in words: `status`, `FinalStatus`, `result_state`, ..."""

SUCCEEDED, FAILED, KILLED, NOT_ENDED = "succeeded", "failed", "was killed", "did not end"
_WORDS = {
    SUCCEEDED: "success succeed succeeded successful ok pass passed complete completed done "
    "finished warn warning",
    FAILED: "fail failed failure error errored aborted crashed dead lost exception oom "
    "out_of_memory timeout timed_out timedout upstream_failed submission_failed internal_error "
    "runtime_error node_fail boot_fail terminated_with_errors completed_with_errors "
    "finished_with_errors succeeded_with_failures",
    KILLED: "kill killed cancel cancelled canceled cancelling canceling interrupted stopped "
    "preempted revoked",
    NOT_ENDED: "running pending queued scheduled submitted accepted new new_saving starting "
    "started waiting blocked skipped deferred removed not_started no_status undefined up_for_retry "
    "up_for_reschedule restarting in_progress incomplete",
}
"""Outcome -> the words for it in Spark, YARN, Kubernetes, Slurm, EMR, Glue, Dataproc, Databricks,
Livy, Airflow and dbt. YARN's UNDEFINED means not ended, dbt's WARN a success."""
_MEANING = {word: outcome for outcome, words in _WORDS.items() for word in words.split()}

_EXIT_CODE = re.compile(r"((process|app|job|run|task)_?)?(exit|return)_?(code|status)")
_SUCCESS = re.compile(r"(is_|was_)?(success|succeeded|successful)")
_FAILURE = re.compile(r"(is_|was_|has_)?failed")
"""Names of columns with exit codes (0 is a success), and of yes/no columns."""
_YES = frozenset({"true", "yes", "y", "t", "1", "1.0"})
_NO = frozenset({"false", "no", "n", "f", "0", "0.0"})


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcome of each line of a table.

    Args:
        columns: normalised names of the outcome columns; empty without any.
        rows: the lines of the table.
        ended: the outcome of each line (SUCCEEDED, ...); None where its words are unknown.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    ended: tuple[str | None, ...]

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Row]) -> Outcomes:
        """The outcomes of a table; a column `status` of numbers is a parameter instead."""
        outcome_columns = tuple(
            name for name in columns if _is_outcome_column(name, [row.cells[name] for row in rows])
        )
        ended = (
            _worst([_outcome_of_cell(name, row.cells[name]) for name in outcome_columns])
            for row in rows
        )
        return cls(outcome_columns, tuple(rows), tuple(ended))

    def succeeded(self, source: str) -> list[Row]:
        """The lines whose time counts: those that succeeded or have an unknown outcome.

        Raises:
            BadInput: when none is left.
        """
        kept = [row for row, ended in self._rows_with_outcomes if _time_counts(ended)]
        if not kept:
            raise BadInput(
                f"holds no run that succeeded: {self._reasons()} ({self._column_names})",
                where=source,
                remedy="add runs that came to their end",
            )
        return kept

    def notices(self, source: str) -> list[Notice]:
        """Notices about lines that are left out, and about lines with an unknown outcome."""
        if not self.columns:
            return []
        name, total = Path(source).name, len(self.rows)
        notices = []
        left_out = [row.line for row, ended in self._rows_with_outcomes if not _time_counts(ended)]
        if left_out:
            notices.append(
                Notice(
                    "failed-runs",
                    f"{len(left_out)} of {format_count(total, 'run')} of {name} "
                    f"{'is' if len(left_out) == 1 else 'are'} left out: {self._reasons()} "
                    f"({self._column_names}; first: line {left_out[0]})",
                    "correct the cell where a run did succeed",
                )
            )
        unknown = [row for row, ended in self._rows_with_outcomes if ended is None]
        if unknown:
            cells = (row.cells[column] for row in unknown for column in self.columns)
            shown = dict.fromkeys(repr(cell) if cell else "empty" for cell in cells)
            notices.append(
                Notice(
                    "unknown-outcome",
                    f"{self._column_names} of {name} does not say whether {len(unknown)} of "
                    f"{format_count(total, 'run')} succeeded ({abbreviated_list([*shown])}; first: "
                    f"line {unknown[0].line}): counted as if "
                    f"{'it' if len(unknown) == 1 else 'they'} did",
                    "write success or failed there, or leave out what failed",
                )
            )
        return notices

    @property
    def _rows_with_outcomes(self) -> zip[tuple[Row, str | None]]:
        return zip(self.rows, self.ended, strict=True)

    @property
    def _column_names(self) -> str:
        """The outcome columns, as named in the file."""
        return abbreviated_list([self.rows[0].written[name] for name in self.columns])

    def _reasons(self) -> str:
        counts = {outcome: self.ended.count(outcome) for outcome in (FAILED, KILLED, NOT_ENDED)}
        texts = {
            outcome: outcome.replace("was", "were") if n > 1 else outcome
            for outcome, n in counts.items()
        }
        return abbreviated_list([f"{n} {texts[outcome]}" for outcome, n in counts.items() if n])


def _is_word(cell: str) -> bool:
    return cell.lower() not in NO_VALUE and as_number(cell) is None


def _time_counts(ended: str | None) -> bool:
    return ended is None or ended == SUCCEEDED


def _is_outcome_column(name: str, cells: Sequence[str]) -> bool:
    """Whether a column contains outcomes: of words by its name alone; of exit codes or yes/no if
    all of its cells are such."""
    if _COLUMN.fullmatch(name):
        return any(map(_is_word, cells))
    known = [cell for cell in cells if cell.lower() not in NO_VALUE]
    coded = any(pattern.fullmatch(name) for pattern in (_EXIT_CODE, _SUCCESS, _FAILURE))
    return coded and bool(known) and all(_outcome_of_cell(name, cell) is not None for cell in known)


def _worst(outcomes: Sequence[str | None]) -> str | None:
    """The combined outcome of a line's cells: the worst one, as with YARN's State FINISHED and
    FinalStatus FAILED."""
    return next(
        (outcome for outcome in (FAILED, KILLED, NOT_ENDED, SUCCEEDED) if outcome in outcomes), None
    )


def _outcome_of_cell(name: str, cell: str) -> str | None:
    """The outcome in a cell; None where unknown."""
    if _EXIT_CODE.fullmatch(name):
        code = as_number(cell)
        return None if code is None else SUCCEEDED if code == 0.0 else FAILED
    if _SUCCESS.fullmatch(name) or _FAILURE.fullmatch(name):
        good, bad = (_YES, _NO) if _SUCCESS.fullmatch(name) else (_NO, _YES)
        return SUCCEEDED if cell.lower() in good else FAILED if cell.lower() in bad else None
    return _outcome_of_words(cell)


def _outcome_of_words(cell: str) -> str | None:
    """The outcome of words; after a word other than success more text may follow ("CANCELLED by
    1000")."""
    words = re.findall(r"[a-z]+", cell.lower()) if cell[:1].isalpha() else []
    whole = _MEANING.get("_".join(words))
    first = _MEANING.get(words[0]) if words else None
    return first if whole is None and first != SUCCEEDED else whole
