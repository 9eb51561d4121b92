"""Decompresses sources in bounded chunks: plain, zstd, gzip, lz4, snappy, lzf.

The codec is detected by the first bytes, never by the file name. Of a truncated or damaged stream
everything before the damage is kept; `Stream.lost` describes the damage.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from engine.errors import BadInput, EngineError
from engine.files import unreadable
from engine.sources.access.blocks import (
    LZ4_MAGIC,
    LZF_MAGIC,
    SNAPPY_MAGIC,
    Block,
    DamagedStream,
    Read,
    lz4_blocks,
    lzf_blocks,
    snappy_blocks,
)

CHUNK_BYTES = 1 << 16
"""Size of the first chunk, and the minimum of joined blocks: previews read no more than that."""

LATER_BYTES = 1 << 19
"""Size of later chunks: larger than the buffer, so that most of a plain text is read without a
copy, and small enough to stay in the processor's cache."""

BUFFER_BYTES = 1 << 16
"""Minimum bytes per read from the file system."""

PACKED_BYTES, MOST_PACKED_BYTES, PACKED_PARTS = 1 << 12, 1 << 17, 64
"""Compressed bytes per call of zstd: minimum, maximum, and the fraction of the file. This is the
resolution of the position of damage."""

WATCHED_BYTES = 64
"""Compressed bytes decoded per step while looking for the end of a frame: four bytes may hold
128 KiB."""

HEAD_BYTES = 16
"""Bytes needed to detect a codec."""

Progress = Callable[[int], None]
Decoder = Callable[["Stream"], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class ExplainedFile:
    """A readable stream whose failures become errors of the engine.

    Args:
        failures: exceptions of the library that reads it.
        explained: the error for one of these.
    """

    file: Any
    failures: tuple[type[Exception], ...]
    explained: Callable[[Exception], EngineError]

    def close(self) -> None:
        """Closes the stream."""
        self.file.close()

    def read(self, size: int = -1, /) -> bytes:
        """Reads up to `size` bytes.

        Raises:
            EngineError: when they cannot be read.
        """
        try:
            return bytes(self.file.read(size))
        except self.failures as error:
            raise self.explained(error) from None


class Stream:
    """An open source: `chunks()` yields its decompressed bytes; `lost` describes damage, if any. As
    a context manager it closes its file.

    `progress` is called with the bytes of the file read so far; an exception in it ends the
    reading. `size` is that of the file (None when it is no regular file). Damaged blocks are
    replaced by a line end and counted: `damaged_blocks` of `blocks`.
    """

    def __init__(self, file: BinaryIO, name: str, progress: Progress | None = None) -> None:
        self.name = name
        self.lost: str | None = None
        self.blocks = 0
        self.damaged_blocks = 0
        self.head = b""
        self._file = file
        self._before = _status(file)
        self.size = self._before.st_size if self._before else None
        self._progress = progress
        self._position = 0
        self._decoded = 0
        self._pushed_back = b""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int, /) -> bytes:
        """Reads raw bytes; blocks until `size` bytes are read or the file ends.

        Raises:
            DamagedStream: when the file system cannot deliver them.
        """
        data = self._pushed_back
        self._pushed_back = b""
        if len(data) < size:
            try:
                data += self._file.read(size - len(data))
            except OSError as error:
                why = error.strerror or "input error"
                raise DamagedStream(f"reading the file failed ({why})") from None
        else:
            data, self._pushed_back = data[:size], data[size:]
        self._position += len(data)
        if self._progress is not None:
            self._progress(self._position)
        return data

    def chunks(self) -> Iterator[bytes]:
        """Decompressed chunks of about `CHUNK_BYTES`.

        Raises:
            BadInput: for container formats that are not supported.
        """
        try:
            head = self.head = self.read(HEAD_BYTES)
            self._pushed_back, self._position = head, self._position - len(head)
            for chunk in decoder_of(head, self.name)(self):
                self._decoded = self._position
                yield chunk
        except DamagedStream as damage:
            self.lost = str(damage)

    def unread_over_read(self) -> float | None:
        """Ratio of the file's unread to read bytes; None where either is unknown."""
        if self.size is None or self._decoded == 0:
            return None
        return max(0, self.size - self._decoded) / self._decoded

    def changed(self) -> str | None:
        """A text on how the file changed since it was opened; None if it did not.

        Growth does not count as a change: the log of a running application grows.
        """
        now = _status(self._file)
        if now is None or self._before is None:
            return None
        if now.st_size < self._before.st_size:
            return f"the file shrank from {self._before.st_size} to {now.st_size} bytes while read"
        rewritten = now.st_mtime_ns != self._before.st_mtime_ns
        if rewritten and now.st_size == self._before.st_size:
            return "the file was written to while it was read"
        return None


def _status(file: BinaryIO) -> os.stat_result | None:
    """Size and modification time of a regular file; None for anything else."""
    try:
        status = os.fstat(file.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def decoder_of(head: bytes, name: str) -> Decoder:
    """The decoder for a file that begins with `head`.

    Raises:
        BadInput: for a container format that is recognised but not supported.
    """
    for magic, decoder in _DECODERS:
        if head.startswith(magic):
            return decoder
    for magic, what, remedy in _REFUSED:
        if head.startswith(magic):
            raise BadInput(f"{what} is not read", where=name, remedy=remedy)
    return _plain


def is_zip(path: Path) -> bool:
    """Whether a file is a regular file that begins like a zip."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_ZIP)) == _ZIP
    except OSError:
        return False


def open_path(path: Path, progress: Progress | None = None) -> Stream:
    """Opens a file.

    Raises:
        BadInput: when it cannot be opened.
    """
    try:
        file = path.open("rb", buffering=BUFFER_BYTES)
    except OSError as error:
        raise unreadable(error, path) from None
    return Stream(file, str(path), progress)


def _plain(source: Stream) -> Iterator[bytes]:
    chunk = source.read(CHUNK_BYTES)
    while chunk:
        yield chunk
        chunk = source.read(LATER_BYTES)


def _zstd(source: Stream) -> Iterator[bytes]:
    import zstandard

    part = min(MOST_PACKED_BYTES, max(PACKED_BYTES, (source.size or 0) // PACKED_PARTS))
    frames = _Frames(source.read)
    reader = zstandard.ZstdDecompressor().stream_reader(
        cast(BinaryIO, frames), read_size=part, read_across_frames=True
    )
    size = CHUNK_BYTES
    while True:
        try:
            chunk = reader.read1(size)  # what precedes damage is not lost
        except zstandard.ZstdError:
            raise DamagedStream("the zstd stream is damaged") from None
        nothing = not chunk and size == CHUNK_BYTES
        if nothing and not frames.are_whole:  # a torn block is not an empty file
            raise DamagedStream("the zstd stream holds no whole block")
        if not chunk:
            return
        frames.are_watched = False
        yield chunk
        size = LATER_BYTES


class _Frames:
    """Wraps the reads of a zstd file and tracks whether the input ends at a frame boundary, which
    zstd's multi-frame reader does not tell. Tracking stops at the first frame with content.

    Args:
        read: reads compressed bytes of the file.
    """

    def __init__(self, read: Read) -> None:
        self.are_watched = self.are_whole = True
        self._read = read
        self._open: Any = None

    def read(self, size: int, /) -> bytes:
        """Reads raw bytes, as `Stream.read`."""
        data = self._read(size)
        if self.are_watched:
            self.are_watched = self._follow(data)
        return data

    def _follow(self, data: bytes) -> bool:
        """Decodes the bytes read; False once a frame has content, and for damage, which the actual
        reader reports."""
        import zstandard

        for start in range(0, len(data), WATCHED_BYTES):
            part = data[start : start + WATCHED_BYTES]
            while part:
                frame = self._open or zstandard.ZstdDecompressor().decompressobj()
                try:
                    held = frame.decompress(part)
                except zstandard.ZstdError:
                    held = None
                if held != b"":
                    self.are_whole = False
                    return False
                part, self._open = frame.unused_data, None if frame.eof else frame
        self.are_whole = self._open is None
        return True


def _gzip(source: Stream) -> Iterator[bytes]:
    import gzip
    import zlib

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


def _blocks(decode: Callable[[Read], Iterator[Block | None]]) -> Decoder:
    """A decoder that joins the blocks of a stream into chunks.

    A damaged block is replaced by a line end, so that the halves of two lines are never joined.
    """

    def chunks(source: Stream) -> Iterator[bytes]:
        gathered: list[Block] = []
        size = 0
        try:
            for block in decode(source.read):
                source.blocks += 1
                if block is None:
                    source.damaged_blocks += 1
                    block = b"\n"
                gathered.append(block)
                size += len(block)
                if size >= CHUNK_BYTES:
                    yield b"".join(gathered)
                    gathered, size = [], 0
        except DamagedStream:
            if gathered:
                yield b"".join(gathered)
            raise
        if gathered:
            yield b"".join(gathered)

    return chunks


_ZIP = b"PK\x03\x04"
_UNPACK = "unpack it and give the event log inside"
_DECODERS: tuple[tuple[bytes, Decoder], ...] = (
    (b"\x28\xb5\x2f\xfd", _zstd),
    (b"\x1f\x8b", _gzip),
    (LZ4_MAGIC, _blocks(lz4_blocks)),
    (SNAPPY_MAGIC, _blocks(snappy_blocks)),
    (LZF_MAGIC, _blocks(lzf_blocks)),
)
_REFUSED = (
    (b"\x04\x22\x4d\x18", "an lz4 frame (not Spark's lz4 blocks)", "decompress it with lz4 -d"),
    (_ZIP, "a zip archive in a stream", _UNPACK),
    (b"BZh", "a bzip2 stream", "decompress it with bunzip2"),
    (b"\xfd7zXZ\x00", "an xz stream", "decompress it with unxz"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"PAR1", "a Parquet file", "give an event log, a profile or a run table"),
)
