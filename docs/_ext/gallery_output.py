"""Directives that show what an example of the gallery made when it ran.

``.. gallery-output:: NAME N`` is what its N-th printing block printed, verbatim;
``.. gallery-figure:: NAME N`` its N-th figure, with the content as description. Both say so where
the example has not been run, in a build without the gallery.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

MARK = ".. rst-class:: sphx-glr-script-out"


class GalleryOutput(SphinxDirective):
    """The output that sphinx-gallery stored in an example's page."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        name, number = self.arguments[0], int(self.arguments[1])
        page = Path(self.env.srcdir) / "auto_examples" / f"{name}.rst"
        outputs = printed(page.read_text(encoding="utf-8")) if page.exists() else []
        if len(outputs) < number:
            return self.parse_text_to_nodes(f"The example ``{name}`` has not been run.")
        self.env.note_dependency(str(page))
        return [nodes.literal_block(outputs[number - 1], outputs[number - 1], language="none")]


class GalleryFigure(SphinxDirective):
    """A figure that an example drew, which leads to the example."""

    required_arguments = 2
    has_content = True

    def run(self) -> list[nodes.Node]:
        name, number = self.arguments[0], int(self.arguments[1])
        image = f"auto_examples/images/sphx_glr_{name}_{number:03d}.png"
        if not (Path(self.env.srcdir) / image).exists():
            return self.parse_text_to_nodes(f"The figure of :doc:`/auto_examples/{name}`.")
        return self.parse_text_to_nodes(
            f".. image:: /{image}\n   :alt: {' '.join(self.content)}\n"
            f"   :target: {_up(self.env.docname)}auto_examples/{name}.html"
        )


def _up(docname: str) -> str:
    return "../" * docname.count("/")


def printed(page: str) -> list[str]:
    """The printed blocks of an example's page, in order."""
    return [_literal(part) for part in page.split(MARK)[1:]]


def _literal(part: str) -> str:
    """The indented lines after the code-block directive, without their indentation."""
    lines = part.split(".. code-block:: none", 1)[1].splitlines()[1:]
    body = []
    for line in lines:
        if line.strip() and not line.startswith("    "):
            break
        body.append(line[4:])
    return "\n".join(body).strip("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives."""
    app.add_directive("gallery-output", GalleryOutput)
    app.add_directive("gallery-figure", GalleryFigure)
    return {"parallel_read_safe": True}
