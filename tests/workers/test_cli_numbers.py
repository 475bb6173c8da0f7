"""Every number that a command takes: what makes no sense is bad input, told in one line."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from workers.cli.main import COMMANDS, cli

NUMBERS = (click.types.IntParamType, click.types.FloatParamType)
OPTIONS = [
    (name, option)
    for name in COMMANDS
    for command in [cli.get_command(click.Context(cli), name)]
    if command is not None
    for option in command.params
    if isinstance(option.type, NUMBERS)
]


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf", "1e999", "-1", "-0.5", "", "many", "1_0e400", "0x10"])
@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=[f"{name} {option.opts[0]}" for name, option in OPTIONS])
def test_what_is_no_sensible_number_is_bad_input(command: str, option: click.Parameter, value: str) -> None:
    with pytest.raises(click.BadParameter) as refusal:
        option.type.convert(value, option, None)
    assert "is not a valid" in str(refusal.value) or "is not in the range" in str(refusal.value)
    assert refusal.value.exit_code == 2


def test_all_float_options_are_known_to_the_test_above() -> None:
    assert {"cluster --bloat", "place --seconds", "place --trials"} <= {f"{n} {o.opts[0]}" for n, o in OPTIONS}


def test_a_device_is_no_netlist() -> None:
    answer = CliRunner().invoke(cli, ["evaluate", "/dev/null"])
    assert str(answer.exception).startswith("/dev/null: is neither a file nor a folder, but a device, pipe or socket; ")
    assert "netlist.pb.txt" in str(answer.exception)
    assert "\n" not in str(answer.exception)
