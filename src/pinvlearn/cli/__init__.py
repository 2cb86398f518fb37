"""The command ``pinvlearn``: one file per command.

Data goes to stdout, notes and progress to stderr. Exit status: 0 done, 1 failed, 2 bad usage.
"""

import sys

# What the extras bring in: module → extra.
EXTRAS = {
    "typer": "cli",
    "rich": "cli",
    "pandas": "cli",
    "pyarrow": "cli",
    "skops": "cli",
    "matplotlib": "plot",
}


def main() -> None:
    """Run the command line."""
    try:
        from pinvlearn.cli._app import app
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        sys.exit(missing_extra(error.name))
    app(prog_name="pinvlearn")


def missing_extra(module: str) -> str:
    """What to tell a user whose installation lacks `module`."""
    return f"error: this command needs {module}: pip install 'pinvlearn[{EXTRAS[module]}]'"
