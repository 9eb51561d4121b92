"""The cache of recent results: the last few, from any thread, and by key."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

from engine.caching import Lazy, LruCache


def test_a_question_is_answered_once_while_it_is_recent() -> None:
    recent, made = LruCache[int](2), list[str]()

    def ask(question: str) -> int:
        def make() -> int:
            made.append(question)
            return len(made)

        return recent.get(question, make)

    assert [ask("a"), ask("b"), ask("a"), ask("c"), ask("a"), ask("b")] == [1, 2, 1, 3, 1, 4]
    assert made == ["a", "b", "c", "b"], "the one that was asked longest ago goes"


def test_what_is_kept_weighs_no_more_in_sum_than_it_may() -> None:
    recent, made = LruCache[str](5, len), list[str]()

    def ask(answer: str) -> None:
        recent.get(answer, lambda: made.append(answer) or answer)

    for answer in ("aa", "bb", "c", "aa", "dd", "c", "aa", "too long", "c"):
        ask(answer)
    assert made == ["aa", "bb", "c", "dd", "too long", "c"]
    copied = copy.deepcopy(recent)
    for answer in ("aa", "bb", "cc"):
        copied.get(answer, lambda answer=answer: answer)
    assert copied.get("aa", lambda: "anew") == "anew"


def test_what_fails_is_not_kept() -> None:
    recent = LruCache[int](1)

    def fail() -> int:
        raise ValueError

    for _ in range(2):
        try:
            recent.get("a", fail)
        except ValueError:
            continue
        raise AssertionError
    assert recent.get("a", lambda: 1) == 1


def test_a_copy_begins_with_nothing() -> None:
    recent = LruCache[int](1)
    recent.get("a", lambda: 1)
    for copied in (copy.deepcopy(recent), pickle.loads(pickle.dumps(recent))):
        assert copied.get("a", lambda: 2) == 2


def test_threads_get_the_answers_to_their_own_questions() -> None:
    recent = LruCache[int](3)

    def ask(number: int) -> bool:
        return recent.get(number % 7, lambda: number % 7) == number % 7

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(2000)))


def test_a_notebook_shows_how_many_there_are_and_makes_the_first_alone() -> None:
    made: list[int] = []
    assert repr(Lazy([7, 8, 9], lambda key: made.append(key) or 10 * key)) == (
        "<3 in all, the first 70>"
    )
    assert made == [7]
    assert repr(Lazy([], str)) == "<0 in all>"
