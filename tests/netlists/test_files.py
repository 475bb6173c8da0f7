"""Files of users: gzip by content, limits while inflating, encodings, complete-or-absent writing."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from pathlib import Path

import pytest

from netlists.errors import InputError, ParseError
from netlists.files import (
    BLOCK_BYTES,
    MAX_LINE_CHARS,
    Limits,
    atomic_bytes,
    atomic_text,
    read_blocks,
    text_blocks,
    text_lines,
)


def content(path: Path, limits: Limits | None = None) -> bytes:
    return b"".join(read_blocks(path, limits or Limits()))


def test_gzip_is_known_by_its_content_not_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"packed"))
    (tmp_path / "b.gz").write_bytes(b"plain")
    assert content(tmp_path / "a.txt") == b"packed"
    assert content(tmp_path / "b.gz") == b"plain"


@pytest.mark.parametrize("padding", [b"", b"\0" * 700])
def test_members_of_a_gzip_file_follow_each_other(tmp_path: Path, padding: bytes) -> None:
    path = tmp_path / "a.gz"
    parts = [b"x" * 100_000, b"", b"y" * 3_000_000, b"z"]
    path.write_bytes(b"".join(gzip.compress(part) for part in parts) + padding)
    assert content(path) == b"".join(parts)
    assert max(len(block) for block in read_blocks(path)) <= BLOCK_BYTES


def test_truncated_gzip_is_refused_at_every_length(tmp_path: Path) -> None:
    packed = gzip.compress(bytes(range(256)) * 8)
    path = tmp_path / "a.gz"
    for length in range(2, len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(InputError, match="truncated gzip data"):
            content(path)


def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(bytes(range(256)) * 8))
    packed[-6] ^= 0xFF  # the checksum
    path = tmp_path / "a.gz"
    path.write_bytes(packed)
    with pytest.raises(InputError, match="damaged gzip data"):
        content(path)
    path.write_bytes(gzip.compress(b"good") + b"rubbish after the last member")
    with pytest.raises(InputError, match="damaged gzip data"):
        content(path)


def test_a_gzip_bomb_is_stopped_while_it_inflates(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    packer = zlib.compressobj(9, wbits=31)
    megabyte = b"\0" * (1 << 20)
    with open(path, "wb") as file:
        for _ in range(300):
            file.write(packer.compress(megabyte))
        file.write(packer.flush())
    tracemalloc.start()
    with pytest.raises(InputError, match=r"bomb\.gz: inflates to more than 200 times its size"):
        for _ in read_blocks(path):
            pass
    with pytest.raises(InputError, match=r"larger than the limit of 20,000,000 bytes"):
        for _ in read_blocks(path, Limits(max_inflated_bytes=20_000_000, max_ratio=1e9)):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


def test_plain_files_meet_the_byte_limit_too(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 1000)
    with pytest.raises(InputError, match="larger than the limit of 999 bytes"):
        content(path, Limits(max_inflated_bytes=999))
    assert len(content(path, Limits(max_inflated_bytes=1000))) == 1000


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_byte_order_mark_do_not_show(tmp_path: Path, end: str, mark: str, last: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes((mark + end.join(["eins", "", "zwölf"]) + (end if last else "")).encode())
    assert list(text_lines(path)) == [(1, "eins"), (2, ""), (3, "zwölf")]


def test_a_line_end_across_two_blocks_is_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * (BLOCK_BYTES - 1) + b"\r\n" + b"y")
    assert [number for number, _ in text_lines(path)] == [1, 2]


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n" + "x" * (MAX_LINE_CHARS + BLOCK_BYTES))
    with pytest.raises(ParseError, match=r"a\.txt:2: a line longer than 4,194,304 characters"):
        list(text_lines(path))


def test_binary_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\nth\x00ree")
    with pytest.raises(ParseError, match=r"a\.txt:3: byte 0x00 is not text; is this a binary file\?"):
        list(text_blocks(path))
    path.write_bytes(b"one\n\xff\xfe\n")
    with pytest.raises(ParseError, match=r"a\.txt:2: byte 0xff is not UTF-8 text"):
        list(text_blocks(path))
    path.write_bytes("zwölf".encode()[:3])
    with pytest.raises(ParseError, match="ends within a UTF-8 character"):
        list(text_blocks(path))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        content(tmp_path / "absent")


def test_writing_is_complete_or_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")

    def fail_half_way() -> None:
        with atomic_text(path) as file:
            file.write("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_text() == "before"
    with atomic_bytes(path) as binary:
        binary.write(b"after")
    assert path.read_text() == "after"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_packed_output_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with atomic_text(tmp_path / name) as file:
            file.write("text\n" * 1000)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"text\n" * 1000
