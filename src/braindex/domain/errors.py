"""Expected failures. Each says what was wrong and the next safe step; surfaces map them once.

A class that belongs to one rule lives beside its raiser and derives from one of these.
"""


class BraindexError(Exception):
    """An expected failure: exit code 1 on the command line, a tool error over MCP."""


class UsageError(BraindexError):
    """The call itself was wrong (an empty question, a limit of 0): exit code 2 on the command line."""
