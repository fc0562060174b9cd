"""Which engine answers a question: the routing table, row by row, and its reason in words."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from braindex.domain.errors import UsageError
from braindex.domain.usage import EngineName

Mode = Literal["local", "cloud", "hybrid", ""]

# What a question about the whole says, which small local models answer poorly.
ARCHITECTURE_KEYWORDS: Final = (
    "architecture", "architectural", "architect", "design", "refactor", "audit", "trade-off", "pipeline",
    "explain how", "explain why", "data flow", "end-to-end",
)  # fmt: skip
CLOUD_ESCALATION_WORD_COUNT: Final = 40
PRO_FILES: Final = 4  # sources from so many files need a model that holds them together

_CLOUD_MISSING: Final = "DeepSeek is not configured (DEEPSEEK_API_KEY)"
_OLLAMA_MISSING: Final = "Ollama is not configured (OLLAMA_MODEL)"
_OLLAMA_ELSEWHERE: Final = "OLLAMA_HOST is another machine, which MEMORY_MODE=local rules out"
NO_ENGINE: Final = "no engine is configured: sources only"
NO_REVIEWER: Final = "no engine is configured: structure, similar reviews and callers only"


class CloudRefused(UsageError):
    def __init__(self) -> None:
        super().__init__(
            "use_cloud=true was refused: MEMORY_MODE=local keeps every question on this machine; "
            "ask without use_cloud, or change MEMORY_MODE"
        )


@dataclass(frozen=True, slots=True)
class RoutingRules:
    """What the settings say of engines. `mode` "" is unset; `cloud` and `ollama` say that it is configured.

    `ollama_elsewhere`: its host is not this machine.
    """

    mode: Mode = ""
    cloud: bool = False
    ollama: bool = False
    ollama_elsewhere: bool = False
    pro: bool = False
    keywords: tuple[str, ...] = ARCHITECTURE_KEYWORDS
    escalation_words: int = CLOUD_ESCALATION_WORD_COUNT


@dataclass(frozen=True, slots=True)
class Route:
    """Who answers, and why, in one line."""

    engine: EngineName
    reason: str


def check_request(use_cloud: bool | None, rules: RoutingRules) -> None:
    """Raises CloudRefused where the cloud is asked for and MEMORY_MODE=local forbids it."""
    if use_cloud and rules.mode == "local":
        raise CloudRefused


def route(question: str, use_cloud: bool | None, files: int, rules: RoutingRules) -> Route:
    """The engine for a question whose sources come from `files` files. Raises CloudRefused."""
    check_request(use_cloud, rules)
    if not rules.cloud and not rules.ollama:
        return Route("none", NO_ENGINE)
    chosen, reason = _chosen(question, use_cloud, rules)
    return (
        _local(reason, use_cloud, question, files, rules)
        if chosen == "ollama"
        else _cloud(reason, question, files, rules)
    )


def _chosen(question: str, use_cloud: bool | None, rules: RoutingRules) -> tuple[Literal["cloud", "ollama"], str]:
    """The rows of the table above those on what is configured; the first that holds decides."""
    if rules.mode == "local":
        return "ollama", "MEMORY_MODE=local keeps every question on this machine"
    if use_cloud is not None:
        return ("cloud", "use_cloud=true") if use_cloud else ("ollama", "use_cloud=false")
    if keyword := keyword_in(question, rules.keywords):
        return "cloud", f"“{keyword}” makes it a question about the architecture"
    if (words := len(question.split())) >= rules.escalation_words:
        return "cloud", f"{words} words are at least {rules.escalation_words} (CLOUD_ESCALATION_WORD_COUNT)"
    return _by_mode(rules)


def _by_mode(rules: RoutingRules) -> tuple[Literal["cloud", "ollama"], str]:
    if rules.mode:
        return ("cloud", "MEMORY_MODE=cloud") if rules.mode == "cloud" else ("ollama", "MEMORY_MODE=hybrid")
    if rules.cloud and rules.ollama:
        return "ollama", "a short question, with both engines configured"
    return ("cloud", "the only engine configured") if rules.cloud else ("ollama", "the only engine configured")


def _local(reason: str, use_cloud: bool | None, question: str, files: int, rules: RoutingRules) -> Route:
    elsewhere = rules.mode == "local" and rules.ollama_elsewhere
    if rules.ollama and not elsewhere:
        return Route("ollama", reason)
    missing = _OLLAMA_ELSEWHERE if elsewhere else _OLLAMA_MISSING
    # A mode that keeps questions here, and a call that said no to the cloud, are never overruled.
    if rules.mode == "local" or use_cloud is False or not rules.cloud:
        return Route("none", f"{reason}, but {missing}: sources only")
    return _cloud(f"{reason}, but {missing}, so DeepSeek answers", question, files, rules)


def _cloud(reason: str, question: str, files: int, rules: RoutingRules) -> Route:
    if rules.cloud:
        engine, why = select_model(question, files, rules)
        return Route(engine, f"{reason}; {why}" if why else reason)
    return Route("ollama", f"{reason}, but {_CLOUD_MISSING}, so Ollama answers")


def review_route(files: int, rules: RoutingRules) -> Route:
    """The engine that reviews a change of so many files: a review is a question about how much hangs together, so it
    goes to the cloud where one is configured and allowed, else to Ollama.
    """
    if not rules.cloud and not rules.ollama:
        return Route("none", NO_REVIEWER)
    if rules.mode == "local":
        if not rules.ollama or rules.ollama_elsewhere:
            missing = _OLLAMA_ELSEWHERE if rules.ollama else _OLLAMA_MISSING
            return Route("none", f"MEMORY_MODE=local keeps reviews on this machine, but {missing}: nobody judged it")
        return Route("ollama", "MEMORY_MODE=local keeps reviews on this machine")
    if not rules.cloud:
        return Route("ollama", "the only engine configured")
    if rules.pro and files >= PRO_FILES:
        return Route("deepseek-pro", f"pro for a change of {files} files")
    return Route("deepseek-flash", "reviews go to the cloud" if rules.ollama else "the only engine configured")


def select_model(question: str, files: int, rules: RoutingRules) -> tuple[EngineName, str]:
    """Flash, or pro where it is enabled and the question is a large one; with the reason for pro."""
    if not rules.pro:
        return "deepseek-flash", ""
    if keyword := keyword_in(question, rules.keywords):
        return "deepseek-pro", f"pro for “{keyword}”"
    if (words := len(question.split())) >= rules.escalation_words:
        return "deepseek-pro", f"pro for a question of {words} words"
    if files >= PRO_FILES:
        return "deepseek-pro", f"pro for sources from {files} files"
    return "deepseek-flash", ""


def keyword_in(question: str, keywords: tuple[str, ...]) -> str:
    """The first keyword that the question holds as whole words, in whatever case and usual ending; else ""."""
    text = " ".join(question.lower().replace("-", " ").split())
    return next((one for one in keywords if _pattern(one).search(text)), "")


@lru_cache(maxsize=256)
def _pattern(keyword: str) -> re.Pattern[str]:
    """`trade-off` is also `trade off` and `tradeoff`; `refactor` also `refactoring`."""
    words = keyword.lower().replace("-", " ").split()
    joint = " ?" if "-" in keyword else " "
    return re.compile(rf"(?<!\w){joint.join(map(re.escape, words))}(?:s|d|ed|ing)?(?!\w)")
