"""Running the command line in tests."""

import typer.main
import typer.testing

from pinvlearn.cli._app import app

COMMAND = typer.main.get_command(app)
"""The command line, put together once: typer's runner would do so for every call."""
typer.testing._get_command = lambda app: COMMAND

SMALL = ("--size", 30)
"""Options of a network that is quickly fitted."""


def run(*args: object, input: str | bytes | None = None):
    return typer.testing.CliRunner().invoke(app, [str(arg) for arg in args], input=input)


def ok(*args: object, input: str | bytes | None = None):
    result = run(*args, input=input)
    assert result.exit_code == 0, result.output
    return result


def fails(code: int, *args: object) -> str:
    """The message of a command that must fail: one paragraph on stderr, nothing on stdout."""
    result = run(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert "Traceback" not in result.stderr
    return last
