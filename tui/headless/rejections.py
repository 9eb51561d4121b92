"""Why the types that were not recommended lost, as text."""

from __future__ import annotations

from collections.abc import Sequence

import engine

ALIKE = 3
"""Rejections of one reason that are printed one by one, and types that a line names of more."""


def rejected_lines(rejected: Sequence[engine.Rejected]) -> list[str]:
    """Why the others lost: the nearest miss of each reason, and how many lost for the same one.
    Few of one reason have a line each: there the differences tell."""
    by_reason: dict[tuple[str, str], list[engine.Rejected]] = {}
    for miss in rejected:
        reason = "" if miss.composition else miss.reason  # how far a composition misses differs
        by_reason.setdefault((miss.code, reason), []).append(miss)
    lines = [f"rejected ({len(rejected)})"]
    for alike in by_reason.values():
        shown = alike if len(alike) <= ALIKE else alike[:1]
        lines += [
            f"  {miss.instance}: {miss.reason}" if miss.instance else f"  {miss.reason}"
            for miss in shown
        ]
        if others := [miss.instance for miss in alike[len(shown) :]]:
            named = ", ".join(others[:ALIKE])
            more = len(others) - ALIKE
            all_others = f"{named} and {more:,} more (--json lists them)" if more > 0 else named
            nearer = ", none nearer" if alike[0].code in ("deadline", "budget") else ""
            lines.append(f"  likewise {len(others):,} other types{nearer}: {all_others}")
    return lines
