"""The steps of the tour, in order.

A step is a title, a text and the actions before the text is read: a typed command (":deadline 45m")
or a key ("u"). Words in braces are filled with values of the current answer (see `facts`), in
commands with those of the answer before; so no statement becomes untrue with another model or other
prices.
"""

from __future__ import annotations

from typing import NamedTuple

MIN_PAUSE_SECONDS = 5.0
SECONDS_PER_WORD = 0.24
"""Reading aloud takes about 0.35 s a word; silent reading is faster."""


class Step(NamedTuple):
    """One step: its title, its text, and its actions."""

    title: str
    text: str
    actions: tuple[str, ...] = ()


STEPS: tuple[Step, ...] = (
    Step(
        "A job that ran once",
        "{job} took {measured} on {cluster}: that is all its event log tells. How long will it"
        " take on other clusters, what do they cost, and how sure is that? This screen answers.",
        (":view curves", ":chart time"),
    ),
    Step(
        "The answer",
        "No slower than it was: the goal is {deadline}, met in {confidence} of runs. {answer}"
        " {evaluated} compositions were compared.",
        (":deadline {as_measured}",),
    ),
    Step(
        "A tighter deadline",
        "{change} Every slider does this: the arrow keys step, enter after them takes a value.",
        (":deadline {tighter}",),
    ),
    Step(
        "More than there is",
        "{answer} The nearest miss is shown.",
        (":deadline {hopeless}",),
    ),
    Step(
        "Undo",
        "u takes any input back, ctrl+y does it again. The deadline is {deadline} once more:"
        " {answer}",
        (":undo",),
    ),
    Step(
        "How sure",
        "The deadline is now to be met in {confidence} of runs instead of {was_confidence}."
        " {change}",
        (":confidence 99%",),
    ),
    Step(
        "Three times the data",
        "And three times the deadline. {answer}",
        (":size 3x", ":deadline {tripled}", ":confidence {first_confidence}"),
    ),
    Step(
        "Spot prices",
        "The same data on spot workers. {change} What is only estimated is labelled.",
        (":pin on demand", ":spot on"),
    ),
    Step(
        "Side by side",
        "p pins a plan; this view shows the pinned ones, each against the first. The last row is"
        " the plan of now: {composition}, {cost}. Choose one, and enter goes back to it.",
        (":pin on spot", ":view compare"),
    ),
    Step(
        "Why not another type?",
        "{met} Below the best come the runners-up. {lost}",
        (":spot off", ":size 1x", ":deadline {first_deadline}", ":view compositions"),
    ),
    Step(
        "Where the time goes",
        "The run on {composition} in phases and stages, with waves and what bounds each."
        " {bottleneck}",
        (":view stages",),
    ),
    Step(
        "State by state",
        "The same run by what shares the cluster at each moment and what bounds it. A workflow file"
        " shows its jobs here, side by side.",
        (":view workflow",),
    ),
    Step(
        "What it rests on",
        "{evidence} Every assumption and every warning stands here, each with its remedy.",
        (":view evidence",),
    ),
    Step(
        "What to run next",
        "Is another run worth its price? {next_run} Below: samples of the input that teach most"
        " within a budget; y copies the line that makes them.",
        (":view experiments",),
    ),
    Step(
        "More evidence",
        "A second log of the job, {runs} now. {change} {odds} runs take {interval}; with one log"
        " it was {was_interval}.",
        (":view curves", ":add nightly-features-small"),
    ),
    Step(
        "Text to paste",
        "The recommendation for spark-submit, EMR, Dataproc, Databricks, Kubernetes, Terraform:"
        " choose one, ctrl+s saves.",
        (":export",),
    ),
    Step(
        "Now yours",
        "o opens your own event logs; : takes commands as the tour typed them; f jumps to any"
        " control; ? explains keys and words. The planner stays as it is: one more step ends"
        " the tour.",
        (":view curves",),
    ),
)


def pause_seconds(text: str) -> float:
    """How long a caption stays when the tour plays by itself."""
    return max(MIN_PAUSE_SECONDS, SECONDS_PER_WORD * len(text.split()))
