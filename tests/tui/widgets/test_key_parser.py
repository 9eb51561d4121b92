"""Keys that arrive together, as they do on a slow line."""

import pytest
from textual import events

from tui.widgets.lean_driver import KeyParser


def told(*chunks, waited=False, **options):
    """The keys (or kinds of event) that chunks of input make; with `waited` the parser gave up
    waiting for more between them."""
    parser, found = KeyParser(**options), []
    for chunk in chunks:
        found += parser.feed(chunk)
        if waited and parser._timeout_time is not None:
            parser._timeout_time = 0.0
            found += parser.tick()
    parser._timeout_time = 0.0 if parser._timeout_time is not None else None
    found += parser.tick()
    return [one.key if isinstance(one, events.Key) else type(one).__name__ for one in found]


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("\x1be", ["escape", "e"]),
        ("\x1b2", ["escape", "2"]),
        ("\x1b:to\r", ["escape", "colon", "t", "o", "enter"]),
        ("\x1b2\x1b3\x1b", ["escape", "2", "escape", "3", "escape"]),
        ("\x1b\x1be", ["escape", "escape", "e"]),
        ("o\x1b\r", ["o", "escape", "enter"]),
        ("\x1b[<35;3;4M\x1bq", ["MouseMove", "escape", "q"]),
    ],
)
def test_an_escape_and_the_key_that_comes_with_it_are_two(typed, keys):
    """Textual makes "alt+e", a trade mark sign, or a circumflex of them."""
    assert told(typed) == keys


@pytest.mark.parametrize("waited", [False, True])
def test_it_is_told_once_whether_the_next_key_comes_soon_or_late(waited):
    assert told("\x1b", "2", waited=waited) == ["escape", "2"]
    assert told("\x1b", "\x1b", "e", waited=waited) == ["escape", "escape", "e"]


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        (("\x1b[A\x1b[B",), ["up", "down"]),
        (("\x1b", "[A"), ["up"]),
        (("\x1bOP",), ["f1"]),
        (("\x1b[1;2C",), ["shift+right"]),
        (("\x1b[27u",), ["escape"]),
        (("\x1bf", "\x1bb"), ["ctrl+right", "ctrl+left"]),
        (("\x1b\x7f",), ["ctrl+w"]),
        (("\x1b[200~some text\x1b[201~x",), ["Paste", "x"]),
        (("\x1b[<0;3;4M\x1b[<0;3;4m",), ["MouseDown", "MouseUp"]),
    ],
)
def test_what_goes_on_after_an_escape_stays_one(typed, keys):
    assert told(*typed) == keys


def test_keys_with_alt_stay_where_somebody_has_bound_some():
    assert told("\x1be", alt_keys=True) == ["alt+e"]
