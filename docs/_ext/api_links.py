"""Links to the API from every name that the pages write as code, without a role for each.

``RBFNetworkClassifier``, ``svd(A, rank=20)`` and ``PartialSVD.recommend`` in double backquotes
become links to the page of that class or function; a name on its own page stays as it is.
"""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import pinvlearn

NAMES = sorted(set(pinvlearn.__all__) - {"summaries"}, key=len, reverse=True)
WRITTEN = re.compile(rf"(?:pinvlearn\.)?({'|'.join(NAMES)})((?:\.[a-z_]+)?)(?:\(.*\))?", re.DOTALL)


class LinkNames(SphinxTransform):
    """Put a reference in place of every literal that is a public name or a call of one."""

    default_priority = 400

    def apply(self) -> None:
        """Of one document."""
        for literal in list(self.document.findall(nodes.literal)):
            found = WRITTEN.fullmatch(literal.astext())
            if found and not _stays(literal) and not self._is_own(found[1]):
                literal.replace_self(_reference(literal, found[1], found[2]))

    def _is_own(self, name: str) -> bool:
        return self.env.docname.endswith(f"/pinvlearn.{name}")


def _stays(literal: nodes.literal) -> bool:
    """Whether it stands in a link or a title, where a link would be a link too many."""
    node = literal.parent
    while node is not None:
        if isinstance(node, nodes.title | nodes.reference | addnodes.pending_xref):
            return True
        node = node.parent
    return False


def _reference(literal: nodes.literal, name: str, member: str) -> addnodes.pending_xref:
    attribute = member if hasattr(getattr(pinvlearn, name), member[1:]) and member else ""
    return addnodes.pending_xref(
        "",
        literal.deepcopy(),
        refdomain="py",
        reftype="obj",
        reftarget=f"pinvlearn.{name}{attribute}",
        refexplicit=True,
        refwarn=False,
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the transform."""
    app.add_transform(LinkNames)
    return {"parallel_read_safe": True}
