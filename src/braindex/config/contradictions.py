"""Settings that are right by themselves and cannot hold together. Each is refused at start, with the remedy."""

from collections.abc import Mapping
from typing import Any

from braindex.domain.hosts import is_loopback, runs_in_cloud, shown_host


def contradictions(values: Mapping[str, Any]) -> list[str]:
    """What is wrong with settings, by field, that were each read without a mistake."""
    found: list[str] = []
    if values["memory_mode"] == "local":
        found += _leaves_this_machine(values)
    if values["max_daily_cost"] is not None and not values["token_tracking"]:
        found.append(
            "MAX_DAILY_COST cannot be kept while ENABLE_TOKEN_TRACKING is false: turn tracking on, or unset the limit"
        )
    return found + _cannot_embed(values)


def _cannot_embed(values: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    if values["embedding"] == "ollama" and not values["ollama_embed_model"]:
        found.append(
            "EMBEDDING is ollama, and OLLAMA_EMBED_MODEL names no model: set it to one that was pulled, such as "
            "nomic-embed-text, or unset EMBEDDING"
        )
    if values["embedding"] == "openai" and not values["openai_api_key"]:
        found.append(
            "EMBEDDING is openai, and OPENAI_API_KEY is not set: set it (to any text where a server of your own wants "
            "none), or unset EMBEDDING"
        )
    return found


def _leaves_this_machine(values: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    if not is_loopback(values["ollama_host"]):
        found.append(
            f"OLLAMA_HOST is {shown_host(values['ollama_host'])}, and MEMORY_MODE=local allows this machine alone: "
            "unset OLLAMA_HOST or make it 127.0.0.1, or choose another MEMORY_MODE"
        )
    if values["chroma_url"] and not is_loopback(values["chroma_url"]):
        found.append(
            f"CHROMA_URL is {shown_host(values['chroma_url'])}, and MEMORY_MODE=local allows this machine alone: "
            "unset CHROMA_URL or make it a server on 127.0.0.1, or choose another MEMORY_MODE"
        )
    if runs_in_cloud(values["ollama_model"]):
        found.append(
            f"OLLAMA_MODEL is {values['ollama_model']}, which Ollama passes on to its cloud, and MEMORY_MODE=local "
            "allows this machine alone: name a model that runs here, or choose another MEMORY_MODE"
        )
    if values["embedding"] == "ollama" and runs_in_cloud(values["ollama_embed_model"]):
        found.append(
            f"OLLAMA_EMBED_MODEL is {values['ollama_embed_model']}, which Ollama passes on to its cloud, and "
            "MEMORY_MODE=local allows this machine alone: name a model that runs here, or choose another MEMORY_MODE"
        )
    if values["github_token"] and values["github_repository"] and not is_loopback(values["github_api_url"]):
        found.append(
            f"GITHUB_TOKEN and GITHUB_REPOSITORY are set, so that reviews post a status to "
            f"{shown_host(values['github_api_url'])}, and MEMORY_MODE=local allows this machine alone: unset "
            "GITHUB_TOKEN, or choose another MEMORY_MODE"
        )
    if values["embedding"] == "openai":
        found.append(
            "EMBEDDING is openai, and MEMORY_MODE=local allows this machine alone: make EMBEDDING bundled or ollama, "
            "or choose another MEMORY_MODE"
        )
    return found
