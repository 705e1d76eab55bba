"""Seeded draws and content-derived keys.

Every purpose has its own stream, so a new step never shifts another step's draws. Keys are content
hashes, equal on every database.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def content_key(*parts: object) -> str:
    """Return 20 hexadecimal digits of the SHA-256 of ``parts`` as JSON."""
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def candidate_key(text: str) -> str:
    """Return the caption id of a candidate text; equal texts share one."""
    return f"c-{content_key(text)}"


def rng_for(seed: int, purpose: str) -> np.random.Generator:
    digest = hashlib.sha256(f"{seed}|{purpose}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


def shuffled(values: Sequence[T], rng: np.random.Generator) -> list[T]:
    return [values[index] for index in rng.permutation(len(values))]


def balanced_sides(count: int, rng: np.random.Generator) -> list[bool]:
    """Draw whether each of ``count`` units shows the second candidate first, balanced to within one."""
    half, odd = divmod(count, 2)
    extra = bool(rng.integers(2)) if odd else False
    flips = [True] * (half + (1 if extra else 0)) + [False] * (half + (1 if odd and not extra else 0))
    return shuffled(flips, rng)
