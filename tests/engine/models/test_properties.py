"""What holds for every model, whatever it is."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from depth import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import Job, Stage, observed

from engine import models
from engine.catalog import Catalog, InstanceType, Offer, Price
from engine.cluster import Cluster, Layout, NodeGroup, Workload
from engine.errors import BadInput, ModelDoesNotFit
from engine.models import MODELS, fit
from engine.models.base import FittedModel
from engine.models.model import ListedModel, Model
from engine.profile import Profile, Run

BY_NAME = {model.name: model for model in MODELS}
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)

nodes = st.integers(1, 200)
sizes = st.floats(0.05, 50.0)


SPEEDS = Catalog(
    name="speeds",
    provider="none",
    region="here",
    currency="USD",
    date=date(2020, 1, 1),
    offers={
        name: Offer(
            InstanceType(name, 4.0, 16.0, arch="x86_64", cpu_score=score),
            Price(0.2, date(2020, 1, 1), "made up"),
        )
        for name, score in (("half", 20.0), ("t", 40.0), ("quick", 60.0), ("quickest", 160.0))
    },
)
"""The measured type among others of its shape, slowest first."""


def on(count: int) -> Cluster:
    return Cluster.of_nodes(instance_type="t", nodes=count, vcpus=4.0, memory_gib=16.0)


def profile(seed: int) -> Profile:
    """12 runs of a job with serial, parallel and communication time, and noise of 5 %."""
    random = np.random.default_rng(seed)
    serial, work, tree, linear = random.uniform(0, 1, 4) * (60.0, 900.0, 10.0, 2.0)
    runs = [
        Run(
            (serial + 20.0 + work * s / n + tree * np.log(n) + linear * n)
            * float(np.exp(0.05 * random.normal())),
            on(n),
            Workload(s),
        )
        for n in (2, 4, 8, 16)
        for s in (0.5, 1.0, 2.0)
    ]
    return Profile("p", tuple(runs))


def logs(seed: int) -> Profile:
    """Logs of three sizes of a job on two nodes: stages that grow with the input, a fixed one."""
    random = np.random.default_rng(seed)
    read, merge = random.uniform(1.0, 9.0, 2)
    two_nodes = Cluster.of_nodes(
        instance_type="t", nodes=2, vcpus=4.0, memory_gib=16.0, layout=Layout(1, 4, 8.0)
    )
    runs = []
    for size in (0.5, 1.0, 2.0):
        noise = np.exp(0.05 * random.normal(size=(3, round(64 * size))))
        stages = [
            Stage(read * noise[0]),
            Stage(merge * noise[1, : round(32 * size)], (0,)),
            Stage(3.0 * noise[2, :4], (), 1),
        ]
        run = observed(stages, [Job((), 2.0), Job((0,), 1.0)], slots=8, input_bytes=size)
        runs.append(replace(run, cluster=two_nodes, source=f"log {size}"))
    return Profile("p", tuple(runs))


@cache
def evidence(model: Model, seed: int) -> Profile:
    """Run times; logs for a model that they do not fit."""
    refused = []
    for made in (profile(seed), logs(seed)):
        try:
            model.fit(made, models=BY_NAME)
        except ModelDoesNotFit as error:
            refused.append(error.what)
        else:
            return made
    return pytest.fail(
        f"{model.name} fits neither run times of 2 to 16 nodes of unknown slots ({refused[0]}) "
        f"nor logs of three sizes on two nodes ({refused[1]}): give these tests evidence for it"
    )


def test_a_model_that_fits_none_of_this_evidence_is_told_why() -> None:
    class Choosy(Model):
        name = "choosy"

        def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedModel:
            raise ModelDoesNotFit("needs a GPU" if profile.has_stages else "needs stages")

    with pytest.raises(pytest.fail.Exception, match=r"(?s)choosy .*needs stages.*needs a GPU"):
        evidence(Choosy(), 0)


def test_some_models_need_logs() -> None:
    assert {model.name for model in MODELS if evidence(model, 0).has_stages} >= {"boe", "peridot"}


FITTED: dict[tuple[str, int], FittedModel] = {}


def fitted(model: Model, seed: int) -> FittedModel:
    key = (model.name, seed)
    if key not in FITTED:
        FITTED[key] = model.fit(evidence(model, seed), models=BY_NAME)
    return FITTED[key]


@every_model
@given(seed=st.integers(0, 5), count=nodes, size=sizes)
@settings(max_examples=cases(4, deep=20), deadline=None)
def test_deterministic_finite_positive_and_inside_its_interval(
    model: Model, seed: int, count: int, size: float
) -> None:
    once = fitted(model, seed).predict(cluster=on(count), workload=Workload(size))
    again = model.fit(evidence(model, seed), models=BY_NAME).predict(
        cluster=on(count), workload=Workload(size)
    )
    assert (once.seconds, once.low, once.high) == (again.seconds, again.low, again.high)
    assert 0.0 < once.seconds < np.inf
    if once.low is not None:
        assert once.high is not None
        assert once.low <= once.seconds <= once.high


@every_model
@given(seed=st.integers(0, 5), count=nodes, size=sizes, more=st.floats(1.0, 20.0))
@settings(max_examples=cases(6, deep=40), deadline=None)
def test_more_input_is_never_faster(
    model: Model, seed: int, count: int, size: float, more: float
) -> None:
    small, large = (
        fitted(model, seed)
        .predict_many(clusters=[on(count)], workloads=[Workload(size), Workload(size * more)])
        .seconds
    )
    assert large >= small * (1.0 - 1e-9)


@every_model
@given(seed=st.integers(0, 5), count=nodes, size=sizes)
@settings(max_examples=cases(4, deep=30), deadline=None)
def test_faster_cores_are_never_slower(model: Model, seed: int, count: int, size: float) -> None:
    """Nor are slower ones faster, whatever time grows with the number of machines."""
    kinds = [
        Cluster((NodeGroup(count, offer.instance),), catalog=SPEEDS)
        for offer in SPEEDS.offers.values()
    ]
    found = fitted(model, seed).predict_many(clusters=kinds, workloads=[Workload(size)]).seconds
    assert (np.diff(found) <= 1e-9 * found[1:]).all()


@every_model
@pytest.mark.parametrize("seed", range(cases(1, deep=2)))
def test_more_input_is_never_faster_where_runs_of_sizes_hand_over(model: Model, seed: int) -> None:
    """Finely, over and beyond the sizes of the runs, far from their clusters."""
    workloads = [Workload(float(size)) for size in np.geomspace(0.1, 30.0, 60)]
    for count in (1, 32, 150):
        found = fitted(model, seed).predict_many(clusters=[on(count)], workloads=workloads)
        assert (np.diff(found.seconds) >= -1e-9 * found.seconds[1:]).all()


@every_model
@given(seed=st.integers(0, 5), counts=st.lists(nodes, min_size=2, max_size=4), size=sizes)
@settings(max_examples=cases(4, deep=15), deadline=None)
def test_many_at_once_are_the_same_as_one_by_one(
    model: Model, seed: int, counts: list[int], size: float
) -> None:
    model_fitted, workload = fitted(model, seed), Workload(size)
    many = model_fitted.predict_many(clusters=[on(n) for n in counts], workloads=[workload])
    for place, count in enumerate(counts):
        single = model_fitted.predict(cluster=on(count), workload=workload)
        assert many.seconds[place] == pytest.approx(single.seconds, rel=1e-9)
        if single.low is not None:
            assert many.low[place] == pytest.approx(single.low, rel=1e-9)


@every_model
def test_an_interval_grows_with_confidence(model: Model) -> None:
    answers = [
        fitted(model, 0).predict(cluster=on(6), confidence=confidence)
        for confidence in (0.5, 0.9, 0.99)
    ]
    widths = [
        answer.high - answer.low
        for answer in answers
        if answer.low is not None and answer.high is not None
    ]
    assert widths == sorted(widths)


def test_the_models_of_papers_and_the_default_say_where_the_time_goes() -> None:
    """So that the next test says something of each of them."""
    telling = {model.name for model in MODELS if fitted(model, 1).predict(cluster=on(6)).phases}
    assert telling >= {"sparkplan", "boe", "optex", "simcost", "ernest", "peridot"}


@every_model
def test_phases_add_up(model: Model) -> None:
    found = fitted(model, 1).predict(cluster=on(6))
    if found.phases is not None:
        assert sum(found.phases.values()) == pytest.approx(found.seconds, rel=1e-6)


@every_model
def test_sizes_in_whole_bytes_are_sizes(model: Model) -> None:
    seconds = []
    for kind in (float, int):
        runs = [
            replace(run, workload=Workload(kind(1000 * (run.workload.input_bytes or 0.0))))
            for run in evidence(model, 1).runs
        ]
        found = model.fit(Profile("p", tuple(runs)), models=BY_NAME)
        seconds.append(found.predict(cluster=on(6), workload=Workload(kind(3000))).seconds)
    assert seconds[0] == seconds[1]


@every_model
@pytest.mark.parametrize("times", [1e-300, 1e-7, 1e7, 1e300])
def test_a_size_far_from_every_run_is_refused(model: Model, times: float) -> None:
    model_fitted, far = fitted(model, 1), Workload(2.0 * times)
    with pytest.raises(BadInput, match=r"workload: '.*x' is .* times the largest run"):
        model_fitted.predict(cluster=on(4), workload=far)
    with pytest.raises(BadInput, match=r"workload: '.*x' is .* times the largest run"):
        model_fitted.predict_many(clusters=[on(4)], workloads=[far])


@every_model
def test_a_notebook_shows_a_few_lines(model: Model) -> None:
    """Not all that the runs tell, which is thousands."""
    one = fitted(model, 0)
    for shown in (one, one.profile, *one.profile.runs, one.predict(cluster=on(4))):
        assert len(repr(shown)) < 2000


@pytest.mark.parametrize("model", ["sparkplan", "boe", "simcost"])
@pytest.mark.parametrize(
    ("vcpus", "memory_gib", "why"),
    [
        (2.0, 0.5, r"\(0\.5 GiB\); name a type with more memory"),
        (0.5, 16.0, r"\(0\.5 vCPUs\); name a type with at least one vCPU"),
    ],
)
def test_a_machine_that_holds_no_executor_is_refused_and_unknown_among_many(
    model: str, vcpus: float, memory_gib: float, why: str
) -> None:
    small = Cluster.of_nodes(instance_type="small", nodes=2, vcpus=vcpus, memory_gib=memory_gib)
    found = fit(logs(0), model=model)
    with pytest.raises(BadInput, match=f"small holds no executor {why}"):
        found.predict(cluster=small)
    seconds = found.predict_many(clusters=[small, on(2)]).seconds
    assert np.isnan(seconds[0])
    assert seconds[1] > 0.0


def test_no_workload_is_that_of_the_largest_run() -> None:
    model_fitted = fitted(BY_NAME["ernest"], 1)
    largest = model_fitted.predict(cluster=on(4)).seconds
    other = Workload(1.0)
    assert largest != model_fitted.predict(cluster=on(4), workload=other).seconds
    for workloads in (None, [None], [None, other]):
        found = model_fitted.predict_many(clusters=[on(4)], workloads=workloads)
        assert found.seconds[0] == pytest.approx(largest)


def test_clusters_and_workloads_pair() -> None:
    model_fitted = fitted(BY_NAME["ernest"], 1)
    for clusters, workloads in (
        ([], []),
        ([], [Workload(1.0)]),
        ([on(1)] * 3, [Workload(1.0)] * 2),
    ):
        said = f"{len(clusters)} clusters do not pair with {len(workloads)} workloads"
        with pytest.raises(BadInput, match=said):
            model_fitted.predict_many(clusters=clusters, workloads=workloads)
    with pytest.raises(BadInput, match="a list of clusters is needed, not None"):
        model_fitted.predict_many(clusters=None)
    with pytest.raises(BadInput, match="a list of workloads is needed, not Workload"):
        model_fitted.predict_many(clusters=[on(1)], workloads=Workload(1.0))


@every_model
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"cluster": None}, "a cluster is needed, not None"),
        ({"cluster": 4}, "a cluster is needed, not 4"),
        ({"workload": 2.0}, "a workload is needed, not 2.0"),
        ({"confidence": "90%"}, "confidence must lie between 0 and 1, not '90%'"),
    ],
)
def test_what_is_of_another_kind_is_refused(
    model: Model, wrong: dict[str, object], says: str
) -> None:
    asked = {"cluster": on(4), "workload": Workload(2.0), **wrong}
    with pytest.raises(BadInput, match=says):
        fitted(model, 1).predict(**asked)


@every_model
def test_a_path_is_no_profile(model: Model) -> None:
    with pytest.raises(BadInput, match=r"a profile is needed, not 'app.zstd'"):
        fit("app.zstd", model=model.name)


def home(model: ListedModel) -> str:
    """The file or package of a model: "ernest" of `engine.models.ernest`."""
    return model.module.split(".")[2]


@every_model
def test_a_model_imports_no_other(model: ListedModel) -> None:
    """What several need has packages of its own (docs/adding_a_model.md)."""
    others = {home(each) for each in MODELS} - {home(model)}
    folder = Path(models.__file__).parent
    own = (folder / f"{home(model)}.py", *(folder / home(model)).glob("*.py"))
    files = [file for file in own if file.exists()]
    assert files
    for file in files:
        named = re.findall(r"^ *(?:from|import) engine\.models\.(\w+)", file.read_text(), re.M)
        assert others.isdisjoint(named), file.name
