"""Looking for the ends of zstd frames that hold nothing, in files that unpack to far more."""

import io
import tracemalloc

import pytest
import zstandard

from engine.sources.access.codecs import CHUNK_BYTES, Stream

UNPACKED_BYTES = 64 << 20
"""Packed into 2 KiB, less than what is read at a time."""


@pytest.mark.parametrize("empty", [0, 300])
def test_what_unpacks_to_ten_thousand_times_as_much_is_not_unpacked_at_once(empty: int) -> None:
    packed = empty * zstandard.compress(b"") + zstandard.compress(bytes(UNPACKED_BYTES))
    tracemalloc.start()
    try:
        chunk = next(Stream(io.BytesIO(packed), "app").chunks())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(chunk) == CHUNK_BYTES
    assert most < UNPACKED_BYTES / 4
