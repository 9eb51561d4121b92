"""Limits as text: "own m5.xlarge=10, limit c5.*=20, max-vcpus 512, min-nodes 3".

The same words are typed commands, the line of the dialog, and the display in the Inputs panel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import engine
from tui.state import NO_LIMITS, Limits

OFF = frozenset({"off", "none", "-"})


class Clause(NamedTuple):
    """One kind of limit: its word, its argument, what it does, and the field that it sets."""

    word: str
    takes: str
    what: str
    field: str


CLAUSES = (
    Clause("own", "TYPE=N", "nodes paid for already; N = off forgets them", "owned"),
    Clause("own-master", "on", "the master is of the owned nodes' cluster", "owned_master"),
    Clause("limit", "GLOB=N", "at most N nodes of these types together", "most"),
    Clause("max-vcpus", "N", "quota of vCPUs over all workers", "max_vcpus"),
    Clause("min-nodes", "N", "at least N workers", "min_nodes"),
    Clause("exclude", "GLOB ...", "types that are not rented", "exclude"),
    Clause("max-spot", "SHARE", "with spot prices on: share of the nodes at most", "max_spot"),
    Clause("dynamic-allocation", "MIN:MAX", "fewest and most executors", "executors"),
    Clause("arch", "x86_64|arm64", "architecture; otherwise that of the measured types", "arch"),
)

_BY_WORD = {clause.word: clause for clause in CLAUSES}


def with_clause(limits: Limits, word: str, typed: str) -> Limits:
    """The limits after one clause; "off" removes that kind of limit.

    Raises:
        BadInput: for an argument without meaning, or a master of owned nodes where none is owned.
    """
    after = _after_clause(limits, word, typed)
    check_owned_master(after.owned_master, after.owned)
    return after


def _after_clause(limits: Limits, word: str, typed: str) -> Limits:
    """As `with_clause`, but a master may go before the nodes that it is of."""
    clause, typed = _BY_WORD[word], typed.strip()
    if not typed:
        raise engine.BadInput(f"{word} needs {clause.takes}", remedy=f"or {word} off")
    value: Any = getattr(NO_LIMITS, clause.field) if typed in OFF else _READ[word](limits, typed)
    after = limits._replace(**{clause.field: value})
    if word == "own" and not after.owned:  # the master goes with the last of them
        after = after._replace(owned_master=False)
    engine.Limits(**after._asdict())
    return after


def check_owned_master(owned_master: bool, owned: Sequence[object], *, dashes: str = "") -> None:
    """Raises BadInput for a master of owned nodes where none is owned.

    Args:
        dashes: what goes before a word where it is typed.
    """
    if owned_master and not owned:
        raise engine.BadInput(
            "no nodes are owned",
            where=f"{dashes}own-master",
            remedy=f"leave it out, or add {dashes}own TYPE=N",
        )


def parse_limits(line: str) -> Limits:
    """The limits that a whole line states; none for an empty one.

    Raises:
        BadInput: for an unknown word, an argument without meaning, or a master of owned nodes where
            none is owned.
    """
    stated = reduce(_with_part, (part for part in line.split(",") if part.strip()), NO_LIMITS)
    check_owned_master(stated.owned_master, stated.owned)
    return stated


def _with_part(limits: Limits, part: str) -> Limits:
    word, _, typed = part.strip().partition(" ")
    if word not in _BY_WORD:
        raise engine.UnknownName("limit", word, tuple(_BY_WORD))
    return _after_clause(limits, word, typed)


def line_of(limits: Limits) -> str:
    """The line that states these limits; "" for none."""
    parts = [f"own {name}={nodes}" for name, nodes in limits.owned]
    parts += ["own-master on"] * limits.owned_master
    parts += [f"limit {glob}={nodes}" for glob, nodes in limits.most]
    if limits.max_vcpus is not None:
        parts.append(f"max-vcpus {limits.max_vcpus:g}")
    if limits.min_nodes > 1:
        parts.append(f"min-nodes {limits.min_nodes}")
    if limits.exclude:
        parts.append(f"exclude {' '.join(limits.exclude)}")
    if limits.max_spot is not None:
        parts.append(f"max-spot {100.0 * limits.max_spot:.10g}%")
    if limits.executors is not None:
        parts.append(f"dynamic-allocation {limits.executors[0]}:{limits.executors[1]}")
    if limits.arch is not None:
        parts.append(f"arch {limits.arch}")
    return ", ".join(parts)


def without_effect(limits: Limits, *, spot: bool) -> str:
    """Why a limit that is set has no effect; "" where all have one. A share of spot nodes has none
    at prices on demand."""
    if limits.max_spot is None or spot:
        return ""
    only_share = line_of(NO_LIMITS._replace(max_spot=limits.max_spot))
    return f"{only_share} has no effect at prices on demand; :spot on asks for spot prices"


def parse_executors(text: str) -> tuple[int, int]:
    """ "2:40" as the bounds of dynamic allocation."""
    ends = [part.strip() for part in text.split(":")]
    whole = len(ends) == 2 and all(end.isascii() and end.isdigit() for end in ends)
    fewest, most = map(int, ends) if whole else (0, 0)
    if not fewest <= most >= 1:
        raise engine.BadInput(
            f"{text!r} is no range of executors",
            remedy="write MIN:MAX, like 2:40: MAX is at least 1 and at least MIN",
        )
    return fewest, most


def parse_type_count(text: str, option: str, *, least: int = 1) -> tuple[str, int]:
    """ "m5.xlarge=10" as a type (or glob) and a number of nodes."""
    name, equals, number = (part.strip() for part in text.partition("="))
    if not name or not equals or not number.isascii() or not number.isdigit():
        raise engine.BadInput(
            f"{text!r} is not TYPE=N", where=option, remedy=f"write {option} m5.xlarge=10"
        )
    if int(number) < least:
        raise engine.BadInput(
            f"{text!r} has too few nodes",
            where=option,
            remedy=f"give at least {least}, or leave {name} out",
        )
    return name, int(number)


def _counts(
    entries: tuple[tuple[str, int], ...], word: str, typed: str, *, least: int
) -> tuple[tuple[str, int], ...]:
    """The entries, with those of "a=1 b=2" in place of older ones of the same name."""
    counts = dict(entries)
    for part in typed.split():
        name, _, number = part.partition("=")
        if number in OFF:
            counts.pop(name, None)
        else:
            name, nodes = parse_type_count(part, word, least=least)
            counts[name] = nodes
    return tuple(counts.items())


def _whole(typed: str, word: str) -> int:
    if not (typed.isascii() and typed.isdigit()) or int(typed) < 1:
        raise engine.BadInput(f"{word}: {typed!r} is not a whole number of at least 1")
    return int(typed)


def _is_on(typed: str) -> bool:
    if typed != "on":
        raise engine.BadInput(f"own-master: {typed!r} is neither on nor off")
    return True


def _united(globs: tuple[str, ...], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*globs, *others)))


_READ: dict[str, Callable[[Limits, str], Any]] = {
    "own": lambda limits, typed: _counts(limits.owned, "own", typed, least=1),
    "limit": lambda limits, typed: _counts(limits.most, "limit", typed, least=0),
    "own-master": lambda limits, typed: _is_on(typed),
    "max-vcpus": lambda limits, typed: float(_whole(typed, "max-vcpus")),
    "min-nodes": lambda limits, typed: _whole(typed, "min-nodes"),
    "exclude": lambda limits, typed: _united(limits.exclude, typed.replace(",", " ").split()),
    "max-spot": lambda limits, typed: round(
        engine.parse_fraction(typed, where="max-spot", ends=True), 9
    ),
    "dynamic-allocation": lambda limits, typed: parse_executors(typed),
    "arch": lambda limits, typed: typed,
}
