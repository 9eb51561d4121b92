"""Decoders of Spark's block-compressed streams: lz4-java, xerial snappy, ning lzf.

Each block states its length, so that a damaged one can be skipped. A decoder is given `read`, which
returns the requested bytes or, at the end, fewer; it yields the content of each block, or None for
a damaged one. A block is a view of its decompression buffer; it is copied once, into its chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct

Read = Callable[[int], bytes]
Block = bytes | memoryview

LARGEST_BLOCK_BYTES = 1 << 25
"""No writer makes larger blocks: a larger length is treated as damage."""

LZ4_MAGIC = b"LZ4Block"
SNAPPY_MAGIC = b"\x82SNAPPY\x00"
LZF_MAGIC = b"ZV"

_LZ4_STORED, _LZ4_COMPRESSED = 0x10, 0x20
_lz4_header = Struct("<8sBiiI").unpack
_length = Struct(">I").unpack


class DamagedStream(Exception):
    """The compressed stream is truncated or damaged; the text says which."""


def lz4_blocks(read: Read) -> Iterator[Block | None]:
    """lz4-java's `LZ4BlockOutputStream`: headers of 21 bytes (magic, token, compressed length,
    original length, checksum), each followed by one raw lz4 block. A block of length 0 ends a
    stream; another one may follow.

    Raises:
        DamagedStream: when the stream breaks off or a header is damaged.
    """
    import cramjam

    decompress, problem = cramjam.lz4.decompress_block, cramjam.DecompressionError
    while header := read(21):
        _whole(header, 21, "lz4")
        magic, token, packed, original, _ = _lz4_header(header)
        method = token & 0xF0
        sizes_fit = 0 <= packed <= LARGEST_BLOCK_BYTES and 0 <= original <= LARGEST_BLOCK_BYTES
        if magic != LZ4_MAGIC or method not in (_LZ4_STORED, _LZ4_COMPRESSED) or not sizes_fit:
            raise DamagedStream("the lz4 stream is damaged")
        block = _whole(read(packed), packed, "lz4")
        if method == _LZ4_STORED:
            yield block
            continue
        try:
            content = memoryview(decompress(block, output_len=original))
        except problem:
            yield None
        else:
            yield content if len(content) == original else None


def snappy_blocks(read: Read) -> Iterator[Block | None]:
    """xerial's `SnappyOutputStream`: a header of 16 bytes (magic, version, oldest version that
    reads it), then blocks: the length of each in 4 bytes, the most significant first, and one raw
    snappy block. Another stream, with its header, may follow.

    Raises:
        DamagedStream: when the stream breaks off or a length is damaged.
    """
    import cramjam

    decompress, length_of = cramjam.snappy.decompress_raw, cramjam.snappy.decompress_raw_len
    while header := read(4):
        _whole(header, 4, "snappy")
        if header == SNAPPY_MAGIC[:4]:
            if _whole(read(12), 12, "snappy")[:4] != SNAPPY_MAGIC[4:]:
                raise DamagedStream("the snappy stream is damaged")
            continue
        (packed,) = _length(header)
        if packed > LARGEST_BLOCK_BYTES:
            raise DamagedStream("the snappy stream is damaged")
        block = _whole(read(packed), packed, "snappy")
        try:
            fits = length_of(block) <= LARGEST_BLOCK_BYTES
            content = memoryview(decompress(block)) if fits else None
        except cramjam.DecompressionError:
            content = None
        yield content


def lzf_blocks(read: Read) -> Iterator[Block | None]:
    """ning's `LZFOutputStream`: chunks of at most 64 KiB, each `ZV`, its type (0 stored, 1
    compressed), its compressed length in 2 bytes and, where compressed, its original length.

    Raises:
        DamagedStream: when the stream breaks off or a header is damaged.
    """
    while header := read(5):
        _whole(header, 5, "lzf")
        kind = header[2]
        if header[:2] != LZF_MAGIC or kind > 1:
            raise DamagedStream("the lzf stream is damaged")
        packed = int.from_bytes(header[3:], "big")
        original = int.from_bytes(_whole(read(2), 2, "lzf"), "big") if kind else packed
        block = _whole(read(packed), packed, "lzf")
        yield lzf_decompress(block, original) if kind else block


def lzf_decompress(block: bytes, size: int) -> bytes | None:
    """Decompresses one lzf chunk to `size` bytes; None when it is damaged.

    A control byte n below 32 is followed by n + 1 literals. Otherwise it starts a back-reference:
    its upper three bits (if 7, plus the next byte) are the length, its lower five bits and one more
    byte the distance.
    """
    out = bytearray()
    position, end = 0, len(block)
    try:
        while position < end:
            control = block[position]
            position += 1
            if control < 32:
                out += block[position : position + control + 1]
                position += control + 1
                continue
            length = (control >> 5) + 2
            if length == 9:
                length += block[position]
                position += 1
            start = len(out) - ((control & 31) << 8) - block[position] - 1
            position += 1
            if start < 0:
                return None
            copied = out[start : start + length]
            while len(copied) < length:  # the copy runs into what it has just written
                copied += copied[: length - len(copied)]
            out += copied
    except IndexError:
        return None
    return bytes(out) if len(out) == size else None


def _whole(data: bytes, size: int, codec: str) -> bytes:
    if len(data) < size:
        raise DamagedStream(f"the {codec} stream breaks off")
    return data
