"""Adapters of what keeps the history of a workspace: git, and the site that shows its commits."""
