"""A multipart body to files on the data disk, piece by piece: `receive(request, folder, …)` in, `Upload` out.

Nothing is held beyond a megabyte, nothing goes through the system's temporary folder, and no name of the client's is
used for a file. If anything fails, the folder is removed again. Limits: bytes by `BodyLimit`, the rest here.
"""

from __future__ import annotations

import errno
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import anyio.to_thread
from fastapi import Request
from pydantic import ValidationError
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from backend.core.errors import (
    BadRequestError,
    NoSpaceError,
    TooLargeError,
    UnprocessableError,
    UnsupportedMediaError,
)
from backend.schemas import ReadingOptions

PIECE_BYTES = 1 << 20  # handed to a thread at once: large enough that the hand-over costs nothing
RESERVE_BYTES = 64 << 20  # stays free on the data disk for the database and running jobs
MAX_NAME_CHARACTERS = 200
MAX_HEADER_BYTES = 8192
OPTIONS = ReadingOptions.model_fields
TEXT_FIELDS = (b"name", *(name.encode() for name in OPTIONS))
# Endings taken over into our own names; readers tell formats by content and use these for clear refusals.
SUFFIXES = (
    *(
        ".pb.txt",
        ".pbtxt",
        ".plc",
        ".pb",
        ".lef",
        ".def",
        ".v",
        ".sv",
        ".aux",
        ".nodes",
        ".nets",
        ".pl",
        ".scl",
        ".wts",
    ),
    *(".txt", ".gds", ".zip", ".tar", ".tgz", ".constraints.json", ".json"),
)


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    name: str  # the client's, for display only
    stored: str  # ours
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Upload:
    name: str | None  # the form field `name`
    options: dict[str, Any] = field(default_factory=dict)  # form fields of `ReadingOptions`, where they were filled in
    files: tuple[StoredFile, ...]


async def receive(request: Request, folder: Path, *, max_files: int) -> Upload:
    """Stream the request's files into `folder`, which is made. Raises ServiceError; then the folder is gone."""
    content_type, options = parse_options_header(request.headers.get("content-type"))
    if content_type != b"multipart/form-data" or b"boundary" not in options:
        raise UnsupportedMediaError("not-multipart", "Send the files as multipart/form-data, with a boundary")
    declared = request.headers.get("content-length", "")
    try:
        folder.mkdir(parents=True)
        free = shutil.disk_usage(folder).free - RESERVE_BYTES
        if free < (int(declared) if declared.isdigit() else 1):
            raise NoSpaceError("disk-full", f"{max(free, 0):,} bytes are free for uploads")
        receiver = Receiver(options[b"boundary"], folder, max_files)
        try:
            piece = bytearray()
            async for chunk in request.stream():
                piece += chunk
                if len(piece) >= PIECE_BYTES:
                    await anyio.to_thread.run_sync(receiver.feed, bytes(piece))
                    piece.clear()
            await anyio.to_thread.run_sync(receiver.feed, bytes(piece))
            return receiver.finish()
        finally:
            receiver.close()
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpaceError("disk-full", "The disk became full while the files came in") from error
        raise


class Receiver:
    """One multipart body, fed in pieces of any size. Plain blocking code: runs in a thread."""

    def __init__(self, boundary: bytes, folder: Path, max_files: int) -> None:
        self.folder = folder
        self.max_files = max_files
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._on_part_begin,
                "on_header_field": lambda data, start, end: self._add_header(self._header_name, data[start:end]),
                "on_header_value": lambda data, start, end: self._add_header(self._header_value, data[start:end]),
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_part_data": self._on_part_data,
                "on_part_end": self._on_part_end,
                "on_end": self._on_end,
            },
        )
        self._header_name, self._header_value = bytearray(), bytearray()
        self._disposition = b""
        self._field = b""
        self._text: bytearray | None = None  # of one of TEXT_FIELDS
        self._file: BinaryIO | None = None
        self._file_names: tuple[str, str] = ("", "")
        self._name: str | None = None
        self._options: dict[str, Any] = {}
        self._files: list[StoredFile] = []
        self._complete = False

    def feed(self, data: bytes) -> None:
        if not data:
            return
        try:
            self._parser.write(data)
        except MultipartParseError as error:
            raise BadRequestError("bad-multipart", f"The multipart body is broken: {error}") from None

    def finish(self) -> Upload:
        if not self._complete:
            raise BadRequestError("bad-multipart", "The multipart body ends before its last boundary")
        if not self._files:
            raise UnprocessableError("no-files", "The form holds no file; send at least one part with a filename")
        return Upload(name=self._name or None, files=self._in_order(), options=self._options)

    def _in_order(self) -> tuple[StoredFile, ...]:
        """The files under their final names, whose order is that of the client's names: part2 before part10."""
        files = []
        for index, file in enumerate(sorted(self._files, key=lambda file: natural_order(file.name))):
            stored = stored_name(index, file.name)
            (self.folder / file.stored).rename(self.folder / stored)
            files.append(StoredFile(name=file.name, stored=stored, bytes=file.bytes))
        return tuple(files)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _on_part_begin(self) -> None:
        self._disposition, self._field, self._text = b"", b"", None

    def _add_header(self, part: bytearray, data: bytes) -> None:
        part += data
        if len(part) > MAX_HEADER_BYTES:
            raise BadRequestError("bad-multipart", f"A part has a header of more than {MAX_HEADER_BYTES} bytes")

    def _on_header_end(self) -> None:
        if bytes(self._header_name).lower() == b"content-disposition":
            self._disposition = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _on_headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._field = options.get(b"name", b"")
        if b"filename" not in options:
            self._text = bytearray()
            return
        if len(self._files) >= self.max_files:
            raise TooLargeError("too-many-files", f"A design has at most {self.max_files} files")
        shown = shown_name(options[b"filename"].decode("utf-8", "replace"))
        stored = f"incoming-{len(self._files)}"
        self._file_names = (shown, stored)
        self._file = open(self.folder / stored, "xb")  # noqa: SIM115 (closed by on_part_end or close)

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(memoryview(data)[start:end])
        elif self._text is not None and self._field in TEXT_FIELDS:
            self._text += data[start:end]
            if len(self._text) > 4 * MAX_NAME_CHARACTERS:
                field = self._field.decode()
                raise UnprocessableError("bad-name", f"{field} has more than {MAX_NAME_CHARACTERS} characters")

    def _on_part_end(self) -> None:
        if self._file is not None:
            size = self._file.tell()
            self.close()
            shown, stored = self._file_names
            self._files.append(StoredFile(name=shown, stored=stored, bytes=size))
        elif self._text is not None and self._field == b"name":
            name = self._text.decode("utf-8", "replace").strip()
            if len(name) > MAX_NAME_CHARACTERS:
                raise UnprocessableError("bad-name", f"name has more than {MAX_NAME_CHARACTERS} characters")
            self._name = clean(name)
        elif self._text is not None and (name := self._field.decode()) in OPTIONS:
            word = self._text.decode("utf-8", "replace").strip()
            if word:
                self._options[name] = option_value(name, word)

    def _on_end(self) -> None:
        self._complete = True


def option_value(name: str, word: str) -> bool | float:
    """The value of an option of reading, as a form has it. Raises UnprocessableError."""
    shown = clean(word)[:40]
    if OPTIONS[name].annotation is bool:
        if word not in ("true", "false"):
            raise UnprocessableError("bad-option", f"{name} is '{shown}', not true or false")
        return word == "true"
    try:
        value = ReadingOptions.model_validate({name: word}).macro_height
    except ValidationError as error:
        raise UnprocessableError("bad-option", f"{name} is '{shown}': {error.errors()[0]['msg']}") from None
    assert value is not None
    return value


def shown_name(name: str) -> str:
    """The client's file name without folders and control characters, for display."""
    return clean(re.split(r"[/\\]", name)[-1])[:MAX_NAME_CHARACTERS] or "unnamed"


def natural_order(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """Sort key: initial.plc is the start among several .plc files, else by name with numbers as numbers."""
    pieces = [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in re.split(r"(\d+)", name)]
    return not name.lower().startswith("initial.plc"), pieces


def clean(text: str) -> str:
    return "".join(character for character in text if character.isprintable()).strip()


def stored_name(index: int, shown: str) -> str:
    """Our own name of the index-th file: only a known ending is taken over, which tells readers the format."""
    lower = shown.lower()
    packed = ".gz" if lower.endswith(".gz") else ""
    lower = lower.removesuffix(".gz")
    suffix = next((suffix for suffix in SUFFIXES if lower.endswith(suffix)), ".dat")
    return f"file-{index:02d}{suffix}{packed}"
