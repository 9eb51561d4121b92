"""Run tables: CSV with one run per line (docs/formats.md).

`nodes`, `input_size` and `seconds` are required, `KNOWN` columns have a fixed meaning, and every
other numeric column is a parameter of the job. Lines of runs that did not succeed are left out
(`outcomes`). Errors name the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path

from engine.catalog import InstanceType
from engine.cluster import Cluster, NodeGroup, Workload
from engine.errors import BadInput
from engine.notices import Notice, present
from engine.profile import Run, require_possible
from engine.sources.formats.column_names import CONTENT, column_or_synonym, renames
from engine.sources.formats.decimal_commas import COMMA
from engine.sources.formats.outcomes import Outcomes
from engine.sources.formats.row_values import count_in, heap_in, needed, number_in, word_in
from engine.sources.formats.table_rows import (
    DELIMITERS,
    KNOWN,
    NO_VALUE,
    REQUIRED,
    Row,
    as_number,
    columns_of,
    normal,
    rows_of,
)
from engine.sources.source_contents import SourceContents
from engine.text.lists import abbreviated_list, listed
from engine.text.quantities import has_size_unit, parse_bytes, parse_seconds, parse_usd


def looks_like(head: bytes) -> bool:
    """Whether a text begins with a header with at least two of the required columns, or with
    synonyms of all three (parsing then suggests what to rename, with the line)."""
    for raw in head.decode("utf-8", "replace").splitlines()[:64]:
        if raw.strip() and not raw.lstrip().startswith("#"):
            return _is_heading(raw)
    return False


def _is_heading(line: str) -> bool:
    names = [normal(cell) for cell in re.split(f"[{DELIMITERS}]", line)]
    known = sum(name in names for name in REQUIRED) >= 2
    return known or all(column_or_synonym(names, name) for name in REQUIRED)


def _heading_elsewhere(head: bytes, where: str) -> BadInput | None:
    """The error for a heading below a title, as spreadsheets have one, or behind a #; None where
    there is none."""
    for number, line in enumerate(head.decode("utf-8", "replace").splitlines()[:64], 1):
        what = "the heading of a run table stands below other lines"
        remedy = "delete the lines above it"
        if line.lstrip().startswith("#"):
            what, remedy = "the heading of a run table is a comment", "remove the # before it"
        if _is_heading(line.lstrip("# \t")):
            return BadInput(what, where=f"{where}:{number}", remedy=remedy)
    return None


def unlike_runs(head: bytes, where: str) -> BadInput | None:
    """The error for a table with other column names, in whatever language, or with lines above
    these; None for a run table, and for a text that is no table."""
    if looks_like(head):
        return None
    misplaced = _heading_elsewhere(head, where)
    if misplaced is not None:
        return misplaced
    names = columns_of(head)
    if not names:
        return None
    columns = [normal(name) for name in names]
    suggestions = renames(columns, REQUIRED, names)
    missing_contents = [
        CONTENT[name] for name in REQUIRED if column_or_synonym(columns, name) is None
    ]
    needs = (
        [f"it needs {abbreviated_list(missing_contents)}: rename the columns that hold these"]
        if missing_contents
        else []
    )
    return BadInput(
        f"is a table without the columns of a run table: it has {listed([repr(n) for n in names])}",
        where=where, remedy="; ".join((*suggestions, *needs)),
    )  # fmt: skip


def parse(text: str, source: str) -> SourceContents:
    """Parses a run table; `source` is the file's name in errors.

    Raises:
        BadInput: with `file:line`, for a missing column or an invalid value; where no run
            succeeded.
    """
    columns, rows = rows_of(text, source)
    outcomes = Outcomes.of(columns, rows)
    notices = outcomes.notices(source)
    columns = [name for name in columns if name not in outcomes.columns]
    rows = outcomes.succeeded(source)
    parameters = _parameter_columns(columns, rows, source, notices)
    in_bytes = _sizes_in_bytes(rows)
    types = _types(rows)
    notices += present([_unused_memory_notice(rows, types, source)])
    runs = [_run(row, parameters, types, in_bytes=in_bytes) for row in rows]
    names = dict.fromkeys(run.application for run in runs if run.application)
    return SourceContents(
        source=Path(source).name,
        name=next(iter(names)) if len(names) == 1 else Path(source).stem,
        runs=tuple(runs),
        unit="bytes" if in_bytes else None,
        notices=tuple(notices),
    )


def _parameter_columns(
    columns: Sequence[str], rows: Sequence[Row], source: str, notices: list[Notice]
) -> list[str]:
    """The parameter columns; those without any number are left out, with a notice."""
    parameters: list[str] = []
    texts: list[str] = []
    for name in columns:
        if name in KNOWN:
            continue
        cells = [row.cells[name] for row in rows]
        numbers = any(as_number(cell) is not None or COMMA.match(cell) for cell in cells)
        (parameters if numbers else texts).append(name)
    if texts:
        notices.append(_text_column_notices(texts, columns, rows[0].written, source))
    unique_columns = [name for name in parameters if _is_unique_per_run(name, rows)]
    if unique_columns:
        notices.append(
            _unique_column_notices([rows[0].written[name] for name in unique_columns], source)
        )
    return parameters


def _text_column_notices(
    texts: Sequence[str], columns: Sequence[str], written: Mapping[str, str], source: str
) -> Notice:
    """The notice that columns without numbers are ignored, with a remedy."""
    one = len(texts) == 1
    these = f"column{'' if one else 's'} {listed([written[name] for name in texts])}"
    predicate = "holds no numbers and is" if one else "hold no numbers and are"
    them = "it" if one else "them"
    remedy = f"code {them} as numbers if the time depends on {them}"
    named = column_or_synonym(texts, "instance_type") if "instance_type" not in columns else None
    if named is not None:
        remedy = f"rename {written[named]!r} to instance_type if it names the nodes; {remedy}"
    return Notice("ignored-column", f"{these} of {Path(source).name} {predicate} not used", remedy)


MIN_UNIQUE_RUNS = 3
"""Minimum number of runs at which a different value in each is not a coincidence."""


def _is_unique_per_run(name: str, rows: Sequence[Row]) -> bool:
    """Whether a column has a different value in each run, as a result or a run number has, rather
    than a job parameter."""
    return len(rows) >= MIN_UNIQUE_RUNS and len({row.cells[name] for row in rows}) == len(rows)


def _unique_column_notices(names: Sequence[str], source: str) -> Notice:
    """The notice that such columns are used as parameters all the same."""
    predicate = "is taken as a parameter" if len(names) == 1 else "are taken as parameters"
    return Notice(
        "parameter-of-each-run",
        f"each run of {Path(source).name} has its own {abbreviated_list(names)}, which {predicate} "
        "of the job: an answer is for those of the largest run",
        "leave out what is no input of the job, such as its cost or the number of the run",
    )


def _sizes_in_bytes(rows: Sequence[Row]) -> bool:
    """Whether sizes have units; either all or none must have one. Empty cells are reported
    elsewhere."""
    rows = [row for row in rows if row.cells["input_size"].lower() not in NO_VALUE]
    with_unit = [has_size_unit(row.cells["input_size"]) for row in rows]
    if any(with_unit) and not all(with_unit):
        for row in rows:
            if as_number(row.cells["input_size"]) is None:
                number_in(row, "input_size", convert=parse_bytes)  # refuses what is no size
        odd = rows[with_unit.index(not with_unit[0])]
        raise BadInput(
            f"{odd.written['input_size']} has a unit in some lines and none in others",
            where=odd.where,
            remedy="write all sizes with a unit (48GB), or none",
        )
    return all(with_unit)


def _types(rows: Sequence[Row]) -> dict[int, InstanceType]:
    """The instance type of each line; a name has one shape, which need not be in every line."""
    names: dict[int, str] = {}
    known: dict[tuple[str, str], float] = {}
    first_values: dict[tuple[str, str], int] = {}
    for row in rows:
        shape = {column: number_in(row, column) for column in ("vcpus", "memory_gib")}
        written = word_in(row, "instance_type")
        if written is not None:
            name = written
        elif shape["vcpus"] is not None:
            memory_gib = nan if shape["memory_gib"] is None else shape["memory_gib"]
            name = InstanceType.of_shape(shape["vcpus"], memory_gib).name
        else:
            continue
        names[row.line] = name
        for column, value in shape.items():
            if value is None:
                continue
            line = first_values.setdefault((name, column), row.line)
            if known.setdefault((name, column), value) != value:
                raise BadInput(
                    f"{name} has another shape here than in line {line}",
                    where=row.where,
                    remedy="one instance type has one number of vCPUs and one memory size",
                )
    instances = {
        name: InstanceType(
            name,
            vcpus=known.get((name, "vcpus"), nan),
            memory_gib=known.get((name, "memory_gib"), nan),
        )
        for name in set(names.values())
    }
    return {line: instances[name] for line, name in names.items()}


def _unused_memory_notice(
    rows: Sequence[Row], types: Mapping[int, InstanceType], source: str
) -> Notice | None:
    """The notice that memory is unused where neither the type nor the vCPUs of a node are given."""
    alone = [row for row in rows if row.line not in types and number_in(row, "memory_gib")]
    if not alone:
        return None
    return Notice(
        "ignored-column",
        f"{alone[0].written['memory_gib']} of {Path(source).name} is not used in lines that "
        f"say neither instance_type nor vcpus (first: {alone[0].line})",
        "add a column instance_type or vcpus",
    )


def _run(
    row: Row, parameters: Sequence[str], types: Mapping[int, InstanceType], *, in_bytes: bool
) -> Run:
    nodes = needed(row, "nodes", count_in(row, "nodes"))
    size = number_in(row, "input_size", convert=parse_bytes if in_bytes else None)
    seconds = needed(row, "seconds", number_in(row, "seconds", convert=parse_seconds))
    executors, cores = count_in(row, "executors"), count_in(row, "executor_cores")
    workload = Workload(
        input_bytes=needed(row, "input_size", size),
        iterations=number_in(row, "iterations"),
        parameters={
            name: needed(row, name, number_in(row, name, positive=False)) for name in parameters
        },
    )
    require_possible(seconds, workload, row.where)
    return Run(
        seconds=seconds,
        cluster=Cluster(
            groups=(
                NodeGroup(
                    int(nodes),
                    types.get(row.line),
                    number_in(row, "price_hourly_usd", convert=parse_usd),
                ),
            ),
            executors=executors,
            executor_cores=cores,
            executor_memory_gib=heap_in(row),
        ),
        workload=workload,
        source=f"{Path(row.source).name}:{row.line}",
        application=word_in(row, "application"),
    )
