"""Every expected failure that a tool, a prompt or a resource can meet, by its class: the text names what happened and
the next safe step, and invites to no needless scan.

The texts are read from the classes' source, so that a new class is judged before anybody meets it. A class without a
word of a step, or with one of a scan, has a row below with the reason.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from typing import Final

import pytest

import braindex
from braindex.domain.errors import BraindexError

# What tells a reader what to do, or that there is nothing to be done.
STEP: Final = re.compile(
    r"\b(ask|change|check|choose|clear|close|correct|drop|fetch|forget|free|give|import|install|keep|list|make|mount|move"
    r"|name|names|once|permission|put|raise|read|reinstall|reinstalling|remove|rename|repeat|report|review|run|say|set"
    r"|shorten|start|store|try|unset|update|upgrade|use|wait)\b",
    re.IGNORECASE,
)
SCAN: Final = re.compile(r"\bscan", re.IGNORECASE)
STANDS: Final = "the bounds stand in the message"
ARGUMENT: Final = "the class is given the step by whoever raises it"
CANCELLED: Final = "whoever cancelled waits for no answer"
INSIDE: Final = "never leaves the services: an answer or a scan goes on without"

WITHOUT_STEP: Final = {
    "BriefMisplaced": ARGUMENT,
    "BriefUnusable": "the old brief stays, and the engine's own words follow",
    "CompressedAnswer": ARGUMENT,
    "EngineCancelled": CANCELLED,
    "Failure": ARGUMENT,
    "GivenBrief": ARGUMENT,
    "ImpossibleCall": INSIDE,
    "InvalidPrices": "each mistake is named with its row and field",
    "InvalidSettings": "each mistake is named with its variable and what it takes",
    "KeyRefused": ARGUMENT,
    "KeyUnusable": ARGUMENT,
    "LedgerNeeded": ARGUMENT,
    "LimitOutOfRange": STANDS,
    "MemoryLost": ARGUMENT,
    "MergedIntoItself": "nothing was changed, and nothing has to be",
    "Missing": "an empty text is named",
    "NamedWorkspaceUnusable": ARGUMENT,
    "NoBrief": "told_to_agents adds it",
    "NoMemoryYet": INSIDE,
    "NoQuota": ARGUMENT,
    "NoWorkspace": "told_to_agents adds it",
    "NotACosine": STANDS,
    "NotAnId": STANDS,
    "NotAPage": STANDS,
    "NotAReference": "told_to_agents adds it",
    "NotASource": STANDS,
    "NotOneLine": STANDS,
    "NotText": "the character is named",
    "OutOfCredit": ARGUMENT,
    "PathNotThere": "says where a path begins",
    "SectionFailed": "the old brief stands, and the engine's own failure is in it",
    "StoreAdrift": ARGUMENT,
    "StoreDamaged": ARGUMENT,
    "StoreEmpty": INSIDE,
    "StoreError": ARGUMENT,
    "StoreNoFile": INSIDE,
    "StoreReadOnly": "the permission that is needed follows, in words of two classes",
    "SyncStopped": CANCELLED,
    "TooFewLinks": STANDS,
    "TooLong": STANDS,
    "BriefChanged": "says to look, then to decide anew",
    "NoteChanged": "says to look at it as it is now",
    "braindex.transport.failures.Unreachable": "its provider names the step",
    "UnknownVersion": "the last few are kept, and listed",
    "UnknownFilter": "the known values are listed",
    "UnknownModel": ARGUMENT,
    "VectorIndexBusy": INSIDE,
    "VectorIndexUnavailable": INSIDE,
    "VectorServerAway": INSIDE,
    "VectorServerBehind": INSIDE,
}  # fmt: skip

WITH_A_SCAN: Final = {
    "DimensionChanged": "nothing but a scan embeds anew",
    "IndexDamaged": "a scan is at work already, and none is asked for",
    "IndexSetAside": "the next question does it",
    "MemoryEnded": "the workspace is another one by now",
    "MemoryWithoutHome": "the workspace is not there yet",
    "NoBrief": "says that one makes the brief; told_to_agents adds that a question starts it",
    "NothingCalled": "said of a new workspace, to the command line",
    "PathRefused": "a person's command, since an agent may not",
    "RootEmptied": "after the disk is mounted",
    "RootMissing": "after the folder is back",
    "RootUnreadable": "after its permissions are mended",
    "ScanStopped": "says what the next one does",
    "StoreMissing": "there is no index yet",
    "SyncStopped": CANCELLED,
    "UnknownFolder": "a person's command, in a log: a hook makes no workspace",
    "UnknownWorkspace": "a person's command; told_to_agents says it in tools",
    "VectorIndexUnavailable": INSIDE,
    "VectorMismatch": "nothing but a scan embeds anew",
    "VectorServerBehind": INSIDE,
    "WorkspaceBusy": "says what is running",
    "WorkspaceDropped": "it was dropped on purpose",
}  # fmt: skip

# Surfaces of people, and of other programs: no tool raises these.
OTHER_SURFACES: Final = ("braindex.cli", "braindex.dashboard", "braindex.loop")


def _classes(base: type[BraindexError]) -> Iterator[type[BraindexError]]:
    for one in base.__subclasses__():
        yield one
        yield from _classes(one)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The words of every class that has some of its own, by its name."""
    for module in pkgutil.walk_packages(braindex.__path__, "braindex."):
        if not module.name.endswith("__main__") and not module.name.startswith(OTHER_SURFACES):
            importlib.import_module(module.name)
    ours = [one for one in set(_classes(BraindexError)) if one.__module__.startswith("braindex.")]
    told: dict[str, str] = {}
    for one in ours:
        if "__init__" in vars(one) and not one.__module__.startswith(OTHER_SURFACES):
            several = sum(other.__name__ == one.__name__ for other in ours) > 1
            told[f"{one.__module__}.{one.__name__}" if several else one.__name__] = _words(one)
    return told


def _words(error: type[BraindexError]) -> str:
    tree = ast.parse(textwrap.dedent(inspect.getsource(vars(error)["__init__"])))
    return " ".join(
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def test_the_walk_finds_them_all(texts):
    assert len(texts) > 90
    assert {"NoWorkspace", "LimitOutOfRange", "StoreLocked", "TimedOut", "CloudRefused"} <= texts.keys()


def test_every_failure_names_the_next_step(texts):
    without = {name for name, words in texts.items() if not STEP.search(words)}
    assert without - WITH_A_SCAN.keys() - WITHOUT_STEP.keys() == set()
    assert without >= WITHOUT_STEP.keys(), "these have a step by now"


def test_no_failure_invites_to_a_needless_scan(texts):
    inviting = {name for name, words in texts.items() if SCAN.search(words)}
    assert inviting == WITH_A_SCAN.keys() & texts.keys()


def test_no_row_is_of_a_class_that_is_gone(texts):
    assert not (WITHOUT_STEP.keys() | WITH_A_SCAN.keys()) - texts.keys()
