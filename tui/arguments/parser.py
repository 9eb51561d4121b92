"""The parser of every command line: an error is reported in one line."""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise, takewhile
from typing import Any

import engine
from tui.arguments import sections

_NEGATIVE = re.compile(r"-(?:\$[\d.,]+|[\d.,]+[a-zA-Z$%])")
_DASHES_AS_VALUE = re.compile(r"(--[^=]+(?==)|-[a-zA-Z])=?--")
_VALUE_FORMS = (re.compile(r"[^=]+=[^=]+"), re.compile(r"[\d.,]+%?"), re.compile(r".*\*.*"))
"""Forms of values that are distinguished from sources: "k=10", "0.1", "m5.*"."""

REQUIRED = "the following arguments are required: "

NO_SOURCE = f"{REQUIRED}SOURCE"
"""What argparse says of a command without any source."""

_UNIT = re.compile(
    r"[\d.]*(?:[kmgtp]i?b?|b|ms|s|secs?|seconds?|min|minutes?|h|hours?|d|days?|usd|%|x)\Z",
    re.IGNORECASE,
)
"""What a blank may cut off a quantity: "GB", "m", "30m"."""

MIN_SIMILARITY = 0.75
"""Similarity from which an unknown option is taken for a misspelt one."""

MOST_HOMES = 4
"""An option of more commands is so common that naming them says nothing."""


class OneLineParser(argparse.ArgumentParser):
    """Bad usage is one line and exit code 2, like every other bad input.

    Args:
        commands_with: the commands that have an option, for one that this command lacks.
    """

    _given: Sequence[str] = ()

    def __init__(
        self, *, commands_with: Callable[[str], Sequence[str]] | None = None, **settings: Any
    ) -> None:
        super().__init__(formatter_class=sections.Help, **settings)
        self._commands_with = commands_with

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse options with an empty value, such as an unset shell variable, which would have no
        effect; and values that argparse takes for options or sources."""
        self._given = () if args is None else tuple(args)
        self._refuse_cut_values()
        flags = {name for each in self._actions if each.nargs == 0 for name in each.option_strings}
        for word in takewhile(lambda each: each != "--", self._given):
            _refuse_dashes(word)
        for before, word in pairwise(["", *self._given]):
            _refuse_empty(before, word, flags)
            _refuse_negative(before, word, flags)
        return super().parse_known_args(args, namespace)

    def _refuse_cut_values(self) -> None:
        """Refuse a value whose second word, behind a blank, has the same form."""
        for option, value, words in self._values_cut_by_blanks():
            if any(kind.fullmatch(value) and kind.fullmatch(words[0]) for kind in _VALUE_FORMS):
                raise engine.BadInput(
                    f"a blank cuts off {words[0]!r}",
                    where=option.option_strings[0],
                    remedy=_joined_form(option, value, words),
                )

    def error(self, message: str) -> Any:
        """Name the argument of an error like other errors do; argparse says "argument --deadline:
        ..."."""
        help_of = f"see {self.prog} --help"
        named, colon, what = message.removeprefix("argument ").partition(": ")
        if message.startswith("argument ") and colon:
            raise engine.BadInput(what, where=named, remedy=help_of)
        if message == NO_SOURCE:
            help_of = f"name an event log, or - for standard input; {help_of}"
        missing = self._action_of(message.removeprefix(REQUIRED))
        if missing is not None and missing.help and missing.option_strings:
            help_of = f"it is {missing.help}; {help_of}"
        meant = self._hint(message)
        raise engine.BadInput(message, remedy=f"{meant}{help_of}")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print --help and --version; argparse ignores that the stream cannot be written.

        Raises:
            OSError: where the stream takes nothing more.
        """
        stream = sys.stderr if file is None else file
        stream.write(message)
        stream.flush()

    def _hint(self, message: str) -> str:
        """A hint at the correct form: options similar to the first unknown one ("did you mean
        --instances? "), a unit behind its number, or sources before the options."""
        for name, value, word in zip(self._given, self._given[1:], self._given[2:], strict=False):
            is_first = f"{message} ".startswith(f"unrecognized arguments: {word} ")
            if is_first and self._is_cut_quantity(name, value, word):
                return f"write {name} {value}{word}; "
        for option, value, words in self._values_cut_by_blanks():
            first = f"{message} ".startswith(f"unrecognized arguments: {words[0]} ")
            samples = {sample.name for sample in engine.list_samples()} if first else set()
            if first and _separator(option) == "," and words[0] not in samples:
                return f"{_joined_form(option, value, words)}; "
        takes_sources = any(
            each.nargs in ("*", "+") for each in self._actions if not each.option_strings
        )
        if takes_sources and re.match(r"unrecognized arguments: [^-]", message):
            return "all sources stand before the options; "  # argparse takes one group of them
        return self._hint_at_option(message)

    def _hint_at_option(self, message: str) -> str:
        """Options similar to the first unknown one, else the commands that have it."""
        known = [name for each in self._actions for name in each.option_strings]
        unknown = re.search(r"(?<=^unrecognized arguments: )--[a-z-]+", message)
        if unknown is None:
            return ""
        similar = get_close_matches(unknown[0], known, cutoff=MIN_SIMILARITY)
        if similar:
            return f"did you mean {' or '.join(similar)}? "
        homes = self._commands_with(unknown[0]) if self._commands_with else ()
        if not 0 < len(homes) <= MOST_HOMES:
            return ""
        named = " and ".join(filter(None, (", ".join(homes[:-1]), homes[-1])))
        return f"{unknown[0]} is an option of sparkplan {named}; "

    def has_option(self, name: str) -> bool:
        return self._action_of(name) is not None

    def _action_of(self, option: str) -> argparse.Action | None:
        return next((each for each in self._actions if option in each.option_strings), None)

    def _is_cut_quantity(self, name: str, value: str, word: str) -> bool:
        """Whether a blank cut the unit off an option's value, or its second part ("1h 30m")."""
        option = self._action_of(name)
        if option is None or not value[:1].isdecimal() or not _UNIT.match(word):
            return False
        if value[-1:].isdecimal() and not word[:1].isalpha() and word != "%":
            return False  # "3 48GB" is no quantity in two parts
        try:
            if callable(option.type):
                option.type(f"{value}{word}")
        except (argparse.ArgumentTypeError, ValueError):
            return False
        return True

    def _values_cut_by_blanks(self) -> Iterator[tuple[argparse.Action, str, list[str]]]:
        """(option, its value, the words behind it) where the option takes several values and the
        first word is no file, address or glob of files: such values are often written with blanks
        between them. More words than one where commas join them."""
        several = {
            name: each for each in self._actions if _separator(each) for name in each.option_strings
        }
        for at, (name, value, word) in enumerate(
            zip(self._given, self._given[1:], self._given[2:], strict=False), start=2
        ):
            source = word.startswith("-") or "/" in word or os.path.exists(word)
            source = source or _is_glob_of_no_type(word.partition("=")[0])
            if name in several and not source:
                yield several[name], value, _joined_by_commas(self._given[at:])


def _is_glob_of_no_type(word: str) -> bool:
    """Whether it is a pattern that matched no file in the shell and no type of a bundled catalog:
    it was meant for files."""
    if "*" not in word:
        return False
    catalogs = (engine.load_catalog(entry.path) for entry in engine.list_catalogs())
    return not any(fnmatch.filter(catalog.offers, word) for catalog in catalogs)


def _separator(option: argparse.Action) -> str:
    """Separator between several values of an option: a comma, or the option once more; "" where it
    takes one value."""
    if isinstance(option.default, list):
        return f" {option.option_strings[0]} "
    return "," if str(option.metavar).endswith(",...") else ""


def _joined_by_commas(words: Sequence[str]) -> list[str]:
    """The first word, and those that commas join to it: "," and "b" of "a , b"."""
    joined = list(words[:1])
    for before, word in pairwise(words):
        if word.startswith("-") or not (before.endswith(",") or word.startswith(",")):
            break
        joined.append(word)
    return joined


def _refuse_empty(before: str, word: str, flags: Collection[str]) -> None:
    """Refuse an empty value, of `--name=` or of the option `before` it; flags have no value."""
    name, equals, value = word.partition("=")
    if not word.startswith("--"):
        name, equals, value = before, "=" if before.startswith("--") else "", word
    if equals and "=" not in name and name not in flags and not value.strip():
        raise engine.BadInput("is empty", where=name, remedy="give it a value, or leave it out")


def _refuse_dashes(word: str) -> None:
    """Refuse two dashes as a value: argparse would drop them, and hand on an empty list."""
    if dashes := _DASHES_AS_VALUE.fullmatch(word):
        raise engine.BadInput("'--' is no value", where=dashes[1], remedy="give it another value")


def _refuse_negative(before: str, word: str, flags: Collection[str]) -> None:
    """Refuse a value less than zero: argparse would take it for an option, and report that a value
    is missing."""
    given = before.startswith("--") and before != "--" and before not in flags
    if given and "=" not in before and _NEGATIVE.match(word):
        raise engine.BadInput(
            f"{word!r} is less than zero", where=before, remedy="give it a larger value"
        )


def _joined_form(option: argparse.Action, value: str, words: Sequence[str]) -> str:
    separator, parts = _separator(option), [value, words[0]]
    if separator == ",":
        parts = [part for word in (value, *words) for part in word.split(",") if part]
    return f"write {option.option_strings[0]} {separator.join(parts)}"
