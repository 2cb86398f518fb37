"""Directives that show benchmark results straight from their JSON, so that no figure is typed.

Before a build every result gets a page, ``generated/benchmarks/NAME``. ``.. benchmark-summary::
KIND`` is a table of those pages; ``.. benchmark-findings:: NAME`` the findings of one as a list,
or with ``:only: PATTERN`` those in which the pattern is found; ``.. benchmark-table:: NAME NUMBER``
one of its tables, from 1. All leave out the targets that runs were held to, which the results in
the repository have.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from benchmarks.render import format_cell

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
MISSING = (
    "No result of {what} is stored in this checkout. Run ``python -m benchmarks {name}`` and "
    "build the documentation again."
)


PAGES = "generated/benchmarks"


class Summary(NamedTuple):
    """What a line of the summary says of a result beside its question."""

    peers: str
    pattern: str
    """Of the words of a finding that are shown, in groups; the findings are computed by the run."""
    loses: str

    words: str = "{}"
    """Around those groups."""

    def found(self, content: Mapping[str, Any]) -> str:
        """What the finding that fits says; the first finding where the run has no such one."""
        findings = [without_targets(finding) for finding in content["findings"]]
        for words in filter(None, (re.search(self.pattern, finding) for finding in findings)):
            said = self.words.format(*(words.groups() or [words[0]]))
            return said[0].upper() + said[1:].rstrip(".,;") + "."
        return next(iter(findings), "")


COMPARED = {
    "out-of-the-box": Summary(
        "eight peers, all at their defaults",
        r"feature machine and hist boosting: .*? sets, ahead on \d+",
        "Boosted trees learn in a fraction of the time, and stay ahead on some tables.",
    ),
    "out-of-the-box-inputs": Summary(
        "standardised, one-hot columns",
        r"RBF network, both: .*",
        "Tables of categories alone gain nothing.",
    ),
    "accuracy": Summary(
        "SVC, boosted trees",
        r"Mean accuracy.*",
        "Slower than SVC throughout; the better of the two leads on six of eight sets.",
    ),
    "regression": Summary(
        "SVR, boosted trees",
        r"90 % intervals.*",
        "Boosted trees lead on two of three sets and are far faster. One fold of five.",
    ),
    "mnist": Summary(
        "SVC, MLP, boosting",
        r"fields, RBF network: .*",
        "SVC on the same features is as accurate, in 0.6 of the larger network's time.",
    ),
    "letter": Summary(
        "SVC", r"8000 kernels: .*", "SVC of the same width is as accurate and far faster."
    ),
    "speed-loo": Summary(
        "RidgeCV",
        r"The path is .*",
        "Small ridges need all rows decomposed: more fits.",
    ),
    "speed-learning": Summary(
        "LAPACK's SVD, sklearn Ridge",
        r"(learning within .*?both at alpha = 1e-10.*?sets)",
        "scikit-learn's ridge, which neither measures nor refines its error, is faster.",
    ),
    "speed-streaming": Summary(
        "kernels and SVD",
        r"one thread, auto, 1e-10: (.*?) of build",
        "Singular kernel matrices without a ridge take about as long as the SVD.",
        "{} of the time to build and decompose, at a ridge of 1e-10 per row",
    ),
    "speed-kernel-elm": Summary(
        "Nystroem + Ridge, KernelRidge, SVC",
        r"Nystroem \+ Ridge takes .*",
        "SVC is far faster on letter; exact machines and SVC are more accurate.",
    ),
    "speed-svd": Summary(
        "SciPy svds, randomized_svd, fbpca",
        r"Time of the best peer over ours,.*? errors within 1e-06: .*?median [\d.]+",
        "None is faster; two power iterations come nearest, at an excess of 1e-3.",
    ),
    "speed-sparse": Summary(
        "eight peers at equal error",
        r"nothing set, time of the fastest peer .*",
        "Gram routes on a few matrices near full rank, by up to 31 %.",
    ),
    "speed-pca": Summary(
        "PCA, IncrementalPCA",
        r"fit(?:, one thread)?: time of the best peer over ours, .*?smallest [\d.]+",
        "Two power iterations are faster on some square rows, at a larger error.",
    ),
    "speed-completion": Summary(
        "cmfrec, Surprise, myFM",
        r"als to its best against Surprise SVD: ([\d.]*\d)\.? (.*)",
        "The first call in an installation compiles, for seconds.",
        "To its best {} times as fast as Surprise; {}",
    ),
    "speed-implicit": Summary(
        "implicit",
        r"At the same settings (.*?); the sum.*(precision at 10 differs.*)",
        "As it comes it takes several times implicit's time, to choose ridge and confidence.",
        "{}; {}",
    ),
    "lingpipe-movielens": Summary(
        "Surprise, cmfrec, myFM, cornac",
        r"movielens_100k, rank 10, gibbs: .*",
        "cornac and cmfrec fit faster than the most accurate of ours.",
    ),
    "speed-imputation": Summary(
        "IterativeImputer, KNNImputer",
        r"Missing at random.*",
        "KNNImputer wins where columns are related, but not linearly.",
    ),
    "speed-extreme-svm": Summary(
        "syrk, refits, one thread",
        r"adding 1,000 rows: ([\d.]*\d)",
        "Dask and Spark cost more CPU time than one process.",
        "Adding a thousand rows to a million is {} times as fast as a refit",
    ),
    "speed-onnx": Summary(
        "our own predict", r"At 1 row .*", "At a thousand rows most graphs are slower than predict."
    ),
}

PAPERS = {
    "jl19-1": Summary("[JL19] Table 1", r".*", "More columns than the paper from 8 % of noise on."),
    "jl19-3": Summary("[JL19] Table 3", r"FastSVD: .*", "A little above the paper on most sets."),
    "jl19-4": Summary("[JL19] Table 4", r"FastSVD: .*", "The gradient stop ends earlier."),
    "jl19-5": Summary("[JL19] Table 5", r".*", "Fractions depend on the SVD beside them."),
    "jl19-6": Summary("[JL19] Table 6", r".*", "Five sets only."),
    "jl19-7": Summary("[JL19] Table 7", r".*", "Two folds of ten."),
    "jl19-8": Summary("[JL19] Table 8", r".*", "The cut-off of the SVD was chosen to fit."),
    "speed-basis": Summary("one vector at a time", r"Blocked is .*", "Nowhere on these sets."),
    "mw15-2": Summary("[MW15] Table 2", r".*rates lie.*", "Below the paper on three sets."),
    "mw15-3": Summary("[MW15] Table 3", r".*rates lie.*", "The consistent rule loses here."),
    "mw15-4": Summary("[MW15] Table 4", r".*rates lie.*", "Below the paper on usps."),
    "js20": Summary("[JS20], Figs. 4 to 6", r"auto over .*", "Reordering leaves a larger error."),
    "he11": Summary(
        "[He11] on Dask and Spark", r".*", "A peer is more accurate on four of five sets."
    ),
}


class _FromResults(SphinxDirective):
    def read(self, path: Path) -> dict[str, Any]:
        self.env.note_dependency(str(path))
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content

    def shown(self, text: str) -> list[nodes.Node]:
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class BenchmarkSummary(_FromResults):
    """Question, peers, what was found and where we lose, one line for each result."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        shown = COMPARED if self.arguments[0] == "compared" else {**PAPERS, **_others()}
        options = (":class: summary", ":header-rows: 1", ":widths: 28 16 30 26")
        lines = [".. list-table::", *(f"   {option}" for option in options), ""]
        lines += _cells("question", "beside", "what was found", "where it falls short")
        for name, summary in shown.items():
            path = RESULTS / f"{name}.json"
            if path.exists():
                content = self.read(path)
                question = rst(content["question"].replace("`", ""))  # a link holds no code
                link = f":doc:`{question} </{PAGES}/{name}>`"
                lines += _cells(
                    link, rst(summary.peers), rst(summary.found(content)), summary.loses
                )
        return self.shown("\n".join(lines))


def _others() -> dict[str, Summary]:
    """Results without words of their own, so that none is missing."""
    stored = sorted(path.stem for path in RESULTS.glob("*.json"))
    unnamed = Summary("", r".*", "")
    return {name: unnamed for name in stored if name not in COMPARED and name not in PAPERS}


class BenchmarkFindings(_FromResults):
    """What one result shows, in its own computed sentences, or those that a page speaks of."""

    required_arguments = 1
    option_spec: ClassVar = {"only": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        (name,) = self.arguments
        path = RESULTS / f"{name}.json"
        if not path.exists():
            return self.shown(MISSING.format(what=f"``{name}``", name=name))
        said = [without_targets(one) for one in self.read(path)["findings"]]
        only = self.options.get("only", "")
        if not (chosen := [one for one in said if re.search(only, one)]):
            raise self.error(f"No finding of {name} has {only!r}; there are: {said}.")
        return self.shown(bullets(chosen))


class BenchmarkTable(_FromResults):
    """One table of one result, with its notes."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        name, number = self.arguments
        path = RESULTS / f"{name}.json"
        if not path.exists():
            return self.shown(MISSING.format(what=f"``{name}``", name=name))
        table = without_target_column(self.read(path)["tables"][int(number) - 1])
        return self.shown("\n\n".join([list_table(table), *map(rst, table["notes"])]))


def page(content: Mapping[str, Any], folder: Path, here: Path) -> str:
    """One result as reStructuredText."""
    title = rst(content["name"])
    parts = [f"{title}\n{'=' * len(title)}", rst(content["question"])]
    parts.append(f"*{rst(content['title'])}*")
    if content["findings"]:
        said = [without_targets(finding) for finding in content["findings"]]
        parts += ["**What this run shows**", bullets(said)]
    for table in map(without_target_column, content["tables"]):
        parts += [list_table(table), *(rst(without_targets(note)) for note in table["notes"])]
    for name in content["figures"]:
        parts.append(f".. image:: {os.path.relpath(folder / name, here)}\n   :alt: {name}")
    parts.append("**Conclusion:** " + rst(content["conclusion"].removeprefix("Conclusion: ")))
    about = content["environment"]
    packages = ", ".join(f"{name} {found}" for name, found in about["packages"].items() if found)
    parts.append(
        f"``{content['command']}`` on {rst(about['cpu'])}, {about['threads']} thread(s); "
        f"Python {about['python']}, {packages}."
    )
    return "\n\n".join(parts) + "\n"


def write_pages(app: Sphinx, config: Config) -> None:
    """A page for each result, and none for results that are gone."""
    folder = Path(app.srcdir) / PAGES
    folder.mkdir(parents=True, exist_ok=True)
    results = {path.stem: path for path in RESULTS.glob("*.json")}
    for old in folder.glob("*.rst"):
        if old.stem not in results:
            old.unlink()
    for name, path in results.items():
        content = json.loads(path.read_text(encoding="utf-8"))
        target, text = folder / f"{name}.rst", page(content, path.parent, folder)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def without_targets(finding: str) -> str:
    """A finding without what the run was hoped to reach, and how busy its machine was."""
    finding = re.sub(r" Load of the machine, other work included: [\d.]+\d", "", finding)
    finding = re.sub(r"\s*\((?:target|on \w+; target)[^()]*\)", "", finding)
    finding = re.sub(r"; target [\d.]+\)", ")", finding)
    finding = re.sub(r",? target [\d.]+(?=:)", "", finding)
    finding = re.sub(r"; \d+ of \d+ are within the target [\d.]+", "", finding)
    finding = re.sub(r", met in \d+ of \d+ cells", "", finding)
    return re.sub(r", \d+ of \d+ at most [\d.]+(?=;)", "", finding)


def without_target_column(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table without the column of what was hoped for."""
    kept = [i for i, column in enumerate(table["columns"]) if column != "target"]
    rows = [[_plain(row[i]) for i in kept] for row in table["rows"]]
    return {**table, "columns": [table["columns"][i] for i in kept], "rows": rows}


def _plain(cell: Any) -> Any:
    return without_targets(cell) if isinstance(cell, str) else cell


def _cells(*cells: str) -> list[str]:
    return [f"   {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(cells)]


def list_table(table: Mapping[str, Any]) -> str:
    """A table of cells as the benchmarks format them."""
    lines = [f".. list-table:: {rst(table['caption'])}", "   :header-rows: 1", ""]
    for row in [table["columns"], *table["rows"]]:
        lines += _cells(*(rst(format_cell(cell)) for cell in row))
    return "\n".join(lines)


def bullets(sentences: Sequence[str]) -> str:
    """A list of sentences."""
    return "\n".join(f"* {rst(sentence)}" for sentence in sentences)


def rst(text: str) -> str:
    """One line of the benchmarks' Markdown (bold and code) as reStructuredText."""
    parts = re.split(r"(``[^`]+``|`[^`]+`|\*\*[^*]+\*\*)", " ".join(str(text).split()))
    return "".join(_marked(part) if i % 2 else _escaped(part) for i, part in enumerate(parts))


def _marked(part: str) -> str:
    if part.startswith("**"):
        return f"**{_escaped(part[2:-2])}**"
    return f"``{part.strip('`')}``"


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_|`])", r"\\\1", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives, and write the pages."""
    app.connect("config-inited", write_pages)
    app.add_directive("benchmark-summary", BenchmarkSummary)
    app.add_directive("benchmark-findings", BenchmarkFindings)
    app.add_directive("benchmark-table", BenchmarkTable)
    return {"parallel_read_safe": True}
