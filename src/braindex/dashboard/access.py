"""Who may look: links that work once, and the sessions they open."""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

LINK_SECONDS: Final = 600.0  # from the start of a dashboard to a person's click, generously
MOST_LINKS: Final = 16
MOST_SESSIONS: Final = 32  # browsers of one dashboard; the one that entered first goes


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that came through a link. `csrf` goes into every form that is shown to it."""

    csrf: str


class Access:
    """The links and sessions of one dashboard, in memory: they end with its process.

    What a browser sends is looked up by its digest, so that the time a look takes tells nothing of what is stored.
    """

    def __init__(self, port: int, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._links: dict[bytes, float] = {}
        self._sessions: dict[bytes, Session] = {}
        # Cookies know no port: several dashboards would overwrite each other's.
        self.cookie: Final = f"braindex_{port}"

    def link(self) -> str:
        """A token that opens one session, within LINK_SECONDS."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._links[_digest(token)] = self._now() + LINK_SECONDS
            while len(self._links) > MOST_LINKS:
                del self._links[next(iter(self._links))]
        return token

    def enter(self, token: str) -> str | None:
        """The cookie of a new session, and the token is spent; None for one that is unknown, spent or too old."""
        with self._lock:
            ends = self._links.pop(_digest(token), None)
            if ends is None or self._now() > ends:
                return None
            cookie = secrets.token_urlsafe(32)
            self._sessions[_digest(cookie)] = Session(secrets.token_urlsafe(32))
            while len(self._sessions) > MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            return cookie

    def session(self, cookie: str) -> Session | None:
        with self._lock:
            return self._sessions.get(_digest(cookie))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


NOBODY: Final = Session(csrf="")
"""Who has not entered yet; no form of theirs is taken."""
