"""What other methods reached on the public run tables: rows to print below one's own."""

from __future__ import annotations

Row = tuple[str, ...]

HEADER = (
    "model", "leave-one-out", "k = 3 / 5 / 7", "extrapolation", "one count", "coverage", "together",
    "new context", "new parameters", "larger sizes", "coverage", "left out: point, 90 %",
    "10 runs: point, 90 %", "refused",
)  # fmt: skip

PUBLISHED: tuple[Row, ...] = (
    # method, leave-one-out, k = 3 / 5 / 7, extrapolation, together, new context, left out, 10 runs
    ("Ernest (c3o)", "7.8 (5.7)", "9.6 / 8.0 / 8.3", "13.0", "22.5", "29.0", "71 / 1.13", ""),
    ("Ernest, extended, relative (c3o)", "4.3 (3.1)", "5.1 / 4.0 / 4.1", "6.8", "", "", "", ""),
    ("Gaussian process, log features (c3o)", "3.3 (1.8)", "19.0 / 9.1 / 3.9", "16.5", "1.7", "2.3",
     "", "96 / 1.03"),
    ("C3O's gradient boosting (c3o)", "15.5 (5.0)", "", "", "2.9", "5.2", "", ""),
    ("C3O's selector (c3o)", "", "", "", "2.7", "", "", ""),
    ("sequential Bayesian search (c3o)", "", "", "", "", "", "", "100 / 1.01"),
    ("Ernest (scout)", "18.4 (5.3)", "19.7 / 17.4 / 8.3", "41.4", "", "", "81 / 1.13", ""),
    ("Ernest, extended, relative (scout)", "13.1 (5.4)", "13.6 / 12.0 / 7.3", "29.3", "", "", "",
     ""),
    ("Gaussian process, log features (scout)", "12.5 (6.3)", "19.9 / 10.0 / 6.7", "39.4", "", "",
     "", "81 / 1.17"),
    ("C3O's gradient boosting (scout)", "25.9 (20.1)", "", "", "", "", "", ""),
    ("sequential Bayesian search (scout)", "", "", "", "", "", "", "98 / 1.18"),
)  # fmt: skip


def reference(published: Row) -> Row:
    """A published row in the columns of `HEADER`."""
    method, left_out, few, extrapolation, joint, new, decided, ten = published
    name = f"reference: {method}"
    return (name, left_out, few, extrapolation, "", "", joint, new, "", "", "", decided, ten, "")
