"""A share of spot nodes in `recommend`: its table says what is on demand beside it."""

import pytest
from command_line import answer, run
from test_headless import LOG


def test_runners_up_beside_a_share_of_spot_nodes_are_said_to_be_on_demand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Their costs seemed to be at spot prices, as that of the recommendation is."""
    line = f"recommend {LOG} --ran-on m5.2xlarge --instances m5.?xlarge --max-nodes 8 --deadline 4m"
    for more, title in (
        ("--spot --max-spot 50%", "runners-up on demand"),
        ("--max-spot 0%", "runners-up"),
        ("--spot", "runners-up"),
    ):
        out, _ = run(capsys, f"{line} {more}")
        (head,) = (row for row in out.splitlines() if row.startswith("runners-up"))
        assert head.partition("  ")[0] == title, more
        alternatives = answer(capsys, f"{line} {more}")["alternatives"]
        assert alternatives
        assert any(other["spot"] for other in alternatives) is (more == "--spot"), more
