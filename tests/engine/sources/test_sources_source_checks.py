"""Sources that cannot be meant: one clear line, and no secret in it."""

import pytest

from engine.errors import BadInput
from engine.sources import read


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no-such-log.zstd", "no such file"),
        ("http://user:secret@host:18080", "SPARKPLAN_HISTORY_TOKEN"),
        ("ernest-rcv", "did you mean ernest-rcv1"),
        ("/dev/null", "is not a file"),
    ],
)
def test_sources_that_are_not_there(source: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        read(source)
    assert "secret" not in str(caught.value)
