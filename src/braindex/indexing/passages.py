"""Entities to passages: what of a file is embedded and indexed, under which id."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from braindex.domain.entities import CALLABLE_KINDS, CodeEntity
from braindex.domain.identity import entity_id
from braindex.domain.lines import split_lines
from braindex.domain.ports import Passage
from braindex.domain.references import Reference
from braindex.domain.units import Terms
from braindex.domain.words import term_text
from braindex.indexing.blocks import code_blocks, file_body, file_entity
from braindex.indexing.extract import extract
from braindex.languages import language_for

# Part of what an index says it was made with: raised whenever entities, passages or terms come out differently, so that
# an upgrade indexes every file anew instead of mixing old and new.
VERSION: Final = 6
INDEXED_CHARACTERS: Final = 8000  # of a body; what comes later repeats the words of what came before
_DOC_CHARACTERS: Final = 4000
_MOST_OVERLAP: Final = 8  # functions inside each other that repeat what they enclose: more would be of quadratic size


@dataclass(frozen=True, slots=True)
class Indexed:
    """An entity with its id, its passage, the digest of all that its terms and vector are made of, and its references.

    What a file refers to outside its entities is the file's own.
    """

    id: str
    entity: CodeEntity
    passage: Passage
    digest: bytes
    references: tuple[Reference, ...] = ()


def index_file(path: str, data: bytes, skip_bare: Sequence[str] = ()) -> list[Indexed]:
    """Everything the index keeps of a file: its entities, the file itself, and code outside definitions.

    `data` is UTF-8 without a byte order mark. A file in which nothing is found is one `file` entity, unless its
    extension is in `skip_bare` (lower case, with the dot). Raises what `extract_entities` raises.
    """
    extracted = extract(path, data)
    entities = extracted.entities
    if not entities and path.lower().endswith(tuple(skip_bare)) and skip_bare:
        return []
    spec = language_for(path)
    language = spec.name if spec else "text"
    lines = split_lines(data.decode("utf-8", "replace"))
    whole = file_entity(path, language, lines, entities, len(data))
    body = file_body(lines, entities, whole.docstring)
    found = [_indexed(whole, body, extracted.outside)]
    texts = own_texts(data, entities)
    found += [_indexed(*one) for one in zip(entities, texts, extracted.references, strict=True)]
    if spec and spec.statements:
        blocks = code_blocks(path, language, lines, entities, data)
        found += [_indexed(one, "\n".join(lines[one.line - 1 : one.end_line])) for one in blocks]
    return found


def own_texts(data: bytes, entities: Sequence[CodeEntity]) -> list[str]:
    """The source text of each entity. A class, a section or an object is known by what is not its members', and so is
    a function inside many others."""
    holes: list[list[tuple[int, int]]] = [[] for _ in entities]
    depths = [0] * len(entities)  # in functions
    order = sorted(range(len(entities)), key=lambda index: (entities[index].start, -entities[index].end))
    stack: list[int] = []
    for index in order:
        one = entities[index]
        while stack and entities[stack[-1]].end <= one.start:
            stack.pop()
        if stack:
            outer = entities[stack[-1]]
            depths[index] = depths[stack[-1]] + (outer.kind in CALLABLE_KINDS)
            if (outer.start, outer.end) != (one.start, one.end):
                holes[stack[-1]].append((one.start, one.end))
        stack.append(index)
    for index, one in enumerate(entities):
        if one.kind in CALLABLE_KINDS and depths[index] < _MOST_OVERLAP:
            holes[index] = []
    return [_without(data, one, gaps) for one, gaps in zip(entities, holes, strict=True)]


def _without(data: bytes, entity: CodeEntity, gaps: Sequence[tuple[int, int]]) -> str:
    if not gaps:
        return data[entity.start : min(entity.end, entity.start + INDEXED_CHARACTERS * 2)].decode("utf-8", "replace")
    kept: list[bytes] = []
    position = entity.start
    for start, end in gaps:
        kept.append(data[position:start])
        position = max(position, end)
    kept.append(data[position : entity.end])
    return b"".join(kept)[: INDEXED_CHARACTERS * 2].decode("utf-8", "replace")


def _indexed(entity: CodeEntity, text: str, references: tuple[Reference, ...] = ()) -> Indexed:
    doc = entity.docstring[:_DOC_CHARACTERS]
    first = doc.split("\n", 1)[0]
    body = text if not first or first in text else f"{doc}\n{text}"
    passage = Passage(
        path=entity.path,
        parent=entity.parent,
        name=entity.name,
        signature=entity.signature,
        doc=doc,
        body=body[:INDEXED_CHARACTERS],
    )
    return Indexed(
        id=entity_id(entity.path, entity.kind, entity.qualified_name, entity.ordinal),
        entity=entity,
        passage=passage,
        digest=_digest(passage),
        references=references,
    )


def _digest(passage: Passage) -> bytes:
    fields = (passage.path, passage.parent, passage.name, passage.signature, passage.doc, passage.body)
    return hashlib.blake2b("\0".join(fields).encode("utf-8", "replace"), digest_size=16).digest()


@lru_cache(maxsize=64)
def _path_terms(path: str) -> str:
    """The terms of a path; the passages of one file come one after the other."""
    return term_text(path)


def terms_of(passage: Passage) -> Terms:
    """The index terms of a passage, field by field."""
    return Terms(
        name=term_text(passage.name),
        parent=term_text(passage.parent),
        signature=term_text(passage.signature),
        path=_path_terms(passage.path),
        doc=term_text(passage.doc),
        body=term_text(passage.body),
    )
