"""Pieces of hot partitions, against Spark's own loop over the outputs of map tasks."""

import numpy as np
import pytest

from engine.models.stages.partitioning.split_partitions import (
    MERGED_PIECE,
    SMALL_PIECE,
    piece_count,
)


def spark_pieces(sizes: list[float], target: float, smallest: float = SMALL_PIECE) -> int:
    """`ShufflePartitionsUtil.splitSizeListByTargetSize` of Spark 3.5, line by line: how many pieces
    it leaves."""
    starts, current, last = [0], 0.0, -1.0

    def merged() -> None:
        nonlocal last
        small = min(current, last) < target * smallest
        if last > -1.0 and (current + last < target * MERGED_PIECE or small):
            starts.pop()
            last += current
        else:
            last = current

    for place, size in enumerate(sizes):
        if place > 0 and current + size > target:
            merged()
            starts.append(place)
            current = size
        else:
            current += size
    merged()
    return len(starts)


@pytest.mark.parametrize("small", [SMALL_PIECE, 0.05, 0.45, 0.6, 0.95])
@pytest.mark.parametrize("seed", range(4))
def test_pieces_are_those_of_sparks_loop(seed: int, small: float) -> None:
    """Of equal outputs, the last of which may be partial, as those of files cut in splits are: with
    a configured factor a partial one may make one piece more or less."""
    random = np.random.default_rng(seed)
    for _ in range(2_000):
        whole = int(random.integers(1, 60))
        partial = float(random.choice([0.0, random.uniform(0.01, 0.99)]))
        each = float(np.exp(random.uniform(np.log(0.01), np.log(5.0))))
        sizes = [each] * whole + [each * partial] * (partial > 0.0)
        found = piece_count(
            np.asarray(whole + partial), np.asarray(sum(sizes)), np.asarray(1.0), small
        )
        off = abs(float(found) - spark_pieces(sizes, 1.0, small))
        assert off <= (partial > 0.0 and small != SMALL_PIECE), (whole, partial, each)


def test_pieces_of_unlike_outputs_are_within_a_few() -> None:
    """Sizes that spread by a twentieth, as hashed keys do: within one in nine of ten draws."""
    random = np.random.default_rng(0)
    near = []
    for _ in range(1_000):
        outputs, each = int(random.integers(2, 60)), float(random.uniform(0.05, 3.0))
        sizes = each * random.normal(1.0, 0.05, outputs)
        found = piece_count(np.asarray(float(outputs)), np.asarray(sizes.sum()), np.asarray(1.0))
        near.append(abs(float(found) - spark_pieces(sizes.tolist(), 1.0)) <= 1.0)
    assert np.mean(near) >= 0.85
