"""`placewright bench`: what there is, and whose --help it is."""

from __future__ import annotations

from click.testing import CliRunner

from workers.cli.bench import bench, known_benchmarks


def test_help_lists_the_benchmarks() -> None:
    answer = CliRunner().invoke(bench, ["--help"])
    assert answer.exit_code == 0
    assert "parsing" in known_benchmarks()
    listed = answer.output.partition("Benchmarks:")[2]
    assert [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "] == list(
        known_benchmarks()
    )


def test_help_behind_a_name_is_the_benchmarks_own() -> None:
    answer = CliRunner().invoke(bench, ["parsing", "--help"])
    assert answer.exit_code == 0
    assert answer.output.startswith("usage: ")


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    answer = CliRunner().invoke(bench, ["nothing"])
    assert answer.exit_code == 2
    assert "no benchmark 'nothing'; there are: " in answer.output
