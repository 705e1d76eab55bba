"""The hidden references of a challenge: read, hashed, and prepared for scoring."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from django.db.models import QuerySet

from common.errors import WrongState
from contrib.challenges.models import Challenge
from judgments.models import Caption, Dataset

if TYPE_CHECKING:
    from quorum.metrics.registry import PreparedReferences

CACHED_CHALLENGES = 2  # number of challenges whose references a process keeps in memory
# Prepared references by (hash of the references, metrics, tokenizer), not by row id, which may be reused.
_PREPARED_REFERENCES: dict[tuple[str, tuple[str, ...], str], PreparedReferences] = {}


def reference_rows(dataset: Dataset, split: str) -> QuerySet[Caption]:
    rows = Caption.objects.filter(item__dataset=dataset, role=Caption.Role.REFERENCE)
    return rows.filter(item__split=split) if split else rows


def references_of(dataset: Dataset, split: str) -> dict[str, list[str]]:
    """Return the references by image in scoring order. Images without references are left out."""
    references: dict[str, list[str]] = {}
    rows = reference_rows(dataset, split).order_by("item__position", "item_id", "position", "id")
    for name, text in rows.values_list("item__name", "text").iterator(chunk_size=10_000):
        references.setdefault(name, []).append(text)
    return references


def image_names(challenge: Challenge) -> list[str]:
    """Return the names of the images that need a caption, in scoring order."""
    rows = challenge.dataset.items.filter(references__role=Caption.Role.REFERENCE)
    if challenge.split:
        rows = rows.filter(split=challenge.split)
    return list(rows.order_by("position", "pk").distinct().values_list("name", flat=True))


def hash_references(references: dict[str, list[str]]) -> str:
    """Return the SHA-256 of images and their references.

    The length stands before each text, so that different lists of texts cannot give the same bytes.
    """
    digest = sha256()
    for image, texts in references.items():
        for text in (image, *texts):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(f"{len(data)}:".encode() + data)
        digest.update(b";")
    return digest.hexdigest()


def prepared_references(challenge: Challenge) -> PreparedReferences:
    """Return a challenge's prepared references.

    They are read and hashed at each call, so that every process uses the current texts.

    Raises:
        WrongState: the references have changed since the challenge was created.
    """
    from quorum.metrics.registry import PreparedReferences

    references = references_of(challenge.dataset, challenge.split)
    if hash_references(references) != challenge.references_sha256:
        raise WrongState(
            "The references of this challenge were changed after it was made, so that scores would not be comparable; "
            "its organisers must make a new one."
        )
    key = (challenge.references_sha256, tuple(challenge.metrics), challenge.tokenizer)
    cached_references = _PREPARED_REFERENCES.get(key)
    if cached_references is None:
        cached_references = PreparedReferences.from_references(
            list(references.values()), challenge.metrics, challenge.tokenizer
        )
        # make room for one more by removing the oldest
        for old_key in list(_PREPARED_REFERENCES)[: len(_PREPARED_REFERENCES) - CACHED_CHALLENGES + 1]:
            _PREPARED_REFERENCES.pop(old_key, None)
        _PREPARED_REFERENCES[key] = cached_references
    return cached_references
