"""What a workspace's settings mean to the use cases."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkspaceOptions:
    """Settings that may differ from workspace to workspace. `skip_bare_files` are suffixes, lower case, with dots."""

    distance_threshold: float = 1.15
    lexical_rerank: bool = False
    lexical_rerank_weight: float = 0.05
    skip_bare_files: tuple[str, ...] = ()
    max_file_bytes: int = 1_000_000
