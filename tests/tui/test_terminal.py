"""What the environment says about the terminal, and refusing where there is none."""

import io

import pytest
from rich.color import ColorSystem
from rich.style import Style
from screen import at_rest, settled

import engine
from tui import terminal
from tui.themes import HIGH_CONTRAST


class Tty(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("term", ["dumb", "unknown", "DUMB"])
def test_a_terminal_that_cannot_draw_is_refused_with_the_command_to_use(term):
    with pytest.raises(engine.BadInput, match="sparkplan recommend") as caught:
        terminal.require_interactive({"TERM": term}, stdin=Tty(), stdout=Tty())
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("streams", [(io.StringIO(), Tty()), (Tty(), io.StringIO())])
def test_without_a_terminal_it_is_refused(streams):
    stdin, stdout = streams
    with pytest.raises(engine.BadInput, match="needs a terminal"):
        terminal.require_interactive({"TERM": "xterm"}, stdin=stdin, stdout=stdout)


def test_a_closed_stream_is_no_terminal():
    closed = Tty()
    closed.close()
    with pytest.raises(engine.BadInput, match="needs a terminal"):
        terminal.require_interactive({"TERM": "xterm"}, stdin=closed, stdout=Tty())


@pytest.mark.parametrize("term", ["xterm", "screen", "linux", "vt100", ""])
def test_sixteen_colours_take_those_of_the_terminal(term):
    terminal.require_interactive({"TERM": term}, stdin=Tty(), stdout=Tty())
    assert terminal.choose_theme({"TERM": term}) == "ansi-dark"
    assert terminal.choose_theme({"TERM": term, "COLORFGBG": "0;15"}) == "ansi-light"


@pytest.mark.parametrize(
    "environ",
    [{"TERM": "xterm-256color"}, {"TERM": "xterm", "COLORTERM": "truecolor"}, {"TERM": "foot"}],
)
def test_more_colours_take_the_full_theme(environ):
    assert terminal.choose_theme(environ) == "textual-dark"


def test_exported_sizes_do_not_stick():
    environ = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
    terminal.prepare(environ)
    assert environ == {"TERM": "xterm"}


@pytest.mark.parametrize("theme", HIGH_CONTRAST, ids=lambda theme: theme.name)
async def test_themes_of_high_contrast(planner, theme):
    """Every text is 7:1 on what it lies on, on the screen as in the theme."""
    async with at_rest(planner(theme=theme.name), (120, 40)) as (app, pilot):
        for key in "12345":
            await pilot.press(key)
            await settled(pilot)
            for strip in app.screen._compositor.render_strips():
                for text, style, _ in strip:
                    if text.strip(" ─│╭╮╰╯") and style.color is not None and not style.dim:
                        assert contrast(style) >= 7.0, (key, text, style)


@pytest.mark.parametrize("theme", ["textual-light", "textual-dark"])
async def test_themes_that_are_chosen_unasked_can_be_read(planner, theme):
    """4.5:1 (WCAG 2.2, 1.4.3), also where 256 colours are all that the terminal has. The orange of
    Textual's light theme was 2.8:1 on the header."""
    async with at_rest(planner(theme=theme), (120, 40)) as (app, pilot):
        for key in "12345":
            await pilot.press(key)
            await settled(pilot)
            strips = app.screen._compositor.render_strips()
            shown = [(text, style) for strip in strips for text, style, _ in strip]
            for colours in (ColorSystem.TRUECOLOR, ColorSystem.EIGHT_BIT):
                for text, style in shown:
                    if any(map(str.isalnum, text)) and style.color is not None:
                        kept = Style.from_color(
                            style.color.downgrade(colours), style.bgcolor.downgrade(colours)
                        )
                        assert contrast(kept) >= 4.5, (key, text, style)


@pytest.mark.parametrize("theme", ["textual-light", "textual-dark"])
async def test_what_an_empty_line_asks_for_can_be_read(planner, theme):
    """It says what may be typed; it was 2.6:1 and 3.4:1."""
    async with at_rest(planner(theme=theme), (120, 40), "o") as (app, pilot):
        await settled(pilot)
        strips = app.screen._compositor.render_strips()
        asked = [style for strip in strips for text, style, _ in strip if "folder, sample" in text]
        assert asked
        assert all(contrast(style) >= 4.5 for style in asked), asked


async def test_nothing_is_in_the_dark_blue_of_sixteen_colours(planner):
    """On black most terminals show it at 2:1 or less; it told how many cores are idle, and how far
    a slider is. The dark red of the deadline was hardly better."""
    async with at_rest(planner(theme="ansi-dark"), (120, 40)) as (app, pilot):
        await app.run_command_line("draw m5.2xlarge,r5.2xlarge,c6i.4xlarge,m5.xlarge")
        for key in "12345678":
            await pilot.press(key)
            await settled(pilot)
            for strip in app.screen._compositor.render_strips():
                for text, style, _ in strip:
                    if text.strip() and style.color is not None:
                        assert style.color.number not in (1, 4), (key, text)


def contrast(style):
    """WCAG 2.2: of the colour against what it lies on."""
    lights = sorted(light(colour.get_truecolor()) for colour in (style.color, style.bgcolor))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def light(colour):
    """Relative luminance."""
    parts = [part / 255.0 for part in colour]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
