"""Why the types that were not recommended lost, as text."""

from __future__ import annotations

from collections.abc import Sequence

import engine

ALIKE = 3
"""Rejections of one reason that are printed one by one, and types that a line names of more."""


def rejected_lines(rejected: Sequence[engine.Rejected]) -> list[str]:
    """Why the others lost: the nearest miss of each reason, and how many lost for the same one.
    Few of one reason have a line each: there the differences tell."""
    by_code: dict[str, list[engine.Rejected]] = {}
    for miss in rejected:
        by_code.setdefault(miss.code, []).append(miss)
    lines = [f"rejected ({len(rejected)})"]
    for alike in by_code.values():
        shown = alike if len(alike) <= ALIKE else alike[:1]
        lines += [
            f"  {miss.instance}: {miss.reason}" if miss.instance else f"  {miss.reason}"
            for miss in shown
        ]
        if others := [miss.instance for miss in alike[len(shown) :]]:
            named = ", ".join(others[:ALIKE])
            more = len(others) - ALIKE
            all_others = f"{named} and {more:,} more (--json lists them)" if more > 0 else named
            nearer = ", none nearer" if alike[0].composition else ""
            lines.append(f"  likewise {len(others):,} other types{nearer}: {all_others}")
    return lines
