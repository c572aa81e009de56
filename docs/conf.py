"""Sphinx settings. Built with warnings as errors: a page that is not linked or a link that leads nowhere fails."""

from sightline import __version__

project = "Sightline"
author = "The Sightline authors"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
# Parts of the pages beside them are no pages.
exclude_patterns = ["_build", "results/worlds/*.md", "results/viewpoint/*.md", "results/context/*.md"]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "Sightline"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["tables.css"]

# Docstrings name things in single backticks; show them as code, whether or not a page documents them.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_use_rtype = False
