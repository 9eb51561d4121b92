"""Errors: what is wrong, where, what to do, and the valid choices.

Every error that a user can cause or meet is an `EngineError`; its text is one line. The command's
exit code belongs to the class, so no caller maps errors to codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from types import UnionType


class EngineError(Exception):
    """A failure that ends in one line: what happened, where, what to do.

    Args:
        what: what is wrong, without a full stop.
        where: the place: a file, `file:line`, a key, a URL.
        remedy: what the user can do about it.
        choices: the valid values, where there is a closed list of them.
    """

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        remedy: str | None = None,
        choices: Sequence[str] = (),
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy
        self.choices = tuple(choices)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.remedy:
            text += f"; {self.remedy}"
        if self.choices:
            text += f" (choices: {', '.join(self.choices)})"
        return " ".join(map(_shortened, text.split()))


LONGEST_WORD = 400
"""Characters of a word in a message: a longer one is no path, but a corrupt cell or line."""


def _shortened(word: str) -> str:
    """A word as a message shows it."""
    return word if len(word) <= LONGEST_WORD else f"{word[:60]}…{word[-20:]}"


class BadInput(EngineError):
    """Something given by the user cannot be used: a file, a value, an option."""


class BudgetTooSmall(BadInput):
    """A budget too small for runs that serve their purpose.

    Args:
        least: the cost of the cheapest such runs, in the budget's unit.
    """

    def __init__(self, what: str, *, least: float, remedy: str | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.least = least


class UnknownName(BadInput):
    """A name that is not in a closed list: offers close matches, and a short list whole.

    Args:
        remedy: where to find the valid names, given when nothing is close.
        alike: whether similar names mean different things (regions): a short list is then shown
            whole, without a guess.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        where: str | None = None,
        remedy: str | None = None,
        alike: bool = False,
    ) -> None:
        names = sorted(known)
        long = len(names) > LISTED_CHOICES or len(", ".join(names)) > LISTED_CHARACTERS
        close = _close(name, names) if long or not alike else []
        if close:
            remedy = f"did you mean {' or '.join(close)}?"
        listed = () if long else names
        super().__init__(f"unknown {kind} {name!r}", where=where, remedy=remedy, choices=listed)
        self.name = name
        self.close = tuple(close)


class UnknownType(UnknownName):
    """A type that a catalog lacks, or a pattern that none of its types matches. Args and attributes
    as `UnknownName`, and:

    Args:
        catalog: the name of the catalog that was searched.
        elsewhere: what one writes before the name of another catalog that has it, such as
            "--catalog "; None where it would be of no use.
    """

    def __init__(
        self,
        name: str,
        known: Iterable[str],
        *,
        catalog: str,
        kind: str = "instance type",
        remedy: str | None = None,
        elsewhere: str | None = "--catalog ",
    ) -> None:
        super().__init__(kind, name, known, where=f"catalog {catalog}", remedy=remedy)
        self.catalog = catalog
        self.elsewhere = elsewhere


def _close(name: str, names: Sequence[str]) -> list[str]:
    """The names that a wrong one may mean; only that one if it differs just in capitals."""
    as_known = {known.casefold(): known for known in names}
    folded = name.casefold()
    if folded in as_known:
        return [as_known[folded]]
    return [as_known[key] for key in get_close_matches(folded, as_known, n=3, cutoff=0.6)]


class ModelDoesNotFit(BadInput):
    """A model that cannot be fitted to this evidence; other models may still answer."""


class TooFewRuns(ModelDoesNotFit):
    """Too few runs of a kind for the model; its remedy is never None."""


class ServiceUnavailable(EngineError):
    """A required service did not answer: a history server, a store."""

    exit_code = 3


LISTED_CHOICES = 24
"""A longer list of choices is not printed in an error: it would hide the message."""

LISTED_CHARACTERS = 240
"""Nor is one of more than three terminal lines."""


def require_kind(
    value: object, kind: type | UnionType, what: str, *, remedy: str | None = None
) -> None:
    """Refuses a value of the wrong kind here, instead of failing later.

    Args:
        what: what is needed, with its article.

    Raises:
        BadInput: for anything that is no `kind`.
    """
    if not isinstance(value, kind):
        short = value is None or isinstance(value, str | int | float)
        given = repr(value) if short else type(value).__name__
        raise BadInput(f"{what} is needed, not {given}", remedy=remedy)
