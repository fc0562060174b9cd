"""A commit's status on GitHub, or on a server that speaks its API: one request, bounded, to the host that was named."""

import re
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Final
from urllib.parse import quote, urlsplit

from braindex.domain.display import echoed
from braindex.domain.errors import BraindexError
from braindex.domain.hosts import is_loopback, shown_host
from braindex.domain.statuses import CONTEXT, CommitStatus

SECONDS: Final = 10.0  # to connect, and for each answer to begin
LONGEST_DESCRIPTION: Final = 140  # characters that GitHub takes
_REDIRECTS: Final = 3
_IN_ALL: Final = 3  # times that long for everything: a server may begin its answer and never end it
_KEY: Final = re.compile(r"[!-~]+")


class StatusNotPosted(BraindexError):
    """The commit's status is as it was. No message holds the token."""


class StatusStaysHere(StatusNotPosted):
    def __init__(self, api_url: str) -> None:
        super().__init__(
            f"no status was posted: GITHUB_API_URL is {shown_host(api_url)}, and MEMORY_MODE=local keeps everything on "
            "this machine; unset GITHUB_TOKEN, or choose another MEMORY_MODE"
        )


class TokenUnusable(StatusNotPosted):
    def __init__(self) -> None:
        super().__init__("no status was posted: GITHUB_TOKEN holds characters that no token has; set it anew")


class Unreachable(StatusNotPosted):
    def __init__(self, api_url: str, kind: str) -> None:
        super().__init__(
            f"no status was posted: {shown_host(api_url)} cannot be reached ({kind}); check the network and "
            "GITHUB_API_URL, then review the commit again"
        )


class LedElsewhere(StatusNotPosted):
    def __init__(self, api_url: str) -> None:
        super().__init__(
            f"no status was posted: {shown_host(api_url)} redirects to another address, where the token must not go; "
            "correct GITHUB_API_URL or GITHUB_REPOSITORY"
        )


class StatusRefused(StatusNotPosted):
    def __init__(self, code: int, repository: str) -> None:
        name = echoed(repository)
        remedy = {
            401: "GITHUB_TOKEN is not valid (any more): set another",
            403: f"GITHUB_TOKEN may not write statuses of {name}: give it that permission (“Commit statuses”), or wait "
            "where it asked too often",
            404: f"GITHUB_TOKEN does not reach {name}: check GITHUB_REPOSITORY and the token's permissions",
            422: f"{name} does not know the commit: push it first",
        }.get(code, "try again later")
        super().__init__(f"no status was posted (HTTP {code}): {remedy}")


class GitHub:
    """Posts statuses of one repository with one token. Nothing is imported or opened before the first."""

    def __init__(self, api_url: str, repository: str, token: str, *, seconds: float = SECONDS) -> None:
        """`repository` is OWNER/NAME; `seconds` is how long to wait to connect, and for each part of an answer."""
        self._api_url = api_url
        self._repository = repository
        self._token = token
        self._seconds = seconds

    def post(self, status: CommitStatus, *, stays_local: bool = False) -> None:
        """As the port says. Raises StatusNotPosted."""
        if stays_local and not is_loopback(self._api_url):
            raise StatusStaysHere(self._api_url)
        if not _KEY.fullmatch(self._token):
            raise TokenUnusable
        description = status.description[:LONGEST_DESCRIPTION]
        body = {"state": status.state, "description": description, "context": CONTEXT}
        commit = quote(status.commit, safe="")
        code = self._in_time(f"{self._api_url}/repos/{self._repository}/statuses/{commit}", body)
        if code != 201:
            raise StatusRefused(code, self._repository)

    def _in_time(self, url: str, body: dict[str, str]) -> int:
        """As `_posted`, but bounded as a whole. What is still waited for then ends with the process."""
        answer: Future[int] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._posted(url, body))
            except Exception as error:  # noqa: BLE001 - raised again where the answer is awaited
                answer.set_exception(error)

        threading.Thread(target=ask, name="github", daemon=True).start()
        try:
            return answer.result(self._seconds * _IN_ALL)
        except FutureTimeout:
            raise Unreachable(self._api_url, "no whole answer in time") from None

    def _posted(self, url: str, body: dict[str, str]) -> int:
        """The status code of the answer, redirects inside the same host followed. Its body is not read."""
        import httpx  # noqa: PLC0415 - loaded with the first status

        headers = {
            "authorization": f"Bearer {self._token}",
            "accept": "application/vnd.github+json",
            "x-github-api-version": "2022-11-28",
            "user-agent": "braindex",
        }
        try:
            with httpx.Client(trust_env=not is_loopback(self._api_url), timeout=self._seconds) as client:
                for _ in range(_REDIRECTS + 1):
                    with client.stream("POST", url, json=body, headers=headers) as answer:
                        if not answer.is_redirect:
                            return answer.status_code
                        url = str(answer.url.join(answer.headers.get("location", "")))
                    if _origin(url) != _origin(self._api_url):
                        raise LedElsewhere(self._api_url)
        # An address or a proxy that is none counts as well; no library's message is repeated, since it may hold either.
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
            raise Unreachable(self._api_url, type(error).__name__) from None
        raise LedElsewhere(self._api_url)


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme.lower())
    return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or default
