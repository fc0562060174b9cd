"""Settings: frozen, read once from flags, environment and `.env` files, every mistake reported at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from braindex.config.data_folder import DEFAULT_FOLDER
from braindex.config.env_files import ENV_FILE, LARGEST_ENV, read_strangers_env
from braindex.config.readers import Headers
from braindex.config.survey import harmless, survey
from braindex.config.table import SETTINGS, Setting
from braindex.domain.errors import UsageError
from braindex.domain.hosts import is_loopback, stays_here
from braindex.domain.options import WorkspaceOptions
from braindex.domain.routing import Mode, RoutingRules

__all__ = [
    "DEFAULT_FOLDER",
    "ENV_FILE",
    "LARGEST_ENV",
    "SETTINGS",
    "InvalidSettings",
    "Setting",
    "Settings",
    "load_settings",
]

Embedding = Literal["bundled", "ollama", "openai"]


class InvalidSettings(UsageError):
    """One message for all mistakes, each with its variable's name."""

    def __init__(self, mistakes: list[str]) -> None:
        self.mistakes = mistakes
        super().__init__("invalid settings: " + "; ".join(mistakes))


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, read and checked. `explicit` names those that were set at all; `for_workspace` adds a layer.

    `notes` say, a line each, what was found in a `.env` file and does not count. `without_effect` says it of names in
    braindex's own `.env` that nothing reads; that is for whoever asks what is wrong, since such a line may be meant for
    another program.
    """

    brain_dir: Path
    brain_workspace: str
    distance_threshold: float
    lexical_rerank: bool
    lexical_rerank_weight: float
    skip_bare_files: tuple[str, ...]
    max_file_bytes: int
    memory_mode: Mode
    deepseek_api_key: str = field(repr=False)
    deepseek_base_url: str
    deepseek_flash_model: str
    deepseek_pro_model: str
    deepseek_pro: bool
    ollama_host: str
    ollama_model: str
    embedding: Embedding
    ollama_embed_model: str
    openai_api_key: str = field(repr=False)
    openai_base_url: str
    openai_embed_model: str
    exact_search_limit: int
    cloud_escalation_words: int
    architecture_keywords: tuple[str, ...]
    brief_warmup: bool
    token_tracking: bool
    prices_file: str
    max_daily_cost: float | None
    episode_days: int | None
    review_max_turns: int
    review_max_cost: float
    github_token: str = field(repr=False)
    github_repository: str
    github_api_url: str
    editor_link: str
    chroma_url: str
    chroma_headers: Headers = field(repr=False)
    explicit: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    without_effect: tuple[str, ...] = ()

    def for_workspace(self, root: Path) -> "Settings":
        """These settings with the workspace's own `.env` below them: only what a stranger may set counts there.

        A value set by a flag, the environment or the user's `.env` wins. A mistake in the workspace's file is
        passed over, since its author may not be the user. While the file stays as it is, this costs one stat.
        """
        said = harmless(read_strangers_env(root))
        rows = (row for row in SETTINGS if row.name in said and row.name not in self.explicit)
        found = {row.field: row.read(said[row.name]) for row in rows}
        return replace(self, **found) if found else self

    def options(self, root: Path) -> WorkspaceOptions:
        """What the use cases need to know of the settings for one workspace."""
        here = self.for_workspace(root)
        return WorkspaceOptions(
            distance_threshold=here.distance_threshold,
            lexical_rerank=here.lexical_rerank,
            lexical_rerank_weight=here.lexical_rerank_weight,
            skip_bare_files=here.skip_bare_files,
            max_file_bytes=here.max_file_bytes,
        )

    def rules(self, root: Path) -> RoutingRules:
        """Which engines may answer questions about one workspace, and when."""
        here = self.for_workspace(root)
        return RoutingRules(
            mode=here.memory_mode,
            cloud=bool(here.deepseek_api_key),
            ollama=bool(here.ollama_model),
            ollama_elsewhere=not here.ollama_stays_here,
            pro=here.deepseek_pro,
            keywords=here.architecture_keywords,
            escalation_words=here.cloud_escalation_words,
        )

    def embedding_of(self, root: Path) -> Embedding:
        """Who embeds one workspace: the bundled model where the workspace stays on this machine and another would not.

        OpenAI's protocol counts as leaving wherever its address leads, as MEMORY_MODE=local refuses it at start.
        """
        stays = self.embedding == "bundled" or (
            self.embedding == "ollama" and stays_here(self.ollama_host, self.ollama_embed_model)
        )
        return self.embedding if stays or self.for_workspace(root).memory_mode != "local" else "bundled"

    def vectors_stay_here(self, root: Path | None) -> bool:
        """Whether the vectors of one workspace must not go to a Chroma server, since that is another machine.

        Nothing goes there of a workspace whose folder, and so its wish, is not known.
        """
        if not self.chroma_url or is_loopback(self.chroma_url):
            return False
        return root is None or self.for_workspace(root).memory_mode == "local"

    @property
    def posts_statuses(self) -> bool:
        """Whether the statuses of reviewed commits are to be posted: a token alone is there for others as well."""
        return bool(self.github_token and self.github_repository)

    def stays_here(self, root: Path) -> bool:
        """Whether nothing of one workspace may leave this machine."""
        return self.for_workspace(root).memory_mode == "local"

    @property
    def ollama_stays_here(self) -> bool:
        """Whether what is sent to Ollama stays on this machine: by its host, and by its model."""
        return stays_here(self.ollama_host, self.ollama_model)


def load_settings(environ: Mapping[str, str], cwd: Path, flags: Mapping[str, str] | None = None) -> Settings:
    """Reads every setting: flag, then environment, then `BRAIN_DIR/.env`. An empty value counts as not set.

    A BRAIN_DIR that the user did not name by an absolute path may have come with a checkout, its `.env` included:
    of that file only what a workspace may set counts, and the user's own file is `~/.brain/.env`.

    Raises InvalidSettings, which names every mistake at once.
    """
    found = survey(environ, cwd, flags or {})
    if found.mistakes:
        raise InvalidSettings(list(found.mistakes))
    values = {row.setting.field: row.value for row in found.rows}
    explicit = frozenset(row.setting.name for row in found.rows if row.is_set)
    return Settings(**values, explicit=explicit, notes=found.notes, without_effect=found.without_effect)
