"""Sphinx configuration; build with ``make docs``."""

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

# The gallery imports every name that an example uses; this one is experimental there.
from sklearn.experimental import enable_iterative_imputer  # noqa: F401

os.environ.setdefault("MPLBACKEND", "agg")
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]  # our extensions; benchmarks, not installed

project = "pinvlearn"
author = "pinvlearn developers"
copyright = "2026, pinvlearn developers"
from offline import inventories  # noqa: E402  (in _ext)

release = installed_version("pinvlearn")
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_links",
    "api_pages",
    "benchmark_tables",
    "gallery_output",
    "offline",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "code"
language = "en_GB"

autosummary_generate = True
autosummary_filename_map = {  # else one file on a file system that ignores case
    "pinvlearn.svd": "pinvlearn.svd-function",
}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

intersphinx_mapping = inventories(
    {
        "python": "https://docs.python.org/3/",
        "numpy": "https://numpy.org/doc/stable/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "sklearn": "https://scikit-learn.org/stable/",
    },
    HERE / "_build" / "inventories",
)

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("pinvlearn",),
}

html_theme = "pydata_sphinx_theme"
html_title = f"pinvlearn {version}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_sidebars = {"index": []}  # the landing page leads by its cards
html_theme_options = {
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
}
