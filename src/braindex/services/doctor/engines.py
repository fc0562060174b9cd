"""Engines and the embedding model: whether they would answer now. Nobody is asked for anything that costs."""

import math
import struct
from collections.abc import Iterator
from typing import Final

from braindex.domain.engines import EngineFailed
from braindex.domain.health import Check, Health, enumerated
from braindex.domain.ports import Embedder
from braindex.services.doctor.parts import Installation, Probe

EMBEDDING: Final = "embedding"
# A question, and the first numbers of its vector by each version of the bundled model: a table that was cut or changed
# on disk gives others.
_QUESTION: Final = "where are the cookies of a session merged"
_KNOWN: Final = {"braindex-static-2": (-0.172835, -0.129021, -0.021465, -0.082555, 0.020204, 0.023984)}
_TOLERANCE: Final = 1e-4
_FLOAT_BYTES: Final = 4


def engines(here: Installation) -> Iterator[Check]:
    """Who may write answers, each asked for its models."""
    if not here.parts.engines:
        yield Check("engines", "ok", "none is configured: questions are answered with their sources")
    for probe in here.parts.engines:
        yield from probed(probe, local_mode=here.parts.settings.local_mode)


def probed(probe: Probe, *, local_mode: bool) -> Iterator[Check]:
    """Whether a provider answers and has the models that the settings name."""
    named = enumerated(model for _, model in probe.models)
    if local_mode and not probe.stays_here:
        yield Check(probe.name, "note", f"{named}: not asked, since MEMORY_MODE=local keeps everything here")
        return
    try:
        listed = set(probe.list_models())
    except EngineFailed as failure:
        what, _, remedy = str(failure).partition(": ")
        yield Check(probe.name, "broken", f"{named}: {what}", remedy or "see that it runs and can be reached")
        return
    missing = [(variable, model) for variable, model in probe.models if not _has(listed, model)]
    if not missing:
        yield Check(probe.name, "ok", f"{named} at {probe.where}")
    for variable, model in missing:
        has = f"it has {enumerated(sorted(listed))}" if listed else "it lists none"
        remedy = probe.on_missing.format(model=model) if probe.on_missing else f"check {variable}"
        state: Health = "broken" if probe.complete else "note"
        yield Check(probe.name, state, f"{probe.where} does not list {model} ({has})", remedy)


def _has(listed: set[str], model: str) -> bool:
    """A name without a tag means the tag `latest`, as Ollama reads it."""
    return model in listed or f"{model}:latest" in listed


def embedding(here: Installation) -> Iterator[Check]:
    """The bundled model, which ranking needs whoever embeds, and the provider that was chosen instead."""
    local = here.parts.embedders.local
    try:
        problem = known_answer(local)
    except (OSError, ValueError, KeyError, ImportError) as trouble:
        problem = f"it does not load ({type(trouble).__name__}: {trouble})"
    if problem:
        remedy = "install braindex anew: the model comes with it"
        yield Check(EMBEDDING, "broken", f"the bundled model cannot be used: {problem}", remedy)
    else:
        yield Check(EMBEDDING, "ok", f"{local.model}, {local.dimension} numbers, bundled")
    if here.parts.embedding is not None:
        yield from probed(here.parts.embedding, local_mode=here.parts.settings.local_mode)


def known_answer(embedder: Embedder) -> str:
    """What is wrong with the vector that a model gives for a question whose vector is known, "" when it is right."""
    vector = embedder.question(_QUESTION)
    if vector is None or len(vector) != embedder.dimension * _FLOAT_BYTES:
        return "it gives no vector of its dimension"
    numbers = struct.unpack(f"<{embedder.dimension}f", vector)
    if not math.isclose(math.hypot(*numbers), 1.0, abs_tol=_TOLERANCE):
        return "it gives a vector that is not of length 1"
    expected = _KNOWN.get(embedder.model, ())
    if any(abs(here - there) > _TOLERANCE for here, there in zip(numbers, expected, strict=False)):
        return "it gives another vector than it should"
    return ""
