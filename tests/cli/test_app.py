"""The command line as a user meets it: what goes in, what comes out, and what mistakes say."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import pinvlearn
from commands import ok, run


@pytest.mark.parametrize(
    "args",
    [
        ["fit"],
        ["fit", "table.csv", "--model", "forest"],
        ["fit", "table.csv", "--size", "0"],
        ["fit", "table.csv", "--seed", "x"],
        ["compare", "--folds", "0"],
        ["sing"],
    ],
    ids=" ".join,
)
def test_bad_usage(args) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_as_a_module() -> None:
    command = [sys.executable, "-m", "pinvlearn", "fit", "table.csv", "--seed", "x"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--seed" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="its shell has no head")
@pytest.mark.sweep
def test_as_a_script_into_a_closed_pipe(csv, model) -> None:
    script = Path(sys.executable).with_name("pinvlearn")
    pd.concat([pd.read_csv(csv)] * 150).to_csv("long.csv", index=False)  # more than a pipe holds
    pipe = f"{script} predict {model} long.csv --quiet | head -1"
    done = subprocess.run(pipe, shell=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("prediction\n", "")


def test_help_fills_its_lines() -> None:
    lines = [line.strip() for line in ok("fit", "--help").stdout.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("Columns of numbers"))
    assert all(len(line) > 60 for line in lines[start : lines.index("", start) - 1])


def test_version_and_help() -> None:
    assert ok("--version").stdout == f"pinvlearn {pinvlearn.__version__}\n"
    assert all(command in ok("--help").stdout for command in ("fit", "predict", "compare"))


def test_the_shell_completes_commands_and_options(monkeypatch) -> None:
    # Tests may be started by a shell that has no completion, as make does.
    monkeypatch.setattr("shellingham.detect_shell", lambda *_: ("bash", "/bin/bash"))
    assert "COMP_WORDS" in ok("--show-completion", "bash").stdout
