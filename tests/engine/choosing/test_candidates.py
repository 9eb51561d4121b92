import re
from typing import Any

import pytest
from synthetic import catalog_of, offer, profile_on

from engine.catalog_files.reader import load_catalog
from engine.choosing.candidate_selection import match_names, select_candidates
from engine.choosing.limits import Limits
from engine.cluster import Cluster, Workload
from engine.errors import BadInput, UnknownName
from engine.profile import Profile, Run

OFFERS = (
    offer("m.large", 0.1, memory_gib=8.0, arch="x86_64", emr_supported=True),
    offer("m.small", 0.05, memory_gib=4.0, arch="x86_64", emr_supported=True),
    offer("g.large", 0.08, memory_gib=8.0, arch="arm64", emr_supported=True),
    offer("x.large", 0.2, memory_gib=16.0, arch="x86_64", emr_supported=False),
    offer("t.nano", 0.01, vcpus=1, memory_gib=0.5, arch="x86_64", emr_supported=True),
    offer("odd", 0.3, memory_gib=32.0),
)
MANAGED = catalog_of(*OFFERS, managed_only=True)
ARM = OFFERS[2].instance


def test_the_default_filter_counts_what_it_hides() -> None:
    found = select_candidates(MANAGED, profile=profile_on())
    assert found.names == ("m.large", "odd")
    assert found.hidden == {"less than 8 GiB": 2, "not x86_64": 1, "not supported by EMR": 1}
    assert found.rejected == ()


def test_the_measured_architecture_decides() -> None:
    found = select_candidates(MANAGED, profile=profile_on(ARM))
    assert found.names == ("g.large", "odd")


def test_measured_types_always_stay() -> None:
    found = select_candidates(MANAGED, profile=profile_on(OFFERS[1].instance))
    assert found.names == ("m.large", "m.small", "odd")


def test_naming_types_lifts_the_filter() -> None:
    found = select_candidates(MANAGED, profile=profile_on(), instances=["g.*", "m.small"])
    assert found.names == ("g.large", "m.small")
    assert found.hidden == {}


def test_what_the_limits_leave_out_is_counted() -> None:
    """A measured type of another architecture than is asked for, what is excluded, and none that
    is owned."""
    limits = Limits(arch="x86_64", exclude=("m.*",), owned=(("x.large", 2),))
    found = select_candidates(MANAGED, profile=profile_on(ARM), limits=limits)
    assert found.names == ("odd", "x.large")
    assert found.hidden == {"excluded": 1, "not x86_64": 1, "less than 8 GiB": 2}
    found = select_candidates(
        MANAGED, profile=profile_on(), instances=["m.*", "g.*"], limits=limits
    )
    assert found.hidden == {"excluded": 2, "not x86_64": 1}


def test_a_type_that_holds_no_executor_is_rejected() -> None:
    found = select_candidates(MANAGED, profile=profile_on(), instances=["*"])
    assert len(found.names) == 5
    assert [(entry.instance, entry.code) for entry in found.rejected] == [("t.nano", "no-executor")]
    assert found.rejected[0].reason == "holds no executor (0.5 GiB)"
    with pytest.raises(BadInput, match="none of the instance types can hold an executor"):
        select_candidates(MANAGED, profile=profile_on(), instances=["t.nano"])


def test_a_glob_that_matches_nothing() -> None:
    with pytest.raises(UnknownName, match=r"unknown instance type 'm.largo'; did you mean m.large"):
        select_candidates(MANAGED, profile=profile_on(), instances=["odd", "m.largo"])
    with pytest.raises(BadInput, match="no instance types named"):
        select_candidates(MANAGED, profile=profile_on(), instances=[])


def test_a_catalog_may_have_no_filter() -> None:
    catalog = catalog_of(*OFFERS, filtered_by_default=False, managed_only=True)
    found = select_candidates(catalog, profile=profile_on())
    assert len(found.names) == 5
    assert found.hidden == {}


def test_a_measured_type_keeps_its_layout() -> None:
    cluster = Cluster(
        groups=Cluster.of_nodes(instance_type="m.large", nodes=3, vcpus=4.0, memory_gib=8.0).groups,
        executors=6,
        executor_cores=2,
        executor_memory_gib=2.5,
    )
    profile = Profile("job", (Run(100.0, cluster, Workload(1e9)),))
    found = select_candidates(MANAGED, profile=profile)
    layouts = dict(zip(found.names, found.layouts, strict=True))
    assert (layouts["m.large"].executors_per_node, layouts["m.large"].executor_cores) == (2, 2)
    assert layouts["m.large"].executor_memory_gib == 2.5
    assert (layouts["odd"].executors_per_node, layouts["odd"].executor_cores) == (1, 4)


def test_a_measured_type_that_emr_does_not_support_is_compared_and_not_rented() -> None:
    found = select_candidates(MANAGED, profile=profile_on(OFFERS[3].instance))
    assert "x.large" in found.names
    assert found.comparison_only == {"x.large"}
    assert found.binding_limits(Limits()).most == (("x.large", 0),)
    assert found.binding_limits(Limits(most=(("x.large", 4),))).most == (("x.large", 0),)
    assert found.binding_limits(Limits(owned=(("x.large", 2),))) == Limits(owned=(("x.large", 2),))


def test_naming_it_is_the_users_word() -> None:
    found = select_candidates(
        MANAGED, profile=profile_on(OFFERS[3].instance), instances=["x.*", "m.large"]
    )
    assert found.comparison_only == frozenset()
    assert found.binding_limits(Limits()) == Limits()


def test_nothing_is_left_where_only_compared_types_are() -> None:
    only = catalog_of(OFFERS[3], managed_only=True)
    with pytest.raises(BadInput, match=r"EMR supports none .*: x.large; name types with --inst"):
        select_candidates(only, profile=profile_on(OFFERS[3].instance))


def test_an_architecture_that_nobody_says_is_said_to_be_assumed() -> None:
    def said(**how: Any) -> list[str]:
        profile = profile_on(*how.pop("on", ()))
        return [n.code for n in select_candidates(MANAGED, profile=profile, **how).notices]

    assert said() == ["assumed-architecture"]
    assert said(on=[ARM]) == []
    assert said(on=[OFFERS[1].instance]) == []
    assert said(ran_on=[ARM]) == []
    assert said(limits=Limits(arch="arm64")) == []
    assert said(instances=["*"]) == []
    only = catalog_of(*(o for o in OFFERS if o.instance != ARM), managed_only=True)
    assert select_candidates(only, profile=profile_on()).notices == (), "nothing is left out for it"


def test_jobs_of_a_workflow_say_their_architecture() -> None:
    """They have no runs in a profile of their own: x86_64 was taken, whatever they ran on."""
    kept = select_candidates(MANAGED, profile=profile_on(), ran_on=[ARM])
    assert kept.names == ("g.large", "odd")


@pytest.mark.parametrize("name", ["aws", "azure", "gcp", "papers"])
def test_the_beginning_of_names_is_told_the_glob_that_matches_them(name: str) -> None:
    """`m7g` was an unknown type, whatever stood in the list that it filters."""
    catalog = load_catalog(name)
    ends = {x[:end] for x in catalog.offers for end in range(1, len(x)) if x[end] in ".-_"}
    begun = sorted(ends - set(catalog.offers))
    for text in begun[:: 1 + len(begun) // 100]:
        family = [x for x in catalog.offers if x.startswith((f"{text}.", f"{text}-", f"{text}_"))]
        with pytest.raises(UnknownName) as caught:
            match_names(catalog, [text.swapcase()])
        if len(family) == 1:
            assert f"did you mean {family[0]}?" in str(caught.value)
            continue
        said = re.search(r"did you mean '(\S+)' \((\d+) types\)\?", str(caught.value))
        assert match_names(catalog, [said[1]])[: int(said[2])] == family


def test_one_type_that_begins_so_is_named_itself() -> None:
    with pytest.raises(UnknownName, match=r"did you mean m5\.24xlarge\?"):
        match_names(load_catalog("aws"), ["M5.24"])
    with pytest.raises(UnknownName, match="lists its types"):
        match_names(load_catalog("aws"), ["graviton"])
