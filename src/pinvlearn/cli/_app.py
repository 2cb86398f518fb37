"""The commands, gathered."""

from typing import Annotated

import typer

import pinvlearn
from pinvlearn.cli import compare, fit, impute, merge, predict, report, svd, update

app = typer.Typer(
    help="Learn models from files by one linear solve; use, update and compare them.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # which fills lines, where rich would keep those of docstrings
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(fit.fit)
app.command()(predict.predict)
app.command()(update.update)
app.command()(merge.merge)
app.command()(impute.impute)
app.command()(compare.compare)
app.command()(svd.svd)
app.command()(report.report)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pinvlearn {pinvlearn.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass
