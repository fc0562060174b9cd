"""Whoever searches docs/troubleshooting.md for the message on their screen finds it."""

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest
from tests.docs.messages import messages, messages_of, says
from tests.docs.pages import ROOT, page

import braindex
from braindex.domain.errors import BraindexError

# What nobody meets as it stands here, each with the reason.
INTERNAL = {
    "BraindexError": "what all are",
    "UsageError": "what those of a wrong call are",
    "EngineFailed": "what those of engines are",
    "Failure": "what those of providers are",
    "StoreError": "what those of stores are",
    "StatusNotPosted": "what those of a commit's status are",
    "VectorServerSilent": "a VectorServerAway, told apart for what is done next",
    "EngineCancelled": "whoever asked has left",
    "NamedWorkspaceUnusable": "says who named the workspace before another error's message",
    "BriefMisplaced": "has the message of BriefUnreadable",
    "Misused": "is told to an engine in the middle of a review",
    "NothingHandedOver": "of a call that braindex makes to itself",
    "ImpossibleCall": "a provider's numbers make no sense: the call is left out of the ledger, with a line in the log",
    "MergedIntoItself": "SameWorkspace is raised before it comes to that",
    "ForgetWhat": "no command and no tool forgets episodes",
    "BodyTooLarge": "a browser is told so by its status before a page could show it",
    "NotASource": "no command and no tool takes a source",
}
LEAST_LETTERS = 7  # that a row quotes, so that it is about one message


def _errors(above: type[BraindexError] = BraindexError) -> Iterator[type[BraindexError]]:
    for module in pkgutil.walk_packages(braindex.__path__, "braindex."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    yield above
    for one in above.__subclasses__():
        if one.__module__.startswith("braindex."):
            yield from _errors(one)


def _quoted() -> list[str]:
    """What the first cells of the page's tables quote."""
    text = page("docs/troubleshooting.md").text
    return [found[2].strip() for found in re.finditer(r"^\| (`+)(.+?)\1 \|", text, re.MULTILINE)]


ERRORS = sorted(set(_errors()), key=lambda error: (error.__module__, error.__name__))


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_is_in_the_page(error):
    told = any(says(message, quoted) for message in messages_of(error) for quoted in _quoted())
    name = error.__name__
    assert told != (name in INTERNAL), "quote its message, or say why nobody meets it; not both"


def test_every_row_quotes_a_message_that_there_is():
    files = sorted((ROOT / "src").rglob("*.py"))
    source = [text for path in files for text in messages(path.read_text(encoding="utf-8"))]
    for quoted in _quoted():
        assert sum(map(str.isalpha, quoted)) >= LEAST_LETTERS, quoted
        assert any(says(text, quoted) for text in source), quoted


def test_no_message_is_told_twice():
    assert len(_quoted()) == len(set(_quoted()))


def test_what_is_said_to_be_internal_is_there():
    assert set(INTERNAL) <= {error.__name__ for error in ERRORS}
