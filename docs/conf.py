"""How Sphinx makes the site of the pages beside this file. `python docs/build.py` builds and checks it."""

project = "braindex"
copyright = "The braindex authors"  # noqa: A001 - Sphinx's name for it
extensions = ["myst_parser"]
# Headings get the anchors that they have on GitHub, so one link serves both; tests/test_docs.py checks them as well.
myst_heading_anchors = 4
highlight_language = "text"  # a block without a language is output, or a command line
html_theme = "furo"  # a light and a dark face, readable on a telephone, and nothing in it is fetched from elsewhere
html_title = "braindex"
html_copy_source = False
html_show_sphinx = False
