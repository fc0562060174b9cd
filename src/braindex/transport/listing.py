"""Which models a provider has: the one question that every provider answers at no cost."""

from collections.abc import Mapping
from typing import Any, Final

from braindex.transport import ollama_api as ollama_library
from braindex.transport import openai_api as openai_library
from braindex.transport.failures import NonsenseAnswer, Provider, RetryRule
from braindex.transport.ollama_api import ollama_api, ollama_provider
from braindex.transport.openai_api import check_key, openai_read
from braindex.transport.wire import parsed

# Long enough for a provider that is there, short enough for somebody who waits to hear of one that is not.
SECONDS: Final = 2.0
_ONCE: Final = RetryRule(attempts=1)


def ollama_models(host: str, setting: str, seconds: float = SECONDS) -> list[str]:
    """The models that were pulled to an Ollama server, by name and tag. `setting` names the model's variable.

    `host` is a corrected one. Raises Failure, and TimedOut after `seconds`.
    """
    ollama_library.load()
    from braindex.transport.calling import call  # noqa: PLC0415 - asyncio is loaded with the first call

    provider = ollama_provider(host, "", setting)

    async def ask() -> list[str]:
        async with ollama_api(provider, "", host) as client:
            try:
                answer = await client.list()
            # What the library's reading of a body that is no answer raises.
            except (ValueError, TypeError, RecursionError):
                raise NonsenseAnswer(provider, "something that is no list of models") from None
            return [one.model for one in answer.models if one.model]

    return call(ask, provider, seconds, _ONCE, lambda: False)


def openai_models(provider: Provider, api_key: str, base_url: str, seconds: float = SECONDS) -> list[str]:
    """The ids of the models that a server of OpenAI's protocol lists, of DeepSeek too; none where it has no list.

    Source: api-docs.deepseek.com/api/list-models. Raises Failure, and TimedOut after `seconds`.
    """
    check_key(provider, api_key)
    openai_library.load()
    from braindex.transport.calling import call  # noqa: PLC0415 - asyncio is loaded with the first call

    async def ask() -> bytes:
        return await openai_read(provider, "", api_key, base_url, "/models")

    return _ids(provider, parsed(provider, call(ask, provider, seconds, _ONCE, lambda: False)))


def _ids(provider: Provider, answer: Mapping[str, Any]) -> list[str]:
    data = answer.get("data")
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        raise NonsenseAnswer(provider, "JSON that is no list of models")
    return [one["id"] for one in data if isinstance(one.get("id"), str)]
