"""Linear algebra in one thread: while it is asked for, and no longer."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.models.laws import run_times
from engine.models.laws.candidate_models import CandidateModels
from engine.one_thread import libraries, one_thread


def threads() -> set[int]:
    """How many threads linear algebra uses now."""
    return {library["num_threads"] for library in libraries().info()}


def in_a_thread(step: Callable[[], Any]) -> Any:
    """What a step gives in a thread of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(step).result()


@pytest.fixture(autouse=True)
def _several() -> Iterator[None]:
    """The setting of a program that leaves linear algebra all of its cores. A thread that has ended
    made it: a library takes settings of the thread alone that made the last one and still lives."""
    given = in_a_thread(lambda: libraries().limit(limits=3, user_api="blas"))
    if threads() != {3}:
        pytest.skip("this NumPy has no linear algebra whose threads can be set")
    yield
    in_a_thread(given.restore_original_limits)


def test_one_thread_while_asked_and_the_setting_of_the_program_afterwards() -> None:
    with one_thread(), one_thread():
        assert threads() == {1}
    assert threads() == {3}


def test_threads_that_overlap_give_the_setting_back() -> None:
    """The second one begins before the first one ends, and ends after it."""
    first, second = one_thread(), one_thread()
    with ThreadPoolExecutor(1) as a, ThreadPoolExecutor(1) as b:
        for thread, step in (
            (a, first.__enter__),
            (b, second.__enter__),
            (a, lambda: first.__exit__(None, None, None)),
            (b, lambda: second.__exit__(None, None, None)),
        ):
            thread.submit(step).result()
    assert threads() == {3}


def test_an_error_gives_the_setting_back() -> None:
    with pytest.raises(ValueError, match="told"), one_thread():
        raise ValueError("told")
    assert threads() == {3}


def test_fits_and_answers_of_run_tables_use_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "runs.csv"
    rows = [f"{nodes},1000,{600 / nodes + 20},4,16" for nodes in (1, 2, 3, 4, 6, 8)]
    table.write_text("\n".join(["nodes,input_size,seconds,vcpus,memory_gib", *rows]))
    found: list[set[int]] = []
    fitted_as, moments_of = CandidateModels.of, CandidateModels.moments

    def fit(*args: object, **named: object) -> object:
        found.append(threads())
        return fitted_as(*args, **named)

    def moments(*args: object) -> object:
        found.append(threads())
        return moments_of(*args)

    monkeypatch.setattr(run_times.CandidateModels, "of", fit)
    monkeypatch.setattr(run_times.CandidateModels, "moments", moments)
    fitted = engine.fit(engine.read(str(table)))
    cluster = engine.Cluster.of_nodes(instance_type="x", nodes=5, vcpus=4, memory_gib=16.0)
    fitted.predict(cluster=cluster)
    assert len(found) >= 2
    assert found == [{1}] * len(found)
    assert threads() == {3}
