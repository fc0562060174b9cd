"""The brief that needs no engine: its nine sections, written from the facts; and what an engine's brief is made of."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from braindex.domain.brief import SECTIONS
from braindex.domain.options import WorkspaceOptions
from braindex.registry.index import IndexStore
from braindex.services.briefing import sections_code as of_code
from braindex.services.briefing import sections_project as of_project
from braindex.services.briefing.facts import Facts, gather

_WRITERS: Final[Mapping[str, Callable[[Facts], list[str]]]] = {
    "Overview": of_project.overview,
    "Technical Stack": of_project.technical_stack,
    "Core Architecture": of_code.core_architecture,
    "Primary Conventions": of_code.primary_conventions,
    "Purpose": of_project.purpose,
    "Key Files": of_code.key_files,
    "Data Flow": of_code.data_flow,
    "Development & Testing": of_project.development,
    "Future Roadmap": of_project.roadmap,
}
_QUERIES: Final = {
    "Overview": "what is this project and what does it do",
    "Technical Stack": "dependencies, frameworks, runtime, build configuration",
    "Core Architecture": "main classes and modules, how the parts of the system fit together",
    "Primary Conventions": "coding conventions, style, naming, error handling, typing",
    "Purpose": "what problem does this solve, for whom, main features",
    "Key Files": "entry point, main module, public interface, configuration",
    "Data Flow": "how a request or an input is processed from entry point to result",
    "Development & Testing": "how to set up, run the tests, lint, build and release",
    "Future Roadmap": "TODO, planned, not yet implemented, deprecated, known limitations",
}


def brief_sections(workspace_name: str, root: Path, store: IndexStore, options: WorkspaceOptions) -> dict[str, str]:
    """The nine sections of a workspace's brief, by title, for `domain.brief.compose`; "" for one without facts.

    `root` is the workspace's folder, `store` its open index. Raises a StoreError when the index cannot be read.
    """
    facts = gather(workspace_name, root, store, options)
    return {title: section_material(title, facts) for title in SECTIONS}


def section_material(title: str, facts: Facts) -> str:
    """The facts that belong to a section, a line each, the most telling first; "" without any.

    Words of the project in it are quoted, on one line, and escaped: it can stand in a prompt as data.
    """
    return "\n".join(_WRITERS[title](facts))


def section_query(title: str) -> str:
    """The question whose sources belong to a section."""
    return _QUERIES[title]
