"""What pages and builds need from elsewhere, so that both work without a network.

MathJax is copied from the package ``sphinx-mathjax-offline`` into the pages. Inventories of other
projects are fetched once; one that cannot be reached is left out, and its names stay plain.
"""

import importlib.util
import shutil
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

SCRIPT = "tex-svg.js"
"""One file, its glyphs within: nothing is loaded after it."""

SECONDS = 5
LOGGER = logging.getLogger(__name__)


def mathjax_script() -> Path | None:
    """The script in the installed package; None where there is none."""
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        return None
    script = Path(found.origin).parent / "static" / "mathjax" / SCRIPT
    return script if script.exists() else None


def use_shipped_mathjax(app: Sphinx, config: Config) -> None:
    """Let the pages name the copied script; without one they load MathJax from the network."""
    if mathjax_script() is None:
        LOGGER.info("sphinx-mathjax-offline is not installed: formulas will need the network")
    else:
        config.mathjax_path = f"mathjax/{SCRIPT}"


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Put the script among the pages."""
    script = mathjax_script()
    if error is None and script is not None and app.builder.format == "html":
        folder = Path(app.outdir) / "_static" / "mathjax"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(script, folder)


def inventories(projects: Mapping[str, str], folder: Path) -> dict[str, tuple[str, str]]:
    """What intersphinx is to be given: those whose inventories are here or can be fetched."""
    known = {}
    for name, address in projects.items():
        stored = folder / f"{name}.inv"
        if not stored.exists() and not _fetched(f"{address}objects.inv", stored):
            LOGGER.info("no inventory of %s: links to it are left out", name)
            break  # there is no network, and waiting for each of them helps no one
        known[name] = (address, str(stored))
    return known


def _fetched(address: str, target: Path) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            content = answer.read()
    except (urllib.error.URLError, OSError):
        return False
    if not content.startswith(b"# Sphinx inventory"):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return True


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect what is done for MathJax."""
    app.connect("config-inited", use_shipped_mathjax)
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True}
