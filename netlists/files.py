"""Bytes of user files, safely: plain or gzip (known by content, not by name), within limits, in blocks.

In: a path. Out: blocks of bytes or text, or lines, never more than a few MiB in memory at once. Writing goes to a
temporary name beside the target and is renamed when complete, so a half-written file never has the real name.

Sources: RFC 1952 (gzip: magic, several members). Called by every reader and writer of this room; knows no format.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from netlists.errors import InputError, ParseError

BLOCK_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
MAX_LINE_CHARS = 4 << 20  # of formats read by lines
RATIO_FREE_BYTES = 16 << 20  # small files may inflate as they like: repeated text reaches 1000:1 honestly


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much a file may become while it is read. The inflated size is counted as it grows, before it is stored."""

    max_inflated_bytes: int = 4 << 30
    max_ratio: float = 200.0  # inflated / stored; real netlists reach 25 to 40 (counted from 16 MiB on)
    max_nodes: int = 2_000_000


DEFAULT_LIMITS = Limits()


def read_blocks(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """The file's bytes, inflated where it is gzip, in blocks of at most 1 MiB. Raises InputError beyond the limits."""
    try:
        if path.exists() and not path.is_file():  # a folder cannot be read, some devices never end
            raise InputError(f"{path.name}: is a {'folder' if path.is_dir() else 'device, pipe or socket'}, not a file")
        with open(path, "rb") as file:
            first = file.read(len(GZIP_MAGIC))
            file.seek(0)
            blocks = _inflate(path, file, limits) if first == GZIP_MAGIC else iter(lambda: file.read(BLOCK_BYTES), b"")
            total = 0
            for block in blocks:
                total += len(block)
                if total > limits.max_inflated_bytes:
                    raise InputError(
                        f"{path.name}: larger than the limit of {limits.max_inflated_bytes:,} bytes of text"
                    )
                yield block
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read: {error.strerror or error}") from error


def _inflate(path: Path, file: IO[bytes], limits: Limits) -> Iterator[bytes]:
    """Every member of a gzip file, one after the other; zero bytes after the last one are padding."""
    stored, inflated = 0, 0
    inflater = zlib.decompressobj(wbits=31)
    pending = b""
    try:
        while True:
            if not pending:
                pending = file.read(BLOCK_BYTES // 16)
                stored += len(pending)
                if not pending:
                    break
            if inflater.eof:
                pending = pending.lstrip(b"\0")
                if not pending:
                    continue
                inflater = zlib.decompressobj(wbits=31)
            block = inflater.decompress(pending, BLOCK_BYTES)
            pending = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            inflated += len(block)
            if inflated > RATIO_FREE_BYTES and inflated > limits.max_ratio * stored:
                raise InputError(
                    f"{path.name}: inflates to more than {limits.max_ratio:g} times its size"
                    f" ({stored:,} bytes became {inflated:,}); refused as a possible gzip bomb"
                )
            if block:
                yield block
        # An inflater may hold output back although all input is read.
        while not inflater.eof and (block := inflater.decompress(inflater.unconsumed_tail, BLOCK_BYTES)):
            yield block
    except zlib.error as error:
        raise InputError(f"{path.name}: damaged gzip data after {inflated:,} inflated bytes ({error})") from error
    if not inflater.eof:
        raise InputError(f"{path.name}: truncated gzip data: it ends after {inflated:,} inflated bytes")


def text_blocks(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[str]:
    """The file as text blocks: UTF-8 with or without byte-order mark; CRLF and CR come out as LF."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8-sig")(), translate=True)
    line = 1
    for block in read_blocks(path, limits):
        try:
            text = decoder.decode(block)  # type: ignore[arg-type]
        except UnicodeDecodeError as error:
            line += bytes(error.object[: error.start]).count(b"\n")
            value = error.object[error.start]
            raise ParseError(path, line, f"byte 0x{value:02x} is not UTF-8 text; is this a binary file?") from error
        if "\0" in text:
            line += text.count("\n", 0, text.index("\0"))
            raise ParseError(path, line, "byte 0x00 is not text; is this a binary file?")
        line += text.count("\n")
        yield text
    try:
        yield decoder.decode(b"", final=True)  # type: ignore[arg-type]
    except UnicodeDecodeError as error:
        raise ParseError(path, line, "the file ends within a UTF-8 character") from error


def text_lines(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[tuple[int, str]]:
    """(line number from 1, line without its end) of the file. Raises ParseError for a line beyond MAX_LINE_CHARS."""
    rest, number = "", 0
    for block in text_blocks(path, limits):
        *lines, rest = (rest + block).split("\n")
        if len(rest) > MAX_LINE_CHARS:
            raise ParseError(path, number + len(lines) + 1, f"a line longer than {MAX_LINE_CHARS:,} characters")
        for line in lines:
            number += 1
            yield number, line
    if rest:
        yield number + 1, rest


@contextlib.contextmanager
def atomic_bytes(path: Path) -> Iterator[IO[bytes]]:
    """A binary file to write to that gets its name only when all is well; an error leaves what was there before."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def atomic_text(path: Path) -> Iterator[IO[str]]:
    """The same for text: UTF-8, LF, gzip when the name ends in .gz.

    gzip headers hold neither time nor name, so equal content gives equal bytes.
    """
    with contextlib.ExitStack() as stack:
        raw = stack.enter_context(atomic_bytes(path))
        if path.suffix == ".gz":
            packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6)
            raw = cast(IO[bytes], stack.enter_context(packed))
        yield stack.enter_context(io.TextIOWrapper(raw, encoding="utf-8", newline="\n"))
