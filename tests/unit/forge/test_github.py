"""Statuses on a stand-in for GitHub: what is sent, and what every way of failing says."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from tests.fakes.github import REPOSITORY, TOKEN, FakeGitHub

from braindex.domain.statuses import CommitStatus
from braindex.forge.github import (
    GitHub,
    LedElsewhere,
    StatusNotPosted,
    StatusRefused,
    StatusStaysHere,
    TokenUnusable,
    Unreachable,
)

COMMIT = "a" * 40
STATUS = CommitStatus(COMMIT, "failure", "changes requested: 2 findings by deepseek-flash")


@pytest.fixture
def site() -> Iterator[FakeGitHub]:
    with FakeGitHub() as stand_in:
        yield stand_in


def github(site: FakeGitHub, token: str = TOKEN, **more) -> GitHub:
    return GitHub(site.url, REPOSITORY, token, **more)


def test_a_status_is_one_request(site):
    github(site).post(STATUS)
    assert site.statuses == {
        COMMIT: [{"state": "failure", "description": STATUS.description, "context": "braindex/review"}]
    }
    assert len(site.requests) == 1
    assert site.violations == []


def test_a_description_is_cut_to_what_github_takes(site):
    github(site).post(CommitStatus(COMMIT, "success", "x" * 500))
    assert site.violations == []


@pytest.mark.parametrize(
    ("code", "remedy"),
    [(401, "not valid"), (403, "permission"), (404, "GITHUB_REPOSITORY"), (422, "push it first"), (500, "later")],
)
def test_a_refusal_says_what_to_do_and_never_the_token(site, code, remedy):
    site.fail(str(code))
    with pytest.raises(StatusRefused, match=remedy) as raised:
        github(site).post(STATUS)
    assert TOKEN not in str(raised.value)


def test_a_server_that_is_away_or_hangs_is_unreachable(site):
    with pytest.raises(Unreachable, match="127"):
        GitHub("http://127.0.0.1:9", REPOSITORY, TOKEN).post(STATUS)
    site.fail("slow", seconds=30)
    with pytest.raises(Unreachable, match="ReadTimeout"):
        github(site, seconds=0.2).post(STATUS)
    site.fail("drop before answering")
    with pytest.raises(Unreachable):
        github(site).post(STATUS)


def test_a_redirect_is_followed_on_the_same_host_alone(site):
    site.fail("moved here")
    github(site).post(STATUS)
    assert set(site.statuses) == {"b" * 40}
    with FakeGitHub() as other:
        site.fail("moved away", to=f"{other.url}/repos/{REPOSITORY}/statuses/{COMMIT}")
        with pytest.raises(LedElsewhere, match="the token must not go"):
            github(site).post(STATUS)
        assert other.requests == []
    site.fail("moved here", times=9)
    with pytest.raises(LedElsewhere):
        github(site).post(STATUS)


def test_a_token_that_cannot_be_one_is_not_sent(site):
    with pytest.raises(TokenUnusable):
        github(site, "two\nlines").post(STATUS)
    assert site.requests == []


def test_a_workspace_that_stays_here_posts_to_this_machine_alone(site):
    github(site).post(STATUS, stays_local=True)
    with pytest.raises(StatusStaysHere, match="MEMORY_MODE=local"):
        GitHub("https://api.github.com", REPOSITORY, TOKEN).post(STATUS, stays_local=True)


def test_an_address_that_is_none_is_a_failure_like_any_other():
    with pytest.raises(StatusNotPosted):
        GitHub("http://[", REPOSITORY, TOKEN).post(STATUS)


def test_an_answer_that_never_ends_is_not_waited_for(request: pytest.FixtureRequest) -> None:
    stop = threading.Event()
    request.addfinalizer(stop.set)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 201 Created\r\n")
                while not stop.wait(0.02):
                    connection.sendall(b"x: y\r\n")

        threading.Thread(target=drip, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(StatusNotPosted, match="no whole answer in time"):
            GitHub(url, REPOSITORY, TOKEN, seconds=0.5).post(STATUS)
