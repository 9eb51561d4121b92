"""Amounts of input, and of nodes, in words."""

import math
from pathlib import Path

import pytest
from rich.cells import cell_len
from test_headless import LOG, run

from tui import format as text
from tui.format import (
    SPAN_CELLS,
    USD_CELLS,
    USD_SPAN_CELLS,
    in_time,
    mean_error,
    odds,
    percent,
    size,
    span,
    table,
    usd,
    usd_cell,
    usd_difference,
    usd_range,
    usd_span,
)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1.0, "units", "1 unit"),
        (2.0, "units", "2 units"),
        (2e8, "units", "200M units"),
        (48e9, "bytes", "48 GB"),
        (None, "bytes", "–"),
    ],
)
def test_an_amount_has_its_unit(value: float | None, unit: str, shown: str) -> None:
    assert size(value, unit) == shown


@pytest.mark.parametrize(
    ("error", "shown"),
    [(0.0964, "9.6 %"), (0.999, "99.9 %"), (9.426, "943 %"), (70.394, "7,039 %"), (None, "–")],
)
def test_an_error_that_is_no_use_has_no_tenths(error: float | None, shown: str) -> None:
    """The runs of several jobs together read "7039.4 %"."""
    assert mean_error(error) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.994, "99 %"), (0.995, ">99 %"), (0.005, "<1 %"), (0.006, "1 %"), (None, "–")],
)
def test_a_share_is_never_rounded_to_certainty(share: float | None, shown: str) -> None:
    """Python rounds halves to even: 199 of 200 runs read "100 %"."""
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("p", "confidence", "shown"),
    [
        (0.8999, 0.9, "<90 %"),
        (0.896, 0.9, "<90 %"),
        (0.894, 0.9, "89 %"),
        (0.9, 0.9, "90 %"),
        (0.974, 0.975, "97 %"),
        (0.9749, 0.975, "97 %"),
        (0.896, None, "90 %"),
        (math.nan, 0.9, "–"),
        (None, 0.9, "–"),
    ],
)
def test_what_misses_a_confidence_never_reads_as_that(p, confidence, shown) -> None:
    assert in_time(p, confidence) == shown


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [
        (0.9, "9 in 10"),
        (0.95, "19 in 20"),
        (0.975, "97.5 in 100"),
        (0.99999999, "99.999999 in 100"),
        (0.999999999999, "over 99.9999 in 100"),
    ],
)
def test_a_confidence_is_never_rounded_to_certainty(confidence: float, shown: str) -> None:
    assert odds(confidence) == shown


@pytest.mark.parametrize(
    ("difference", "shown"),
    [(0.00385, "$0.0039"), (-0.0469, "$0.047"), (12.345, "$12.35"), (1e-5, "less than $0.001")],
)
def test_a_difference_has_the_digits_of_the_reasons(difference: float, shown: str) -> None:
    """The line on a runner-up said $0.00385 where the reasons said $0.0039."""
    assert usd_difference(difference) == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (38 * 60.0, 44 * 60.0, "38–44 min"),
        (7.2, 198.0, "7.2 s–3m 18s"),
        (8.02, 108.0, "8.0 s–1m 48s"),
        (56.0, 198.0, "56 s–3m 18s"),
        (19.0, 787.0, "19 s–13m 07s"),
        (57.1, 198.0, "57 s–3m 18s"),
        (52.0, 7300.0, "52 s–2h 02m"),
        (0.9 * 86400.0, 8 * 86400.0, "22–192 h"),
        (35.0, 169.0, "35 s–2m 49s"),
        (64.0, 93.0, "1m 04s–1m 33s"),
        (430.0, 599.0, "7m 10s–9m 59s"),
        (430.0, 601.0, "7.2–10.0 min"),
        (59.94, 90.0, "59.9 s–1m 30s"),
        (0.6 * 3600.0, 2.5 * 3600.0, "36–150 min"),
        (0.1 * 3600.0, 2.5 * 3600.0, "6.0 min–2.5 h"),
        (12.0, 34.2, "12–34 s"),
        (1.44, 34.2, "1.4–34.2 s"),
        (10.4, 15.5, "10.4–15.5 s"),
        (20.2, 21.4, "20.2–21.4 s"),
        (0.12, 0.9, "120–900 ms"),
        (8.0 * 60.0, 119.0 * 60.0, "8.0–119.0 min"),
        (0.3, 5.0, "0.3–5.0 s"),
    ],
)
def test_a_wide_interval_keeps_the_digits_of_its_lower_end(
    low: float, high: float, shown: str
) -> None:
    """7.2 s to 3m 18s read "0.1 to 3.3 min", and 35 to 169 s stood beside a time of 1m 17s."""
    assert span(low, high, to="–") == shown
    assert len(shown) <= SPAN_CELLS


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.0000677, "<$0.001"),
        (0.00935, "$0.0094"),
        (0.0123, "$0.0123"),
        (999.99, "$999.99"),
        (1234.56, "$1,235"),
        (99_999.7, "$100k"),
        (1_234_567.0, "$1.235M"),
        (999_600_000.0, "$999.6M"),
        (5e12, "$5T"),
    ],
)
def test_an_amount_in_a_table_is_never_cut(value: float | None, shown: str) -> None:
    """$1234.56 stood in its column as "$1234.…", and $0.00935 as "$0.009…"."""
    assert usd_cell(value) == shown


@pytest.mark.parametrize("power", range(-8, 15))
@pytest.mark.parametrize("digits", [1.0, 1.2345678, 9.4949, 9.9949, 9.99951])
def test_amounts_and_spans_fit_their_columns(power: int, digits: float) -> None:
    value = digits * 10.0**power
    assert len(usd_cell(value)) <= USD_CELLS
    assert len(usd_span(value, 3.0 * value)) <= USD_SPAN_CELLS


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (2.1, 3.4, "$2.10–$3.40"), (0.25, 0.25, "$0.25"), (None, None, "–"), (1.0, None, "–"),
        (0.00912, 0.01764, "$0.0091–$0.018"), (0.0101, 0.01764, "$0.0101–$0.0176"),
        (0.00912, 1.764, "$0.0091–$1.76"), (0.0004, 0.01764, "<$0.001–$0.018"),
    ],
)  # fmt: skip
def test_what_a_cost_lies_between_in_a_cell(
    low: float | None, high: float | None, says: str
) -> None:
    """ "$0.0091 to $0.0176": one end in two figures, the other in three."""
    assert usd_span(low, high) == says
    wide = usd_range(low, high)
    assert wide.split(" to ") == (
        ["–"] if says == "–" else list(dict.fromkeys(map(usd, (low, high))))
    )
    assert len(usd_span(1234.0, 9999.5)) <= USD_SPAN_CELLS


def test_one_node_is_no_nodes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    table.write_text("nodes,input_size,seconds\n1,1GB,10\n2,1GB,6\n4,1GB,4\n")
    assert (
        run(capsys, f"predict {table} --nodes 1")[0]
        .splitlines()[0]
        .endswith("on 1 node like those measured")
    )
    (row,) = [
        row
        for row in run(capsys, f"predict {table} --nodes 2 --all-models")[0].splitlines()
        if row.startswith("runs.csv:2")
    ]
    assert row.split()[1:3] == ["1", "node"]
    out, _ = run(capsys, f"export {LOG} --deadline 45m --max-nodes 1 --to markdown")
    assert "at most 1 node\n" in out


def test_columns_stay_aligned_behind_names_in_any_script():
    """A wide character takes two cells, a combining one none."""
    names = ["nightly", "日次集計", "cafe\u0301", "1 × m5"]
    shown = table([(name, "x") for name in names]).splitlines()
    assert {cell_len(line) for line in shown} == {len("日次集計") * 2 + len("  x")}


def test_what_is_larger_than_a_number_can_be_is_not_shown():
    """Such is the upper end of an interval of few runs at a confidence near certainty."""
    assert text.span(3.0, math.inf) == "no interval"
    assert text.seconds(math.inf) == text.usd(math.inf) == text.UNKNOWN
    assert text.usd_range(0.5, math.inf) == text.UNKNOWN
    assert text.usd_interval(0.5, math.inf) == ""


def test_an_error_that_rounds_to_nothing_has_no_sign() -> None:
    shown = [text.signed_percent(share) for share in (-0.004, 0.0, 0.004, -0.016, 0.254)]
    assert shown == ["0 %", "0 %", "0 %", "-2 %", "+25 %"]
