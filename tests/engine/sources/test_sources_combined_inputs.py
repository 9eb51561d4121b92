"""What a union or a product puts together, on lineages made for one rule."""

import pytest
from test_sources_profile_file import HEAD, RUN, STAGE

from engine.errors import BadInput
from engine.sources.formats.profile_file import parse
from engine.sources.logs.combined_inputs import CombinedInput, CombinedInputs, combined_in
from engine.sources.logs.events import RddInfo
from engine.sources.logs.lineage import Lineage

FILES, MADE, SHUFFLED, UNION, PRODUCT = (
    "FileScanRDD",
    "ParallelCollectionRDD",
    "ShuffledRowRDD",
    "UnionRDD",
    "CartesianRDD",
)


def rdd(number: int, name: str, partitions: int, *parents: int) -> RddInfo:
    return RddInfo(rdd_id=number, name=name, partitions=partitions, parents=parents)


SCAN, RANGE = rdd(1, FILES, 4), rdd(2, MADE, 2)
MAPPED = rdd(3, "MapPartitionsRDD", 4, 1)
BOTH = rdd(4, UNION, 6, 3, 2)


def found(*rdds: RddInfo, computed: tuple[int, ...] = ()) -> CombinedInputs | None:
    """Of a stage whose own RDD maps the last."""
    last = rdds[-1]
    own = rdd(99, "MapPartitionsRDD", last.partitions, last.rdd_id)
    return combined_in((own, *rdds), computed)


def test_a_union_of_files_and_rows_of_the_program() -> None:
    told = found(SCAN, RANGE, MAPPED, BOTH)
    assert told == CombinedInputs(False, (CombinedInput(4, "files"), CombinedInput(2, "made")))
    assert told.itemised


def test_what_was_computed_before_is_read_and_not_what_it_came_from() -> None:
    told = found(SCAN, RANGE, MAPPED, BOTH, computed=(3,))
    assert told.inputs == (CombinedInput(4, "stored", 3), CombinedInput(2, "made"))


def test_unions_of_unions_are_one() -> None:
    more = rdd(5, UNION, 12, 4, 4)
    told = found(SCAN, RANGE, MAPPED, BOTH, more)
    assert told.partitions == (4, 2, 4, 2)


def test_a_product_takes_a_union_of_files_for_one_input() -> None:
    side, pairs = rdd(5, UNION, 8, 1, 3), rdd(6, PRODUCT, 16, 5, 2)
    told = found(SCAN, RANGE, MAPPED, side, pairs)
    assert told == CombinedInputs(True, (CombinedInput(8, "files"), CombinedInput(2, "made")))


def test_a_shuffle_of_a_query_is_one_of_its_inputs() -> None:
    told = found(SCAN, rdd(5, SHUFFLED, 3, 7), rdd(6, UNION, 7, 5, 1))
    assert told == CombinedInputs(False, (CombinedInput(3, "shuffled"), CombinedInput(4, "files")))


def test_a_shuffle_of_rdds_is_one_of_the_inputs_of_a_union_and_told_beside_another() -> None:
    """As joins of RDDs in Python are made, which unite both sides and shuffle them once more."""
    reduced, other = rdd(5, "ShuffledRDD", 3, 7), rdd(8, "ShuffledRDD", 4, 9)
    told = found(SCAN, reduced, rdd(6, UNION, 7, 1, 5))
    assert told is not None
    assert told.inputs == (CombinedInput(4, "files"), CombinedInput(3, "shuffled", of_rdds=True))
    both = found(reduced, other, rdd(6, UNION, 7, 5, 8))
    assert both is not None
    assert both.itemised


def test_unions_of_files_alone_are_taken_for_alike() -> None:
    told = found(SCAN, MAPPED, rdd(5, UNION, 8, 1, 3))
    assert not told.itemised


def test_unlike_files_of_a_union_that_is_written_out_are_told_one_by_one() -> None:
    """Four splits of one table beside one of another; a loop over many files unites those alike."""
    small = rdd(5, FILES, 1)
    told = found(SCAN, small, rdd(6, UNION, 5, 1, 5))
    assert told is not None
    assert told.itemised
    assert told.partitions == (4, 1)
    loop = found(SCAN, small, rdd(6, UNION, 10, 1, 5, 1, 5))
    assert loop is not None
    assert not loop.itemised


@pytest.mark.parametrize(
    "rdds",
    [
        (SCAN, MAPPED),  # puts nothing together
        (SCAN, rdd(5, "ShuffledRDD", 3, 7), rdd(6, PRODUCT, 12, 1, 5)),  # a shuffle of RDDs
        (SCAN, RANGE, rdd(5, "CoalescedRDD", 3, 1), rdd(6, UNION, 5, 5, 2)),  # put together
        (rdd(1, FILES, 0), RANGE, rdd(6, UNION, 2, 1, 2)),  # of nothing, as no union of Spark's
        (rdd(1, FILES, 0), RANGE, rdd(6, PRODUCT, 0, 1, 2)),
        (SCAN, RANGE, rdd(6, "PartitionerAwareUnionRDD", 4, 1, 2)),  # beside each other in a task
        (SCAN, rdd(5, "EmptyRDD", 0), rdd(6, UNION, 4, 1, 5)),
        (SCAN, rdd(5, "ReliableCheckpointRDD", 2), rdd(6, UNION, 6, 1, 5)),
        (SCAN, rdd(6, UNION, 6, 1, 8)),  # its other side is not told
    ],
)
def test_what_is_not_told_is_none(rdds: tuple[RddInfo, ...]) -> None:
    assert found(*rdds) is None


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        (
            "stage_id: 0, united: [2, 3], inputs: [{origin: made}]}\n",
            "one entry for each of paired or united",
        ),
        ("stage_id: 0, united: [2], inputs: [{origin: thrown}]}\n", "thrown"),
        (
            "stage_id: 0, united: [2], inputs: [{origin: files, files_bytes: -1}]}\n",
            "files_bytes must be at least 0",
        ),
        ("stage_id: 0, coalesced_most: 0}\n", "must be at least 1, not 0"),
        ("stage_id: 0, tables_read: 0}\n", "tables_read must be at least 1, not 0"),
        ("stage_id: 0, merged_bytes: [-1]}\n", "merged_bytes must lie"),
        ("stage_id: 0, merged_bytes: [1], merged_stages: [1, 2]}\n", "merged_stages needs one"),
        ("stage_id: 0, row_shares: [0.5, 2.0]}\n", "row_shares must lie between 0 and 1"),
        ("stage_id: 0, row_shares: [0.5]}\n", "row_shares needs two numbers"),
    ],
)
def test_what_is_wrong_with_inputs_of_a_profile_is_said(stage: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(HEAD + RUN + STAGE + stage, "p.yaml")
    assert str(caught.value).startswith("p.yaml:6: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "rdds",
    [
        (rdd(1, "MapPartitionsRDD", 4, 1),),
        (rdd(1, "MapPartitionsRDD", 4, 2), rdd(2, "MapPartitionsRDD", 4, 1)),
        (rdd(1, UNION, 4, 1, 2), rdd(2, FILES, 2)),
        (rdd(1, UNION, 4, 2, 3), rdd(2, UNION, 4, 1, 3), rdd(3, FILES, 2)),
    ],
    ids=["itself", "each other", "union of itself", "unions of each other"],
)
def test_what_comes_from_itself_in_a_damaged_log_is_not_told(rdds: tuple[RddInfo, ...]) -> None:
    assert found(*reversed(rdds)) is None


def test_an_input_that_comes_from_the_same_many_times_over_is_looked_at_once() -> None:
    """A loop that zips each generation with itself: twice as many ways to the files with each."""
    zipped = [rdd(100 + n, "ZippedPartitionsRDD2", 4, *(2 * [99 + n])) for n in range(1, 60)]
    scan, made = rdd(100, FILES, 4), rdd(2, MADE, 2)
    told = found(scan, *zipped, made, rdd(4, PRODUCT, 8, zipped[-1].rdd_id, 2))
    assert told is not None
    assert told.inputs == (CombinedInput(4, "files"), CombinedInput(2, "made"))


def test_a_coalesce_that_shuffles_is_a_repartition() -> None:
    """As Python asks for one: where it writes the shuffle it puts no partitions together. Spark
    3.5.9, `textFile(path).repartition(7)`, of which each side has the same scope."""
    scope = '{"id": "128", "name": "coalesce"}'

    def coalescing(number: int, name: str, parent: int) -> RddInfo:
        return RddInfo(rdd_id=number, name=name, partitions=4, parents=(parent,), scope=scope)

    writes = (coalescing(3, "MapPartitionsRDD", 2), rdd(2, "PythonRDD", 4))
    reads = (coalescing(6, "MapPartitionsRDD", 5), coalescing(5, "CoalescedRDD", 4))
    lineage = Lineage()
    found = [lineage.operations_of(rdds) for rdds in (writes, reads)]
    assert found == [("repartition", "PythonRDD"), ("coalesce",)]
    assert lineage.operation_counts(writes, found[0]) == ()


def test_a_plan_that_is_executed_again_scans_its_files_once() -> None:
    """Its second execution has an operation of its own over the same RDD of files; two tables that
    are joined have an RDD each."""

    def scanning(number: int, name: str, scope: int, *parents: int) -> RddInfo:
        text = f'{{"id": "{scope}", "name": "Scan parquet "}}'
        return RddInfo(rdd_id=number, name=name, partitions=2, parents=parents, scope=text)

    again = (scanning(5, "MapPartitionsRDD", 41, 2), scanning(2, "FileScanRDD", 40))
    joined = (
        RddInfo(rdd_id=9, name="ZippedPartitionsRDD2", partitions=2, parents=(2, 3)),
        scanning(2, "FileScanRDD", 40),
        scanning(3, "FileScanRDD", 41),
    )
    lineage = Lineage()
    counts = [lineage.operation_counts(rdds, ("Scan parquet",)) for rdds in (again, joined)]
    assert counts == [(), (2,)]
