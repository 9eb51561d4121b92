"""What is sent to the terminal has the effect of what Textual meant to send, in fewer bytes."""

import re

import pytest
from depth import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.widgets.lean_output import LeanOutput, SgrStyle, parse_sgr, transition
from tui.widgets.text import cells

RED = "\x1b[38;2;255;0;0;48;2;0;0;0m"
BOLD = "\x1b[1;38;2;255;0;0;48;2;0;0;0m"


class Terminal:
    """The least of a terminal: cells with looks, absolute and relative moves, SGR that adds up."""

    TOKEN = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[(\d*)C|\x1b\[([\d;]*)m|\x1b\[2J|\n|([^\x1b\n]+)")

    def __init__(self):
        self.cells = {}
        self.x = self.y = 0
        self.sgr = ""

    def feed(self, data):
        position = 0
        while position < len(data):
            match = self.TOKEN.match(data, position)
            assert match, data[position:]
            position = match.end()
            row, column, right, sgr, text = match.groups()
            if row:
                self.y, self.x = int(row) - 1, int(column) - 1
            elif right is not None:
                self.x += int(right or 1)
            elif sgr is not None:
                self.sgr = f"{self.sgr};{sgr or 0}"
            elif match.group() == "\x1b[2J":
                self.cells.clear()
            elif text:
                self.write(text)
            else:
                self.y += 1
        return self

    def write(self, text):
        look = parse_sgr(self.sgr.strip(";"), "")
        for character in cells(text):
            self.cells[self.y, self.x] = character, look
            self.x += 1


def visible(terminal):
    """What can be seen: the colour of the text of a blank cannot."""
    return {
        place: (character, look if character != " " else (look.background, "4" in look.attributes))
        for place, (character, look) in terminal.cells.items()
    }


def at(x, y, *runs):
    """Runs of (SGR sequence, text) as Textual writes them, each with a reset."""
    return f"\x1b[{y + 1};{x + 1}H" + "".join(f"{sgr}{text}\x1b[0m" for sgr, text in runs)


runs = st.lists(
    st.tuples(
        st.sampled_from([RED, BOLD, "\x1b[4;39;49m", "\x1b[7m", "\x1b[38;5;9m", "\x1b[31;44m"]),
        st.text(alphabet="ab  ⠒━", min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=4,
)
frames = st.lists(
    st.builds(lambda x, y, r: at(x, y, *r), st.integers(0, 12), st.integers(0, 3), runs)
)


@settings(max_examples=cases(50, deep=300))
@given(st.lists(frames, min_size=1, max_size=6))
def test_the_screen_is_the_same_and_never_needs_more(sequence):
    lean, meant, got = LeanOutput(), Terminal(), Terminal()
    for frame in sequence:
        data = "\n".join(frame)
        short = lean.rewrite(data)
        assert visible(got.feed(short)) == visible(meant.feed(data))
        assert len(short) <= len(data) + 12
    assert visible(Terminal().feed(lean.repaint()[3:])) == visible(meant)


def test_nothing_is_sent_twice():
    lean, frame = LeanOutput(), at(3, 1, (RED, "hello "), (BOLD, "world"))
    assert "hello" in lean.rewrite(frame)
    assert lean.rewrite(frame) == ""


def test_one_changed_cell():
    lean = LeanOutput()
    lean.rewrite(at(3, 1, (RED, "hello world")))
    assert lean.rewrite(at(3, 1, (RED, "hello_world"))) == (
        "\x1b[2;9H\x1b[38;2;255;0;0;48;2;0;0;0m_\x1b[m\x1b[5C"
    )


def test_the_colour_of_blanks_is_not_sent():
    lean = LeanOutput()
    lean.rewrite(at(0, 0, (RED, "   ")))
    assert lean.rewrite(at(0, 0, ("\x1b[38;2;1;2;3;48;2;0;0;0m", "   "))) == ""


def test_forgetting_sends_everything_again():
    lean, frame = LeanOutput(), at(0, 0, (RED, "hello"))
    first = lean.rewrite(frame)
    lean.forget()
    assert lean.rewrite(frame) == first


@pytest.mark.parametrize("clear", ["\x1b[2J", "\x1b[?1049h", "\x1bc"])
def test_a_cleared_screen_is_unknown(clear):
    lean, frame = LeanOutput(), at(0, 0, (RED, "hello"))
    lean.rewrite(frame)
    assert lean.rewrite(clear) == clear
    assert "hello" in lean.rewrite(frame)


@pytest.mark.parametrize(
    "sequence", ["\x1b[?2026h", "\x1b[?25l", "\x1b]52;c;aGk=\x07", "\x1b]0;title\x1b\\", "\x07"]
)
def test_other_sequences_pass_unchanged(sequence):
    assert LeanOutput().rewrite(sequence) == sequence


def test_text_outside_frames_passes_unchanged():
    assert LeanOutput().rewrite("plain text\nand more\n") == "plain text\nand more\n"


def test_links_are_kept():
    link = "\x1b]8;id=1;http://example.org\x1b\\"
    frame = f"\x1b[1;1H{link}{RED}here\x1b[0m\x1b]8;;\x1b\\ there"
    short = LeanOutput().rewrite(frame)
    assert short.index(link) < short.index("here") < short.index("\x1b]8;;\x1b\\")


def test_wide_characters_are_placed_absolutely():
    lean = LeanOutput()
    short = lean.rewrite(at(0, 0, ("", "名"), (RED, "x")))
    assert short.count("H") == 2
    assert "名" in lean.rewrite(at(0, 0, ("", "ab"))) + lean.rewrite(at(0, 0, ("", "名")))


looks = st.builds(
    SgrStyle,
    st.frozensets(st.sampled_from(["1", "2", "4", "7"])),
    st.sampled_from(["39", "31", "38;5;9", "38;2;1;2;3"]),
    st.sampled_from(["49", "44", "48;2;1;2;3"]),
    st.just(""),
)


@given(looks, looks)
def test_transitions_lead_to_the_look(old, new):
    start = ";".join([*old.attributes, old.foreground, old.background])
    change = transition(old, new).removeprefix("\x1b[").removesuffix("m")
    assert parse_sgr(f"{start};{change}" if transition(old, new) else start, "") == new


@pytest.mark.parametrize("size", [(4, 9), (9, 1)])
def test_after_a_frame_for_a_larger_terminal_nothing_is_known(size):
    """A window made smaller while the planner was suspended kept cells of the old frame."""
    lean = LeanOutput()
    lean.size = size
    lean.rewrite(at(0, 0, (RED, "abcd")))
    lean.rewrite(at(0, 1, (RED, "abcdefg")))
    again = at(0, 0, (RED, "abcd"))
    assert visible(Terminal().feed(lean.rewrite(again))) == visible(Terminal().feed(again))
