"""What a user sees when something goes wrong: one paragraph, never a traceback."""

import errno
import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec

import typer

from pinvlearn.cli import EXTRAS, missing_extra

P = ParamSpec("P")

FAILED, USAGE, INTERRUPTED = 1, 2, 130
NO_MEMORY = "not enough memory. Try fewer rows, or a smaller network."
NO_SPACE = "no space is left to write to. Make some, or write to another disk."
FULL = (errno.ENOSPC, errno.EDQUOT)


class UserError(Exception):
    """Something that the user can put right: what was given, what is allowed, what to do.

    `code` is the exit status: ``FAILED`` when the data or a file is at fault, ``USAGE`` when
    the command line is.
    """

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn whatever `command` raises into a message on stderr and an exit status."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            if kwargs.get("quiet"):
                warnings.simplefilter("ignore")
            try:
                return command(*args, **kwargs)
            except KeyboardInterrupt:
                # A page is written after the file that it tells of, which stays.
                message, code = "interrupted; no file was left half written.", INTERRUPTED
            except BrokenPipeError:
                # The reader of stdout, `head` perhaps, has seen enough; what Python would still
                # flush at exit must not complain either.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(FAILED) from None
            except Exception as error:
                message, code = _explain(error)
        typer.echo(message, err=True)
        raise typer.Exit(code)

    return run


def sentence(error: Exception) -> str:
    """What an error says, in one line and without the full stop that follows."""
    return " ".join(str(error).split()).rstrip(". ")


def _explain(error: Exception) -> tuple[str, int]:
    text = " ".join(str(error).split())
    if isinstance(error, UserError):
        return f"error: {text}", error.code
    if os.environ.get("PINVLEARN_TRACEBACK"):
        return "".join(traceback.format_exception(error)), FAILED
    if isinstance(error, ImportError) and error.name in EXTRAS:
        return missing_extra(error.name), FAILED
    if isinstance(error, MemoryError):
        return f"error: {text or NO_MEMORY}", FAILED
    if isinstance(error, OSError) and error.errno in FULL:
        return f"error: {NO_SPACE}", FAILED
    if isinstance(error, OSError | ValueError):
        return f"error: {text}", FAILED
    return (
        f"error: {type(error).__name__}: {text}. This should not happen: please report it. Set "
        "PINVLEARN_TRACEBACK=1 to see where it comes from."
    ), FAILED


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    typer.echo(f"note: {message}", err=True)
