"""Pictures of a placement and its JSON form: `write_svg`, `write_png`, `write_json`. Formats: docs/formats.md."""

from netlists.pictures.json_file import write_json
from netlists.pictures.png import write_png
from netlists.pictures.svg import write_svg

__all__ = ["write_json", "write_png", "write_svg"]
