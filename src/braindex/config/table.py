"""The table of settings: one row a variable. What is written of them anywhere is made of it (`written`)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from braindex.config.readers import (
    boolean,
    chroma_url,
    file_path,
    headers,
    number,
    ollama_host,
    one_of,
    optional_amount,
    optional_days,
    positive_int,
    repository,
    suffixes,
    url,
    whole_number,
    words,
)
from braindex.domain.routing import ARCHITECTURE_KEYWORDS


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table: what a variable means, how it is read, and whether a workspace may set it.

    A workspace's `.env` may have been written by a stranger, so only rows with `from_workspace` count there, and of
    those with `workspace_values` only these. The value of a `secret` is never shown, in no message either.
    """

    name: str
    field: str
    read: Callable[[str], Any]
    default: str
    expects: str
    help: str
    secret: bool = False
    from_workspace: bool = False
    workspace_values: tuple[str, ...] = ()

    @property
    def is_address(self) -> bool:
        """Whether it is one: it may hold a user name, a key in its path or its query, so a message never repeats it."""
        return self.read in (url, ollama_host, chroma_url)

    @property
    def default_shown(self) -> str:
        """The default as people read it."""
        return self.default.replace(",", ", ") if self.read is words else self.default

    def is_users_alone(self, text: str) -> bool:
        """Whether a workspace's `.env` may not set it, or not to this text."""
        return not self.from_workspace or (bool(self.workspace_values) and text.lower() not in self.workspace_values)

    def counts_in_workspace(self, text: str) -> bool:
        """Whether a workspace's `.env` may set it to this text, and it can be read."""
        return bool(text) and not self.is_users_alone(text) and self.can_read(text)

    def can_read(self, text: str) -> bool:
        try:
            self.read(text)
        except ValueError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Group:
    """Settings that belong together, as they are listed."""

    title: str
    settings: tuple[Setting, ...]


_PLACES = (
    Setting(
        "BRAIN_DIR", "brain_dir", str, "~/.brain", "a folder",
        "Where braindex keeps everything. A relative path is taken from the folder of the .env that names it.",
    ),
    Setting(
        "BRAIN_WORKSPACE", "brain_workspace", str, "", "a path, an id or a name",
        "The workspace that a call without one means.",
    ),
)  # fmt: skip
_FINDING = (
    Setting(
        "QUERY_DISTANCE_THRESHOLD", "distance_threshold", number(zero=False), "1.15", "a number above 0",
        "Sources farther from the question than this L2 distance are dropped unless a word of the question matches.",
        from_workspace=True,
    ),
    Setting(
        "ENABLE_LEXICAL_RERANK", "lexical_rerank", boolean, "false", "true or false",
        "Reorder the sources at the end by 1/distance + keyword hits × LEXICAL_RERANK_WEIGHT.",
        from_workspace=True,
    ),
    Setting(
        "LEXICAL_RERANK_WEIGHT", "lexical_rerank_weight", number(zero=True), "0.05", "a number, 0 or more",
        "What one keyword hit in a name or docstring is worth in the lexical rerank.",
        from_workspace=True,
    ),
)  # fmt: skip
_INDEXING = (
    Setting(
        "SKIP_BARE_FILES", "skip_bare_files", suffixes, "", "file extensions, separated by commas",
        "Files with these extensions get no entity of their own when nothing is found in them.",
        from_workspace=True,
    ),
    Setting(
        "MAX_FILE_BYTES", "max_file_bytes", positive_int, "1000000", "a whole number of bytes above 0",
        "Larger files are skipped, with that reason.",
    ),
)  # fmt: skip
_ANSWERING = (
    Setting(
        "MEMORY_MODE", "memory_mode", one_of("", "local", "cloud", "hybrid"), "", "local, cloud or hybrid",
        "local: nothing leaves this machine. cloud: DeepSeek answers. hybrid: Ollama answers, DeepSeek the questions "
        "about architecture and the long ones. Unset: hybrid when both are configured, else the one that is.",
        from_workspace=True, workspace_values=("local",),
    ),
    Setting(
        "DEEPSEEK_API_KEY", "deepseek_api_key", str, "", "a key",
        "Configures DeepSeek, which then writes answers. Best kept in the environment or in ~/.brain/.env.",
        secret=True,
    ),
    Setting(
        "DEEPSEEK_BASE_URL", "deepseek_base_url", url, "https://api.deepseek.com", "an http or https address",
        "Where DeepSeek, or whoever speaks its protocol, is reached.",
    ),
    Setting(
        "DEEPSEEK_FLASH_MODEL", "deepseek_flash_model", str, "deepseek-flash", "a model's name",
        "The model that answers most questions and writes the brief.",
    ),
    Setting(
        "DEEPSEEK_PRO_MODEL", "deepseek_pro_model", str, "deepseek-v4-pro", "a model's name",
        "The model for large questions, where ENABLE_DEEPSEEK_PRO is true.",
    ),
    Setting(
        "ENABLE_DEEPSEEK_PRO", "deepseek_pro", boolean, "false", "true or false",
        "Let the pro model answer questions about architecture, long ones, and those with sources from four files.",
    ),
    Setting(
        "OLLAMA_HOST", "ollama_host", ollama_host, "http://127.0.0.1:11434", "an address such as 127.0.0.1:11434",
        "Where Ollama is reached. 0.0.0.0, which a server listens on, is read as this machine.",
    ),
    Setting(
        "OLLAMA_MODEL", "ollama_model", str, "", "the name of a model that was pulled",
        "Configures Ollama, which then writes answers on this machine.",
    ),
    Setting(
        "CLOUD_ESCALATION_WORD_COUNT", "cloud_escalation_words", positive_int, "40", "a whole number above 0",
        "Questions of so many words go to the cloud, where one is configured and allowed.",
        from_workspace=True,
    ),
    Setting(
        "ARCHITECTURE_KEYWORDS", "architecture_keywords", words, ",".join(ARCHITECTURE_KEYWORDS),
        "words or phrases, separated by commas",
        "Questions that hold one of these go to the cloud, where one is configured and allowed.",
        from_workspace=True,
    ),
)  # fmt: skip
_COST = (
    Setting(
        "BRIEF_WARMUP", "brief_warmup", boolean, "true", "true or false",
        "Send a request that ends at the brief after each new one, so that every question hits the prompt cache.",
    ),
    Setting(
        "ENABLE_TOKEN_TRACKING", "token_tracking", boolean, "true", "true or false",
        "Keep a ledger of every call's tokens and cost (`braindex usage`).",
    ),
    Setting(
        "PRICES_FILE", "prices_file", file_path, "", "a file",
        "Prices of your own, laid over the shipped table.",
    ),
    Setting(
        "MAX_DAILY_COST", "max_daily_cost", optional_amount, "", "an amount in US dollars, 0 or more",
        "What the cloud may cost a day (UTC); beyond it questions are answered with their sources.",
    ),
)  # fmt: skip
_VECTORS = (
    Setting(
        "EMBEDDING", "embedding", one_of("bundled", "ollama", "openai"), "bundled", "bundled, ollama or openai",
        "Who turns code and questions into vectors. bundled: the model inside braindex. openai: OpenAI, or whoever "
        "speaks its protocol. A change makes each index anew at its next scan; until then the old one answers.",
    ),
    Setting(
        "OLLAMA_EMBED_MODEL", "ollama_embed_model", str, "", "the name of an embedding model that was pulled",
        "The model of EMBEDDING=ollama, such as nomic-embed-text.",
    ),
    Setting(
        "OPENAI_API_KEY", "openai_api_key", str, "", "a key",
        "The key of EMBEDDING=openai; any text where a server of your own wants none.",
        secret=True,
    ),
    Setting(
        "OPENAI_BASE_URL", "openai_base_url", url, "https://api.openai.com/v1", "an http or https address",
        "Where OpenAI, or whoever speaks its protocol, is reached.",
    ),
    Setting(
        "OPENAI_EMBED_MODEL", "openai_embed_model", str, "text-embedding-3-small", "a model's name",
        "The model of EMBEDDING=openai.",
    ),
    Setting(
        "EXACT_SEARCH_LIMIT", "exact_search_limit", whole_number, "500000", "a whole number, 0 or more",
        "Workspaces of up to so many entities are searched exactly, in memory; larger ones by ChromaDB.",
    ),
    Setting(
        "CHROMA_URL", "chroma_url", chroma_url, "",
        "an http or https address such as http://127.0.0.1:8000, at most with ?tenant=T&database=D behind it",
        "A Chroma server that keeps the vectors instead of the embedded ChromaDB. They are made of your source, and so "
        "leave this machine where the server is another one.",
    ),
    Setting(
        "CHROMA_HEADERS", "chroma_headers", headers, "",
        "HTTP headers such as `X-Chroma-Token: KEY`, separated by commas, or a JSON object",
        "What is sent to the Chroma server with every request, such as its key.",
        secret=True,
    ),
)  # fmt: skip
_REVIEWS = (
    Setting(
        "EPISODE_DAYS", "episode_days", optional_days, "", "a whole number of days above 0",
        "Episodes (turns of an agent, reviews) that are older are deleted when a new one is stored. Unset: all stay.",
    ),
    Setting(
        "REVIEW_MAX_TURNS", "review_max_turns", positive_int, "20", "a whole number above 0",
        "How many turns an engine has for one review, the last of which is its answer.",
    ),
    Setting(
        "REVIEW_MAX_COST", "review_max_cost", number(zero=True), "1.00", "an amount in US dollars, 0 or more",
        "What one review may cost in the cloud; before it is exceeded the engine has to answer with what it knows.",
    ),
    Setting(
        "GITHUB_TOKEN", "github_token", str, "", "a token",
        "With GITHUB_REPOSITORY: reviews of commits are posted as their status, which it must be allowed to write.",
        secret=True,
    ),
    Setting(
        "GITHUB_REPOSITORY", "github_repository", repository, "", "OWNER/NAME",
        "The repository whose commits get a status; GitHub Actions sets it.",
    ),
    Setting(
        "GITHUB_API_URL", "github_api_url", url, "https://api.github.com", "an http or https address",
        "Where GitHub's API, or a server that speaks it, is reached; GitHub Actions sets it.",
    ),
)  # fmt: skip
_DASHBOARD: Final = (
    Setting(
        "EDITOR_LINK", "editor_link", one_of("vscode", "cursor", "zed", "none"), "vscode",
        "vscode, cursor, zed or none",
        "The editor that the links of the dashboard open a source in.",
    ),
)  # fmt: skip
GROUPS: Final = (
    Group("Where things are kept", _PLACES),
    Group("What is found", _FINDING),
    Group("What is indexed", _INDEXING),
    Group("Who answers", _ANSWERING),
    Group("What it costs", _COST),
    Group("Vectors", _VECTORS),
    Group("Episodes and reviews", _REVIEWS),
    Group("Dashboard", _DASHBOARD),
)
SETTINGS: Final = tuple(row for group in GROUPS for row in group.settings)
