"""Untrusted text, cell widths and the choice of characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.widgets.glyphs import ASCII, BLOCKS, UNICODE, choose_glyphs
from tui.widgets.text import cells, cut_alike, fit, fit_ends, plain, units


@pytest.mark.parametrize(
    ("text", "unicode", "ascii_only"),
    [
        ("[red]x[/]", "[red]x[/]", "[red]x[/]"),
        ("a\x1b[31mb", "a␛[31mb", "a^[[31mb"),
        ("tab\tnew\nline", "tab␉new␊line", "tab^Inew^Jline"),
        ("\x7f\x9b", "␡\\x9b", "^?\\x9b"),
        ("over\u202eride", "over\\u202eride", "over\\u202eride"),
        ("14 × café – 41 min", "14 × café – 41 min", "14 x cafe - 41 min"),
        ("\ud800", "\\ud800", "\\ud800"),
        ("名前", "名前", "\\u540d\\u524d"),
        ("cafe\u0301", "cafe\u0301", "cafe"),
        ("Straße Øre Łódź ılık", "Straße Øre Łódź ılık", "Strasse Ore Lodz ilik"),
        ("⚠\ufe0f plan", "⚠\ufe0f plan", "! plan"),
        ("📊 plan", "📊 plan", "\\U0001f4ca plan"),
    ],
)
def test_plain(text, unicode, ascii_only):
    assert plain(text) == unicode
    assert plain(text, ascii_only=True) == ascii_only


@given(st.text())
def test_plain_text_is_printable_and_stays_so(text):
    shown = plain(text)
    assert all(ord(character) >= 0x20 and character != "\x7f" for character in shown)
    assert plain(shown) == shown
    assert plain(text, ascii_only=True).isascii()


@given(st.text(), st.integers(0, 30), st.sampled_from(["left", "right", "center"]))
def test_fit_gives_exactly_the_width(text, width, align):
    assert cell_len(fit(plain(text), width, align=align)) == width


@given(st.text())
def test_cells_are_as_many_as_the_text_is_wide(text):
    text = plain("x" + text)
    assert len(cells(text)) == cell_len(text)
    assert "".join(cells(text)) == text


def test_fit_marks_a_cut():
    assert fit("r5.2xlarge", 6) == "r5.2x…"
    assert fit("名前名前", 6) == "名前… "


@pytest.mark.parametrize(
    ("name", "stands"),
    [("名前", "\\u540d\\u524d"), ("a\x07\x07", "a^G^G"), ("\x9b\x9b", "\\x9b\\x9b")],
)
def test_no_code_of_a_character_is_cut(name, stands):
    """Half of a code is the code of nothing, or of another sign."""
    shown = plain(name * 4, ascii_only=True)
    assert shown == stands * 4
    whole = [unit for unit, _ in units(shown)]
    assert "".join(whole) == shown
    assert len(whole) == 4 * len(name)
    for width in range(1, len(shown)):
        cut = fit(shown, width, ellipsis="~").rstrip()
        assert cut == "".join(whole[: len(list(units(cut))) - 1]) + "~"
        head, _, tail = fit_ends(shown, width, ellipsis="~").rstrip().partition("~")
        assert "".join(whole[: len(list(units(head)))]) == head
        assert "".join(whole[len(whole) - len(list(units(tail))) :]) == tail


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LANG": "en_US.UTF-8"}, UNICODE),
        ({"LANG": "C.UTF-8"}, UNICODE),
        ({"LC_CTYPE": "UTF-8"}, UNICODE),
        ({"LANG": "C"}, ASCII),
        ({}, ASCII),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, ASCII),  # set by Python itself, not by the user
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, ASCII),
        ({"LANG": "C", "LC_ALL": "de_DE.utf8"}, UNICODE),
        ({"LANG": "de_DE.ISO-8859-1"}, ASCII),
        ({"LANG": "C.UTF-8", "TERM": "linux"}, BLOCKS),
    ],
)
def test_glyphs_follow_the_locale(environ, expected):
    assert choose_glyphs("auto", environ) is expected


def test_an_explicit_choice_wins():
    assert choose_glyphs("ascii", {"LANG": "C.UTF-8"}) is ASCII
    assert choose_glyphs("unicode", {"LANG": "C"}) is UNICODE


@pytest.mark.parametrize("glyphs", [UNICODE, BLOCKS, ASCII])
def test_glyphs_are_one_cell_wide(glyphs):
    shown = {key: value for key, value in glyphs._asdict().items() if key not in ("name", "dots")}
    texts = [value for value in shown.values() if isinstance(value, str)]
    assert all(cell_len(text) == 1 for text in texts)
    assert glyphs.ascii_only == all(text.isascii() for text in texts)


@pytest.mark.parametrize("width", [1, 5, 8, 12, 17, 60])
@pytest.mark.parametrize("said", ["application_1700000000000_0042", "漢字" * 8])
def test_both_ends_of_a_cut_text_fill_exactly_the_width(said, width):
    assert cell_len(fit_ends(said, width)) == width


def test_a_text_cut_in_the_middle_shows_how_it_ends():
    assert fit_ends("application_1700000000000_0042", 17) == "applicat…000_0042"
    assert fit_ends("short", 8) == "short   "
    # The cell that is left of a wide character stands behind the text, not in its middle.
    assert fit_ends("夜間バッチ売上集計", 10) == "夜間…集計 "


def test_only_different_texts_that_are_cut_to_the_same_are_alike():
    names = ["application_0042", "application_0043", "application_0043", "other_application"]
    assert cut_alike(names, 12) == {"application_0042", "application_0043"}
    assert cut_alike(names, 16) == frozenset()
