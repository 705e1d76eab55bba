"""Seeded draws and content-derived names.

Every purpose has a stream of its own, so that a new step never shifts another step's draws; every key is a hash
of what it stands for, so that it is the same on every database.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def content_key(*parts: object) -> str:
    """Twenty hexadecimal digits of the SHA-256 of ``parts`` as JSON."""
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def candidate_key(text: str) -> str:
    """The caption id of a candidate text: equal texts are one caption, whoever produced them."""
    return f"c-{content_key(text)}"


def rng_for(seed: int, purpose: str) -> np.random.Generator:
    """The stream of ``purpose`` in a study with this seed."""
    digest = hashlib.sha256(f"{seed}|{purpose}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


def shuffled(values: Sequence[T], rng: np.random.Generator) -> list[T]:
    """A new list in random order."""
    return [values[index] for index in rng.permutation(len(values))]


def balanced_sides(count: int, rng: np.random.Generator) -> list[bool]:
    """For ``count`` two-sided units, whether the second candidate is shown first; the sides differ by at most
    one, and which side gets the odd one is drawn as well."""
    half, odd = divmod(count, 2)
    extra = bool(rng.integers(2)) if odd else False
    flips = [True] * (half + (1 if extra else 0)) + [False] * (half + (1 if odd and not extra else 0))
    return shuffled(flips, rng)
