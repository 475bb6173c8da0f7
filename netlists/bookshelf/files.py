"""Which Bookshelf file is which: by content, and by the `.aux` where several are of one kind.

In: paths. Out: `BookshelfFiles`. Called by `netlists.load`; reads no more than the head of each file, and the `.aux`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netlists.bookshelf.lines import without_comment
from netlists.errors import InputError, ParseError
from netlists.files import DEFAULT_LIMITS, Limits, text_lines

KINDS = ("nodes", "nets", "pl", "scl", "wts")
SUFFIXES = tuple(f".{kind}" for kind in ("aux", *KINDS))
_UCLA = re.compile(r"UCLA\s+(\w+)\s", re.I)
_AUX = re.compile(r"RowBasedPlacement\s*:", re.I)
_HEAD_LINES = 200  # of comments before the first line that says what a file is


@dataclass(frozen=True, kw_only=True)
class BookshelfFiles:
    """The files of one design; None where there is none."""

    nodes: Path
    nets: Path
    pl: Path | None = None
    scl: Path | None = None
    wts: Path | None = None
    aux: Path | None = None
    unread: tuple[Path, ...] = ()  # of kinds that are not used here

    def all(self) -> list[Path]:
        files = (self.aux, self.nodes, self.nets, self.wts, self.pl, self.scl)
        return [path for path in files if path is not None]


def kind_of(path: Path, limits: Limits = DEFAULT_LIMITS) -> str | None:
    """'aux', 'nodes', 'nets', … by the first line that is no comment, else by the name; None: of another format."""
    kind = _kind_by_content(path, limits)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix.removeprefix(".") if kind not in (*KINDS, "aux") and suffix in SUFFIXES else kind


def _kind_by_content(path: Path, limits: Limits) -> str | None:
    try:
        for number, line in text_lines(path, limits):
            if text := without_comment(line[:10_000]):
                if _AUX.match(text):
                    return "aux"
                found = _UCLA.match(text + " ")
                return found[1].lower() if found else None
            if number > _HEAD_LINES:
                return None
    except InputError:  # whoever reads the file says what is wrong with it
        return None
    return None


def find_bookshelf(kinds: Mapping[Path, str], limits: Limits = DEFAULT_LIMITS) -> BookshelfFiles:
    """One file of each kind. `kinds`: what `kind_of` says of each. A lone `.aux` brings the files beside it.

    Raises InputError where files are missing or it is not clear which of several is meant.
    """
    aux = [path for path, kind in kinds.items() if kind == "aux"]
    if len(aux) > 1:
        raise InputError(f"several .aux files: {_names(aux)}; give one design")
    named = _named_by(aux[0], limits) if aux else []
    if aux and len(kinds) == 1:
        kinds = {aux[0]: "aux", **_beside(aux[0], named, limits)}
    chosen: dict[str, Path] = {}
    for kind in KINDS:
        of_kind = [path for path, found in kinds.items() if found == kind]
        if len(of_kind) > 1:
            of_kind = [path for path in of_kind if path.name.removesuffix(".gz") in named] or of_kind
        if len(of_kind) > 1:
            raise InputError(f"several files of kind {kind}: {_names(of_kind)}; give one, or an .aux that names it")
        if of_kind:
            chosen[kind] = of_kind[0]
    if missing := [f".{kind}" for kind in ("nodes", "nets") if kind not in chosen]:
        given = _names(list(kinds))
        raise InputError(f"a Bookshelf design needs a .nodes and a .nets file; given: {given}; missing: {missing[0]}")
    unread = tuple(path for path, kind in kinds.items() if kind not in (*KINDS, "aux"))
    return BookshelfFiles(
        nodes=chosen["nodes"],
        nets=chosen["nets"],
        pl=chosen.get("pl"),
        scl=chosen.get("scl"),
        wts=chosen.get("wts"),
        aux=aux[0] if aux else None,
        unread=unread,
    )


def _named_by(aux: Path, limits: Limits) -> list[str]:
    """Names of files in an `.aux`, without folders. Raises ParseError."""
    names: list[str] = []
    for number, line in text_lines(aux, limits):
        text = without_comment(line)
        if found := _AUX.match(text):
            names += [Path(word).name.removesuffix(".gz") for word in text[found.end() :].split()]
        elif text:
            raise ParseError(aux, number, "expected 'RowBasedPlacement : file file …'", line)
    return names


def _beside(aux: Path, named: Sequence[str], limits: Limits) -> dict[Path, str]:
    found: dict[Path, str] = {}
    for name in named:
        candidates = (aux.parent / name, aux.parent / f"{name}.gz")
        path = next((path for path in candidates if path.is_file()), None)
        if path is not None:
            found[path] = kind_of(path, limits) or Path(name).suffix.removeprefix(".")
        elif not name.lower().endswith(".wts"):  # often absent
            raise InputError(f"{aux.name}: names '{name}', which is not beside it")
    return found


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths)
