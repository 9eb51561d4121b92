"""Bytes of a source, decompressed in bounded chunks, whatever they were compressed with.

The codec is recognised by its first bytes, never by the file's name. A stream that breaks off or
is damaged keeps what was decoded up to there and says so in `Stream.lost`.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from typing import BinaryIO, cast

from engine.errors import BadInput

CHUNK_BYTES = 1 << 16
"""Decompressed bytes handed on at a time: few enough to stay in the processor's cache."""

BUFFER_BYTES = 1 << 20
"""Bytes asked of the file system at a time."""

HEAD_BYTES = 16
"""What is needed to recognise a codec."""

Progress = Callable[[int], None]


class Stream:
    """An open source: `chunks()` yields its decompressed bytes; `lost` says what broke, if it did.

    `progress` is called with the bytes of the file read so far; what it raises ends the reading.
    """

    def __init__(self, file: BinaryIO, name: str, progress: Progress | None = None) -> None:
        self.name = name
        self.lost: str | None = None
        self._file = file
        self._progress = progress
        self._position = 0
        self._pushed_back = b""

    def read(self, size: int, /) -> bytes:
        """Raw bytes; blocks until `size` are there or the file ends."""
        data = self._pushed_back
        self._pushed_back = b""
        if len(data) < size:
            data += self._file.read(size - len(data))
        else:
            data, self._pushed_back = data[:size], data[size:]
        self._position += len(data)
        if self._progress is not None:
            self._progress(self._position)
        return data

    def chunks(self) -> Iterator[bytes]:
        """Decompressed chunks of about `CHUNK_BYTES`.

        Raises:
            BadInput: for containers that are not read.
        """
        head = self.read(HEAD_BYTES)
        self._pushed_back, self._position = head, self._position - len(head)
        decode = decoder_of(head, self.name)
        try:
            yield from decode(self)
        except DamagedStream as damage:
            self.lost = str(damage)


class DamagedStream(Exception):
    """The compressed stream breaks off or is damaged; the text says which."""


def decoder_of(head: bytes, name: str) -> Callable[[Stream], Iterator[bytes]]:
    """The decoder for a file that begins with `head`.

    Raises:
        BadInput: naming a container that is recognised but not read.
    """
    for magic, decoder in _DECODERS:
        if head.startswith(magic):
            return decoder
    for magic, what, remedy in _REFUSED:
        if head.startswith(magic):
            raise BadInput(f"{what} is not read", where=name, remedy=remedy)
    return _plain


def open_path(path: Path, progress: Progress | None = None) -> Stream:
    """Opens a file; `Stream.close` is the garbage collector's, as with any iterator.

    Raises:
        BadInput: when it cannot be opened.
    """
    try:
        file = path.open("rb", buffering=BUFFER_BYTES)
    except OSError as error:
        raise BadInput(error.strerror or "cannot be opened", where=str(path)) from None
    return Stream(file, str(path), progress)


def _plain(source: Stream) -> Iterator[bytes]:
    while chunk := source.read(CHUNK_BYTES):
        yield chunk


def _zstd(source: Stream) -> Iterator[bytes]:
    import zstandard

    reader = zstandard.ZstdDecompressor().stream_reader(
        cast(BinaryIO, source), read_across_frames=True
    )
    while True:
        try:
            chunk = reader.read(CHUNK_BYTES)
        except zstandard.ZstdError:
            raise DamagedStream("the zstd stream is damaged") from None
        if not chunk:
            return
        yield chunk


def _gzip(source: Stream) -> Iterator[bytes]:
    reader = gzip.GzipFile(fileobj=cast(BinaryIO, source), mode="rb")
    while True:
        try:
            chunk = reader.read1(CHUNK_BYTES)
        except EOFError:
            raise DamagedStream("the gzip stream breaks off") from None
        except (OSError, zlib.error):
            raise DamagedStream("the gzip stream is damaged") from None
        if not chunk:
            return
        yield chunk


LZ4_MAGIC = b"LZ4Block"
LZ4_STORED, LZ4_COMPRESSED = 0x10, 0x20
LZ4_LARGEST_BLOCK = 1 << 25
_lz4_header = Struct("<8sBiiI").unpack


def _lz4(source: Stream) -> Iterator[bytes]:
    """lz4-java's `LZ4BlockOutputStream`: headers of 21 bytes (magic, token, compressed length,
    original length, checksum), each followed by one raw lz4 block. A block of length 0 ends a
    stream; another one may follow."""
    import lz4.block

    while header := source.read(21):
        if len(header) < 21:
            raise DamagedStream("the lz4 stream breaks off")
        magic, token, packed, original, _ = _lz4_header(header)
        method = token & 0xF0
        sizes_fit = 0 <= packed <= LZ4_LARGEST_BLOCK and 0 <= original <= LZ4_LARGEST_BLOCK
        if magic != LZ4_MAGIC or method not in (LZ4_STORED, LZ4_COMPRESSED) or not sizes_fit:
            raise DamagedStream("the lz4 stream is damaged")
        block = source.read(packed)
        if len(block) < packed:
            raise DamagedStream("the lz4 stream breaks off")
        if original and method == LZ4_COMPRESSED:
            try:
                block = lz4.block.decompress(block, uncompressed_size=original)
            except lz4.block.LZ4BlockError:
                raise DamagedStream("the lz4 stream is damaged") from None
        yield block


_UNPACK = "unpack it and give the event log inside"
_DECODERS: tuple[tuple[bytes, Callable[[Stream], Iterator[bytes]]], ...] = (
    (b"\x28\xb5\x2f\xfd", _zstd),
    (b"\x1f\x8b", _gzip),
    (LZ4_MAGIC, _lz4),
)
_REFUSED = (
    (b"\x82SNAPPY\x00", "a snappy stream", "decompress it, or write event logs with zstd"),
    (b"ZV", "an lzf stream", "decompress it, or write event logs with zstd"),
    (b"\x04\x22\x4d\x18", "an lz4 frame (not Spark's lz4 blocks)", "decompress it with lz4 -d"),
    (b"PK\x03\x04", "a zip archive", _UNPACK),
    (b"BZh", "a bzip2 stream", "decompress it with bunzip2"),
    (b"\xfd7zXZ\x00", "an xz stream", "decompress it with unxz"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"PAR1", "a Parquet file", "give an event log, a profile or a run table"),
)
