"""Deterministic identities: the same content gives the same id in every process and on every machine."""

import hashlib
import uuid
from typing import Final

# A random namespace, fixed for ever: changing it would orphan every stored workspace.
WORKSPACE_NAMESPACE: Final = uuid.UUID("6f1c1f0e-6d0a-4c35-9d6f-3b1f6a3c8b52")
SHORT_ID_LENGTH: Final = 8


def workspace_id(canonical_path: str) -> str:
    """UUID5 of a canonical path (symlinks resolved, NFC, case folded where the file system folds it)."""
    return str(uuid.uuid5(WORKSPACE_NAMESPACE, canonical_path))


def short_id(identifier: str) -> str:
    """The first eight characters, as listings show them and arguments accept them."""
    return identifier[:SHORT_ID_LENGTH]


def entity_id(path: str, kind: str, qualified_name: str, ordinal: int) -> str:
    """24 hex characters from what names the entity; lines are left out, so a moved entity keeps its id."""
    text = "\0".join((path, kind, qualified_name, str(ordinal)))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
