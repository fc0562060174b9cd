"""What tests of engines ask, and waits that are written down instead of waited for."""

from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.deepseek import KEY, FakeDeepSeek

from braindex.domain.engines import Message

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = (Message("system", "You explain code. The brief: " + "word " * 200), Message("user", "Where is it?"))
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")


@dataclass
class Waits:
    """The waits between attempts, in seconds; none takes any time."""

    seconds: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def cloud(deepseek: FakeDeepSeek, **more: str) -> dict[str, str]:
    """The settings that make a stand-in the configured DeepSeek."""
    return {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": deepseek.url, **more}
