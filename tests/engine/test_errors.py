"""Errors: what they say, and their exit codes."""

from engine.errors import BadInput, ServiceUnavailable, UnknownName


def test_an_error_says_what_where_and_what_to_do_in_one_line() -> None:
    error = BadInput("no column\nseconds", where="runs.csv:1", remedy="add it", choices=("a", "b"))
    assert str(error) == "runs.csv:1: no column seconds; add it (choices: a, b)"


def test_exit_codes_belong_to_the_class() -> None:
    assert BadInput("x").exit_code == 2
    assert ServiceUnavailable("x").exit_code == 3


def test_an_unknown_name_offers_close_matches_before_the_whole_list() -> None:
    known = ["m5.xlarge", "m5.large", "r5.xlarge"]
    near = str(UnknownName("instance type", "m5.xlrge", known))
    assert "did you mean m5.xlarge" in near
    assert near.endswith("(choices: m5.large, m5.xlarge, r5.xlarge)")
    assert "choices: m5.large, m5.xlarge, r5.xlarge" in str(UnknownName("type", "zzz", known))


def test_a_list_too_long_to_help_is_left_out() -> None:
    assert "choices" not in str(UnknownName("type", "zzz", [f"t{i}" for i in range(500)]))


def test_a_list_of_many_lines_is_left_out_as_well() -> None:
    said = str(
        UnknownName("sample", "zzz", [f"a-long-name-{i:020}" for i in range(20)], remedy="r")
    )
    assert said == "unknown sample 'zzz'; r"


def test_a_cell_gone_wrong_does_not_fill_the_screen() -> None:
    said = str(BadInput(f"no number: '{'9' * 6000}'", where="a/path/" * 50, remedy="correct it"))
    assert said.startswith("a/path/" * 50 + ": no number: '999")
    assert said.endswith("999'; correct it")
    assert len(said) < 600


def test_a_name_in_other_capitals_is_the_one_that_was_meant() -> None:
    """`--instance M5.XLARGE` and `--to EMR` were told of no name that is like them."""
    known = [f"{family}.{size}" for family in ("m5", "r5", "m5d") for size in ("large", "xlarge")]
    assert UnknownName("instance type", "M5.XLARGE", known).close == ("m5.xlarge",)
    assert UnknownName("catalog", "AWS", ["aws", "azure"]).close == ("aws",)
    near = UnknownName("instance type", "standard_d4s_v6", ["Standard_D4s_v5", "Standard_E4s_v5"])
    assert near.close[0] == "Standard_D4s_v5"
