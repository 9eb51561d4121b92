from engine.errors import BadInput, ServiceUnavailable, UnknownName


def test_an_error_says_what_where_and_what_to_do_in_one_line() -> None:
    error = BadInput("no column\nseconds", where="runs.csv:1", remedy="add it", choices=("a", "b"))
    assert str(error) == "runs.csv:1: no column seconds; add it (choices: a, b)"


def test_exit_codes_belong_to_the_class() -> None:
    assert BadInput("x").exit_code == 2
    assert ServiceUnavailable("x").exit_code == 3


def test_an_unknown_name_offers_close_matches_before_the_whole_list() -> None:
    known = ["m5.xlarge", "m5.large", "r5.xlarge"]
    assert "did you mean m5.xlarge" in str(UnknownName("instance type", "m5.xlrge", known))
    assert "choices: m5.large, m5.xlarge, r5.xlarge" in str(UnknownName("type", "zzz", known))


def test_a_list_too_long_to_help_is_left_out() -> None:
    assert "choices" not in str(UnknownName("type", "zzz", [f"t{i}" for i in range(500)]))


def test_a_list_of_many_lines_is_left_out_as_well() -> None:
    said = str(
        UnknownName("sample", "zzz", [f"a-long-name-{i:020}" for i in range(20)], remedy="r")
    )
    assert said == "unknown sample 'zzz'; r"
