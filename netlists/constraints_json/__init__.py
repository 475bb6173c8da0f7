"""Constraints of a design (`netlists/constraints.py`) from JSON and to it: docs/constraints.md."""
