"""Unions of intervals, against counting which moments they hold."""

from itertools import pairwise

import numpy as np
import pytest

from engine.intervals import clipped, exclusive_seconds, gaps, interval_union, union_length, united

SPANS = [(3, 5), (1, 2), (5, 9), (4, 4), (12, 15), (13, 14)]


def held(intervals, end):
    return [any(a <= one < b for a, b in intervals) for one in range(end)]


def test_union_is_disjoint_and_in_order_and_joins_intervals_that_touch():
    assert united(SPANS) == [(1, 2), (3, 9), (12, 15)]
    assert united([]) == []
    assert united([(7, 3), (5, 6)]) == [(5, 6), (7, 7)]


def test_whole_milliseconds_stay_whole():
    assert all(type(one) is int for span in united(SPANS) for one in span)


@pytest.mark.parametrize("seed", range(20))
def test_union_and_gaps_share_out_all_moments(seed):
    random = np.random.default_rng(seed)
    start = random.integers(0, 40, 8)
    spans = list(zip(start.tolist(), (start + random.integers(0, 9, 8)).tolist(), strict=True))
    union, between = united(spans), gaps(united(spans), 5, 45)
    assert held(union, 60) == held(spans, 60)
    assert held(between, 60) == [
        5 <= one < 45 and not busy for one, busy in enumerate(held(spans, 60))
    ]
    assert all(a[1] < b[0] for a, b in pairwise(union))
    starts, ends = (np.asarray(x, dtype=float) for x in zip(*spans, strict=True))
    assert union_length(starts, ends) == sum(held(spans, 60))
    assert exclusive_seconds(starts, ends).sum() == pytest.approx(sum(held(spans, 60)))
    assert np.subtract(*interval_union(starts, ends)[::-1]).sum() == sum(held(spans, 60))


def test_clipped_intervals_end_at_the_bounds():
    assert clipped([(0, 4), (6, 9), (11, 12)], 2, 11) == [(2, 4), (6, 9)]
