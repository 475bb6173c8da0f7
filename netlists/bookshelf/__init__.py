"""Bookshelf files (ICCAD04, ISPD05, ISPD06): `.aux .nodes .nets .pl .scl .wts` in and out. Rules: docs/formats.md."""
