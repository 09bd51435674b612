"""Settings of the site, which `make docs` builds. Nothing is fetched from the network."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

import meanparity

os.environ.setdefault("MPLBACKEND", "agg")
DOCS = Path(__file__).parent

project = "meanparity"
author = "The meanparity developers"
project_copyright = "The meanparity developers. BSD-3-Clause"
version = release = meanparity.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
default_role = "py:obj"  # `name` in a docstring leads to its page
exclude_patterns = ["_build"]

# pages
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
html_title = "meanparity"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "meanparity"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"start": [], "gallery/index": [], "changes": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# reference
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # the column beside a page is narrow
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# gallery
sphinx_gallery_conf = {
    "examples_dirs": [str(DOCS.parent / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "min_reported_time": 5,
    "show_memory": False,
    "write_computation_times": False,  # these pages load scripts from the network
    "download_all_examples": True,
    "abort_on_example_error": False,
    "plot_gallery": "True",
    "reference_url": {"meanparity": None},
    "backreferences_dir": "api/examples",
    "doc_module": ("meanparity",),
    "inspect_global_variables": True,
    "default_thumb_file": str(DOCS / "images" / "tradeoff.png"),
}
suppress_warnings = ["config.cache"]
templates_path = ["_templates"]
# methods that scikit-learn adds to every estimator, and documents itself
autodoc_default_options = {
    "exclude-members": ", ".join(
        [
            "get_metadata_routing",
            "get_params",
            "set_params",
            "set_output",
            "set_fit_request",
            "set_partial_fit_request",
            "set_predict_request",
            "set_score_request",
            "set_transform_request",
            "score",
            "combine",
        ]
    )
}

# documents at the root of the repository are pages of the site under other names
ROOT_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "security.md",
}
ROOT_LINK = re.compile(r"\]\((?:\.\./)?(" + "|".join(map(re.escape, ROOT_PAGES)) + r")(#[^)]*)?\)")


def link_root_pages(text: str) -> str:
    """The same Markdown, with links to documents at the root leading to their pages."""
    return ROOT_LINK.sub(lambda match: f"]({ROOT_PAGES[match[1]]}{match[2] or ''})", text)


def setup(app: Sphinx) -> None:
    """Read the pages of the site, and documents that they include, with links that lead there."""

    def read_page(app: Sphinx, docname: str, content: list[str]) -> None:
        content[0] = link_root_pages(content[0])

    def read_included(app: Sphinx, path: Path, parent: str, content: list[str]) -> None:
        content[0] = link_root_pages(content[0])

    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
