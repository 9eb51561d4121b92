"""File scans of Spark 2, which are part of generated code."""

from real_logs import log_pair, tasks_of

LESS, MORE = log_pair("generated_code")


def scans(run):
    return [stage for stage in run.stages if "Scan csv" in stage.operations]


def test_a_scan_has_the_format_and_the_files_of_its_plan():
    for run, files in ((LESS, 5.0), (MORE, 15.0)):
        customers, *orders = scans(run)
        assert (customers.tasks, customers.files_read) == (1, 1.0)
        assert [stage.files_read for stage in orders] == [files, files]
        for stage in orders:  # of text all is read
            assert stage.files_bytes == stage.outside_bytes


def test_the_number_of_parquet_files_alone_says_no_size():
    (stage,) = (stage for stage in MORE.stages if "Scan parquet" in stage.operations)
    assert (stage.files_bytes, stage.files_read) == (None, None)


def test_it_is_divided_for_the_cores():
    """Three splits on two slots; four of three times the data on four, where nine would follow the
    data."""
    assert [stage.tasks for stage in scans(LESS)] == [1, 3, 3]
    ratio = MORE.workload.input_bytes / LESS.workload.input_bytes
    assert tasks_of(LESS, MORE.cluster.slots, ratio, scans(LESS)) == [1, 4, 4]
    assert [stage.tasks for stage in scans(MORE)] == [1, 4, 4]
