"""File scans of Spark 2, which are part of generated code."""

from real_logs import log_pair, tasks_of

LESS, MORE = log_pair("generated_code")


def scans(run, file_format):
    return [stage for stage in run.stages if f"Scan {file_format}" in stage.operations]


def test_a_scan_has_the_format_and_the_files_of_its_plan():
    for run, files in ((LESS, 5.0), (MORE, 15.0)):
        customers, *orders = scans(run, "csv")
        assert (customers.tasks, customers.files_read) == (1, 1.0)
        assert [stage.files_read for stage in orders] == [files, files]
        for stage in orders:  # of text all is read
            assert stage.files_bytes == stage.outside_bytes
        (ranks,) = scans(run, "parquet")  # of Parquet it is not known how much
        assert (ranks.files_read, ranks.files_bytes) == (24.0, None)


def test_it_is_divided_for_the_cores():
    """Three splits on two slots; four of three times the data on four, where nine would follow the
    data. Of 24 small files of Parquet one for each slot."""
    ratio = MORE.workload.input_bytes / LESS.workload.input_bytes
    for file_format, tasks, more in (("csv", [1, 3, 3], [1, 4, 4]), ("parquet", [2], [4])):
        observed = scans(LESS, file_format), scans(MORE, file_format)
        assert [[stage.tasks for stage in stages] for stages in observed] == [tasks, more]
        assert tasks_of(LESS, MORE.cluster.slots, ratio, observed[0]) == more
        assert tasks_of(MORE, LESS.cluster.slots, 1.0, scans(MORE, "parquet")) == [2]
