"""What headless commands refuse: in one line, with exit code 2, or 3 for a service."""

from argparse import Namespace
from pathlib import Path

import pytest
from command_line import refused, run

from tui.arguments import options
from tui.cli import main

LOG = "nightly-features"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("predict no-such-file", "no-such-file"),
        ("predict nightly-feature", "nightly-features"),
        (f"predict {LOG} --instance m5.xlrge --nodes 4", "m5.xlarge"),
        (f"predict {LOG} --ran-on m5.xlarge@nowhere", "nowhere"),
        (f"predict {LOG} --input-size big", "--input-size"),
        (f"predict {LOG} --deadline soon", "45m"),
        (f"predict {LOG} --deadline 0", "more than zero"),
        (f"predict {LOG} --model ernst", "ernest"),
        (f"predict {LOG} --nodes 0", "at least 1"),
        (f"predict {LOG} --confidence 1.5.1", "share"),
        (f"predict {LOG} --executors 4 --nodes 2", "not both"),
        (f"predict {LOG} --executors 4 --executor-memory 8", "8 MiB is refused by Spark"),
        (f"predict {LOG} --executors 4 --executor-memory 99999p", "no machine has a heap of more"),
        (f"predict {LOG} --executors 4 --executor-memory 300m", "a bare number counts MiB"),
        (
            f"recommend {LOG} --max-executors 4 --executor-cores 2 --executor-memory 449m",
            "at least 450 MiB; write it like 8g",
        ),
        (f"predict {LOG} --param k", "NAME=NUMBER"),
        (f"recommend {LOG}", "--deadline"),
        (f"recommend {LOG} --deadline 1h --instances 'zz9.*'", "zz9"),
        (f"recommend {LOG} --deadline 45:00", "write 45m or 45h"),
        (f"recommend {LOG} --deadline 1h --budget free", "$12.50"),
        (f"recommend {LOG} --deadline 1h --max-executors 5", "--executor-cores"),
        (f"recommend {LOG} --deadline 1h --mix 9", "mix"),
        (f"recommend {LOG} --deadline 1h --catalog nowhere", "nowhere"),
        (
            f"curve {LOG} --over nodes --nodes 9:3",
            "the range '9:3' runs backwards; write the smaller number first: 3:9",
        ),
        (f"curve {LOG} --over nodes --nodes 0:3", "write it like 1:64"),
        (
            f"curve {LOG} --over iterations --iterations 9:3",
            "the range '9:3' runs backwards; write the smaller number first: 3:9",
        ),
        (f"recommend {LOG} --deadline 1h --exclude ,", "--exclude: names no type"),
        (f"curve {LOG} --over time", "input-size"),
        (f"export {LOG} --deadline 1h --to yarn", "spark-submit"),
        (f"curve {LOG} --over nodes --nodes 1:100000", "1:64"),
        (f"curve {LOG} --over iterations --iterations 1:1000000000", "1,000"),
        (f"predict {LOG} --input-size 1e30GB", "check the unit"),
        (f"predict {LOG} --input-size 1e30x", "check the unit"),
        (f"predict {LOG} --input-size 1e-300x", "less than 1/1,000,000 times the largest run"),
        (f"predict {LOG} --input-size 48", "less than 1/1,000,000 times the largest run"),
        (f"predict {LOG} --deadline 1e300h", "ten years"),
        (f"predict {LOG} --catalog papers", "--instance"),
        (f"curve {LOG} --over input-size --input-size 3GB", "write it like 10GB:1TB or 0.5x:4x"),
        ("curve ernest-rcv1 --over input-size --nodes 4 --input-size 3", "write it like 0.5x:4x"),
        (f"recommend {LOG} --deadline 1h --objective speed", "resource-time"),
        (f"recommend {LOG} --max-executors 5 --executor-cores 2 --theta x", "--theta"),
        (f"recommend {LOG} --max-executors 5 --executor-cores 2 --theta 1", "theta prices memory"),
        (f"predict {LOG} --stress-log {LOG}", "--resources"),
        (f"predict {LOG} --resources none.yaml --model simcost", "none.yaml"),
        (f"predict {LOG} --resources none.yaml", "--model simcost"),
        ("predict ''", "empty"),
        (f"recommend {LOG} --deadline 1h --instances=--", "--instances: '--' is no value"),
        (f"profile {LOG} -o--", "-o: '--' is no value"),
        (f"profile {LOG} -o=--", "-o: '--' is no value"),
        ("catalog show nowhere", "nowhere"),
        ("recomend x", "did you mean sparkplan recommend?"),
        ("profile", "SOURCE"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, line)


@pytest.mark.parametrize(
    "option",
    [
        "--catalog aws", "--budget 5", "--instances m5.*", "--region eu-west-1", "--discount 10%",
        "--dbu-price 0.1", "--platform emr", "--spot", "--max-nodes 5", "--mix 2",
        "--own m5.xlarge=2", "--limit m5.xlarge=2", "--max-vcpus 64",
        "--min-nodes 2", "--arch arm64", "--max-spot 50%", "--dynamic-allocation 1:5",
        "--exclude m5.*", "--method exact",
    ],
)  # fmt: skip
def test_what_is_of_rented_nodes_is_refused_beside_a_number_of_executors(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    owned = f"recommend {LOG} --deadline 1h --max-executors 5 --executor-cores 2"
    said = refused(capsys, f"{owned} {option}")
    assert f" {option.split()[0]}: with --max-executors the cluster is one's own" in said


@pytest.mark.parametrize(
    "option", ["--executor-cores 2", "--executor-memory 4g", "--theta 0.1", "--epsilon 2"]
)
def test_what_is_of_executors_is_refused_where_nodes_are_rented(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, f"recommend {LOG} --deadline 1h {option}")
    assert f" {option.split()[0]}: is for clusters one owns" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"hello\nworld\n", ""),
        (b'{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}\n', "task"),
        (b"\x28\xb5\x2f\xfd\x00broken", ""),
        (b"nodes,input_size\n1,2\n", "seconds"),
        (b"format: sparkplan-profile/1\nnmae: x\n", "nmae"),
    ],
)
def test_files_that_are_not_evidence_are_refused_in_one_line(
    content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evidence"
    path.write_bytes(content)
    err = refused(capsys, f"predict {path}")
    assert "evidence" in err
    assert said in err


def test_escape_sequences_of_a_log_never_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "\x1b[31mred"
    path.write_text("nope", encoding="utf-8")
    assert main(["predict", str(path)]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nope.zstd", "nope.zstd: no such file"),
        (f"{LOG} /no/such/log", "/no/such/log: no such file"),
        ("http://anna:hunter2@host:18080", "SPARKPLAN_HISTORY_TOKEN"),
        ("http://host:18080#ap=x", "did you mean app"),
        ("qqq://bucket/log", "qqq"),
    ],
)
def test_a_source_that_cannot_be_meant_is_said_before_the_planner_opens(
    capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    err = refused(capsys, line)
    assert said in err
    assert "hunter2" not in err


def test_a_service_that_does_not_answer_is_one_line_and_3(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.sources.access import http_client

    monkeypatch.setattr(http_client, "FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setenv("no_proxy", "*")
    out, err = run(capsys, "profile http://127.0.0.1:1#app=x", status=3)
    assert out == ""
    assert err.startswith("sparkplan: http://127.0.0.1:1: nothing listens there")
    assert len(err.splitlines()) == 1


def test_a_name_that_is_no_option_of_the_command_is_never_taken_for_one_not_given() -> None:
    args = Namespace(spot=True, deadline=None)
    assert options.given(args, ("spot", "deadline")) == ["--spot"]
    with pytest.raises(AttributeError, match="dead_line"):
        options.given(args, ("dead_line",))
