"""A Chroma server over HTTP, as its interface v2 has it: bounded waits, named failures, a pause after a failure.

Chroma's own client is not used for a server. It sets no time limit and offers none, asks the server three questions
before it can be used, sends loopback through the environment's proxy, raises a bare `Exception` for a refusal, and
takes over a second to import.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

from braindex.domain.hosts import is_loopback, shown_host
from braindex.transport.loopback import LocalModeOnly
from braindex.transport.wire import quiet_libraries, trust
from braindex.vectors.backing import SyncStopped, VectorServerAway, VectorServerSilent, never

DEFAULT_TENANT: Final = "default_tenant"
DEFAULT_DATABASE: Final = "default_database"
LARGEST_ANSWER: Final = 64_000_000  # bytes; a page of vectors of 3,072 numbers is 20 MB of JSON
RECORDS: Final = 250  # in one request: within the 300 that hosted servers take, and soon over when it has to stop
REQUEST_BYTES: Final = 700_000  # of vectors in one request; reverse proxies take 1 MB by default
_POLL: Final = 0.05
_LONGEST_RETRY_AFTER: Final = 5.0
_MANY_REQUESTS: Final = 429
_NO_CHROMA: Final = frozenset({404, 405, 501})  # not found, or no such method: what another web server says
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9A-Za-z]+){1,5}")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, and how often a change is tried. `clock` is for tests to put in their own.

    A question has `question_seconds` for all that it asks; after a failure nothing is asked for `pause_seconds`. A
    server that has said nothing for as long is given `question_seconds` to say that it is there before it gets a
    change, which may take `change_seconds`.
    """

    question_seconds: float = 2.0
    connect_seconds: float = 3.0
    change_seconds: float = 30.0
    attempts: int = 3
    first_wait: float = 0.5
    pause_seconds: float = 15.0
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Takes:
    """What a server takes in one request."""

    records: int
    base64: bool


class NotThere(Exception):
    """HTTP 404: the collection, its database or its tenant."""


class ChangeRefused(Exception):
    """HTTP 400: the request does not fit the collection, as vectors of another dimension do not."""


class ProxyUnusable(Exception):
    """What the environment names as proxy is none."""


class ChromaServer:
    """One server, tenant and database: `http://host:port/prefix?tenant=T&database=D`. Safe from several threads."""

    def __init__(self, url: str, headers: Sequence[tuple[str, str]] = (), limits: Limits | None = None) -> None:
        parts = urlsplit(url)
        asked = parse_qs(parts.query)
        tenant, database = (
            quote(asked.get(name, [default])[0], safe="")
            for name, default in (("tenant", DEFAULT_TENANT), ("database", DEFAULT_DATABASE))
        )
        self._root = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/api/v2"
        self._base = f"{self._root}/tenants/{tenant}/databases/{database}"
        self._headers = [("Content-Type", "application/json"), ("Accept", "application/json"), *headers]
        self.limits = limits or Limits()
        self.shown = shown_host(url)
        self._lock = threading.Lock()
        self._client: Any = None
        self._takes: Takes | None = None
        self._failure: VectorServerAway | None = None
        self._paused_until = 0.0
        self._awake_until = float("-inf")

    @property
    def address(self) -> str:
        """The same for the same tenant and database of the same server; no secret is in it."""
        return self._base

    def question(self, method: str, path: str, body: Any, deadline: float) -> Any:
        """The answer to one request of a question that has until `deadline` by the clock.

        Raises VectorServerAway, at once while the pause after a failure lasts, NotThere and ChangeRefused.
        """
        if self._failure is not None and self.limits.clock() < self._paused_until:
            raise self._failure
        left = max(0.0, deadline - self.limits.clock())
        with self._remembered():
            return self._attempt(method, self._base + path, body, left, never)

    def change(self, method: str, path: str, body: Any = None, stop: Callable[[], bool] = never) -> Any:
        """The answer to a request that may be repeated without harm.

        Connections that fail, HTTP 5xx and 429 are tried again, unless the server failed a moment ago already; one that
        gave no answer a moment ago is not asked. Raises as `question` does, and SyncStopped soon after `stop` turned
        true.
        """
        return self._patiently(lambda: self._changed(method, self._base + path, body, stop), stop)

    def takes(self, stop: Callable[[], bool] = never) -> Takes:
        """What the server says that it takes; asked once."""
        return self._takes or self._patiently(lambda: self._said_it_takes(stop), stop)

    def _said_it_takes(self, stop: Callable[[], bool]) -> Takes:
        """Asked also of a server that may hang: it costs no work to answer."""
        try:
            said = self._attempt("GET", f"{self._root}/pre-flight-checks", None, self.limits.question_seconds, stop)
        except (NotThere, ChangeRefused):
            raise self._nonsense() from None
        most = said.get("max_batch_size") if isinstance(said, dict) else None
        if not isinstance(most, int) or most < 1:
            raise self._nonsense()
        self._takes = Takes(min(most, RECORDS), said.get("supports_base64_encoding") is True)
        return self._takes

    def _changed(self, method: str, url: str, body: Any, stop: Callable[[], bool]) -> Any:
        if self.limits.clock() >= self._awake_until:
            self._said_it_takes(stop)
        return self._attempt(method, url, body, self.limits.change_seconds, stop)

    def version(self, seconds: float) -> str:
        """What the server says its version is, asked once, its tenant and database once, in `seconds` together.

        For whoever wants to know whether the server could be used now. Raises VectorServerAway where it could not.
        """
        deadline = self.limits.clock() + seconds
        try:
            said = self._attempt("GET", f"{self._root}/version", None, seconds, never)
        except (NotThere, ChangeRefused):
            what = "does not know version 2 of the interface: use Chroma 1.0 or later, or check CHROMA_URL"
            raise VectorServerAway(self.shown, what) from None
        if not isinstance(said, str) or not _VERSION.fullmatch(said):
            raise self._nonsense()
        try:
            self._attempt("GET", self._base, None, max(0.0, deadline - self.limits.clock()), never)
        except (NotThere, ChangeRefused):
            what = "has no such tenant or database: create it, or check CHROMA_URL"
            raise VectorServerAway(self.shown, what) from None
        return said

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def nonsense(self) -> VectorServerAway:
        """For an answer that is JSON and not what was asked for; the server is left alone for a while."""
        failure = self._nonsense()
        self._pause(failure)
        return failure

    def _nonsense(self) -> VectorServerAway:
        return VectorServerAway(self.shown, "answered with something that is no answer of Chroma's: check CHROMA_URL")

    def _pause(self, failure: VectorServerAway) -> None:
        self._failure, self._awake_until = failure, float("-inf")
        self._paused_until = self.limits.clock() + self.limits.pause_seconds

    @contextmanager
    def _remembered(self) -> Any:
        """What happens to a request decides whether the next ones are sent."""
        try:
            yield
        except SyncStopped:
            raise
        except VectorServerAway as failure:
            self._pause(failure)
            raise
        except (NotThere, ChangeRefused):  # an answer like another
            self._answered()
            raise
        self._answered()

    def _answered(self) -> None:
        self._failure, self._awake_until = None, self.limits.clock() + self.limits.pause_seconds

    def _patiently(self, ask: Callable[[], Any], stop: Callable[[], bool]) -> Any:
        if isinstance(self._failure, VectorServerSilent) and self.limits.clock() < self._paused_until:
            raise self._failure
        attempts = 1 if self._failure is not None else self.limits.attempts
        for attempt in range(1, attempts + 1):
            try:
                with self._remembered():
                    return ask()
            except VectorServerAway as failure:
                if not failure.again or attempt == attempts or failure.retry_after > _LONGEST_RETRY_AFTER:
                    raise
                self._wait(max(failure.retry_after, self.limits.first_wait * 2.0 ** (attempt - 1)), stop)
        raise AssertionError  # the last attempt returns or raises

    def _wait(self, seconds: float, stop: Callable[[], bool]) -> None:
        pause = threading.Event()
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if stop():
                raise SyncStopped(self.shown)
            pause.wait(min(left, _POLL))

    def _attempt(self, method: str, url: str, body: Any, seconds: float, stop: Callable[[], bool]) -> Any:
        """One request in a thread of its own: looking up a name has no time limit, and each piece of an answer would
        have one of its own.
        """
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        request = _Request(self, method, url, content, seconds)
        deadline = time.monotonic() + seconds
        try:
            while not request.done.wait(min(_POLL, max(0.0, deadline - time.monotonic()))):
                if stop():
                    raise SyncStopped(self.shown)
                if time.monotonic() >= deadline:
                    raise VectorServerSilent(self.shown, f"did not answer within {seconds:.3g} s")
        finally:
            request.given_up.set()
        return self._read(request)

    def _read(self, request: "_Request") -> Any:
        if request.failure is not None:
            raise request.failure
        if request.status >= 300:
            raise self._refusal(request)
        try:
            return json.loads(request.answer)
        except (ValueError, RecursionError):
            raise self._nonsense() from None

    def _refusal(self, request: "_Request") -> Exception:
        status = request.status
        if status == 404 and request.is_json:  # a proxy, or whatever else listens there, has pages of its own
            return NotThere()
        if status == 400:
            return ChangeRefused()
        if status in _NO_CHROMA and not request.is_json:
            return VectorServerAway(self.shown, f"is something else than Chroma (HTTP {status}): check CHROMA_URL")
        if status == 429 or status >= 500:
            what = "takes no more requests for now" if status == 429 else "failed on its own side"
            return VectorServerAway(self.shown, f"{what} (HTTP {status})", again=True, retry_after=request.retry_after)
        known = {
            401: "refused access (HTTP 401): check CHROMA_HEADERS",
            403: "refused access (HTTP 403): check CHROMA_HEADERS",
            413: "takes no request of so many bytes (HTTP 413): raise its limit to 2 MB",
        }
        return VectorServerAway(self.shown, known.get(status, f"refused the request (HTTP {status}): check CHROMA_URL"))

    def client(self) -> Any:
        """The HTTP client, made at the first request. Raises ProxyUnusable."""
        import httpx  # noqa: PLC0415 - comes with chromadb; for those alone who have a server

        with self._lock:
            if self._client is None:
                quiet_libraries()
                try:
                    self._client = httpx.Client(
                        headers=[("Accept-Encoding", "identity"), ("User-Agent", "braindex"), *self._headers],
                        trust_env=not is_loopback(self._root),  # a proxy would look for loopback on its own machine
                        verify=trust(self._root),
                        follow_redirects=False,  # headers with keys go where the settings say, and nowhere else
                    )
                except (ImportError, ValueError):  # SOCKS without its package, or an address that is none
                    raise ProxyUnusable from None
            return self._client


class _Request:
    """One request, sent by a daemon thread. `done` is set at its end, and it ends soon after `given_up` is set."""

    def __init__(self, server: ChromaServer, method: str, url: str, content: bytes | None, seconds: float) -> None:
        self.done = threading.Event()
        self.given_up = threading.Event()
        self.status = 0
        self.answer = b""
        self.is_json = False
        self.retry_after = 0.0
        self._server = server
        # Stays where the thread ends without an outcome, which is a fault in a library.
        self.failure: VectorServerAway | None = VectorServerAway(server.shown, "could not be asked: the log says why")
        arguments = method, url, content, seconds
        threading.Thread(target=self._run, args=arguments, name="chroma-request", daemon=True).start()

    def _run(self, method: str, url: str, content: bytes | None, seconds: float) -> None:
        try:
            self.failure = self._send(method, url, content, seconds)
        finally:
            self.done.set()

    def _send(self, method: str, url: str, content: bytes | None, seconds: float) -> VectorServerAway | None:
        import httpx  # noqa: PLC0415 - as in `client`

        shown, limits = self._server.shown, self._server.limits
        timeout = httpx.Timeout(seconds, connect=min(seconds, limits.connect_seconds))
        try:
            with self._server.client().stream(method, url, content=content, timeout=timeout) as response:
                return self._receive(response)
        except LocalModeOnly:
            return VectorServerAway(shown, "was not asked: MEMORY_MODE=local keeps everything on this machine")
        except (httpx.HTTPError, httpx.InvalidURL, ProxyUnusable, RuntimeError, ValueError) as trouble:
            if isinstance(trouble, httpx.TimeoutException):
                return VectorServerSilent(shown, _reason(trouble))
            return VectorServerAway(shown, _reason(trouble), again=isinstance(trouble, httpx.TransportError))

    def _receive(self, response: Any) -> VectorServerAway | None:
        self.status = response.status_code
        waits = response.headers.get("retry-after", "").strip()
        self.retry_after = float(waits) if waits.isdecimal() else 0.0
        plain = response.headers.get("content-encoding", "").strip().lower() in {"", "identity"}
        pieces: list[bytes] = []
        size = 0
        for piece in response.iter_raw():
            size += len(piece)
            if self.given_up.is_set() or not plain or size > LARGEST_ANSWER:
                return VectorServerAway(self._server.shown, "answered with more, or in another form, than it was asked")
            pieces.append(piece)
        self.answer = b"".join(pieces)
        self.is_json = response.headers.get("content-type", "").startswith("application/json")
        return None


def _reason(trouble: Exception) -> str:
    """What a failed request says of the server; nothing of the request itself."""
    import httpx  # noqa: PLC0415 - as in `client`

    reasons: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
        (ProxyUnusable, "cannot be reached through the proxy that the environment names: list the host in NO_PROXY"),
        (
            (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError),
            "cannot be reached: start it, or check CHROMA_URL",
        ),
        (httpx.TimeoutException, "did not answer in time"),
        (httpx.TransportError, "broke the connection before its answer was complete"),
    )
    named = (reason for kinds, reason in reasons if isinstance(trouble, kinds))
    return next(named, "could not be asked: check CHROMA_URL and CHROMA_HEADERS")
