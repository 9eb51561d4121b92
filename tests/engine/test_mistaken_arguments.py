"""Values of a wrong kind in calls from Python: each is refused in one line where it is given."""

import math
from collections.abc import Callable
from typing import Any

import pytest

import engine


def fitted() -> engine.FittedModel:
    return engine.fit(engine.read("sort-small", ran_on="m5.xlarge"))


def cluster() -> engine.Cluster:
    catalog = engine.load_catalog("aws")
    return engine.Cluster.of_nodes(instance_type="m5.xlarge", nodes=2, catalog=catalog)


def exported(part_of: Callable[[engine.Recommendation], Any]) -> str:
    """An export of what `part_of` makes of a recommendation."""
    model, catalog = fitted(), engine.load_catalog("aws")
    best = engine.recommend(model, catalog=catalog, deadline_seconds=300.0, max_nodes=2)
    return engine.export(part_of(best), to="emr", profile=model.profile, catalog=catalog)


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a list of sources": (
        lambda: engine.read(["sort-small", "sort-large"]),
        "the path or name of a source is needed, not list; give several apart: "
        "engine.read(*sources)",
    ),
    "a deadline as text": (
        lambda: fitted().predict(cluster=cluster()).p_within("60s"),
        "a deadline must be a number of seconds more than zero, not '60s'; engine.parse_seconds "
        "makes one of a text",
    ),
    "a deadline below zero": (
        lambda: fitted().predict(cluster=cluster()).p_within(-1.0),
        "a deadline must be a number of seconds more than zero, not -1.0; engine.parse_seconds "
        "makes one of a text",
    ),
    "a time below zero": (
        lambda: engine.cost_of(cluster(), -5.0, fitted().profile),
        "a time must be at least zero, not -5 s",
    ),
    "a choice for a recommendation": (
        lambda: exported(lambda best: best.recommended),
        "a recommendation is needed, not Choice; give what engine.recommend returned, whole; one "
        "of its choices is `choice`",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_said_where_they_are_made(mistake: str) -> None:
    call, said = MISTAKES[mistake]
    with pytest.raises(engine.BadInput) as refused:
        call()
    assert str(refused.value) == said


def test_what_is_not_known_is_none_and_no_mistake() -> None:
    model = fitted()
    assert engine.cost_of(cluster(), None, model.profile) is None
    assert engine.cost_of(cluster(), math.nan, model.profile) is None
    assert model.predict(cluster=cluster()).p_within(math.inf) == 1.0
    assert exported(lambda best: best)
