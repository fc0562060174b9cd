"""Bytes to entities and tree to plan: what to index, what was left out and why, and what changed."""
