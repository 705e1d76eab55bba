"""The word of the hidden line, which a page of work contains for programs that read it."""

from __future__ import annotations

from judgments.drawing.draws import rng_for

# rare words that people do not use in captions; benchmarks/honesty.py finds none of them in 134,470 captions
HIDDEN_WORDS = (
    "albeit", "apposite", "cogent", "conflate", "desultory", "diffident", "efficacy", "ephemeral", "erstwhile",
    "fastidious", "forthwith", "heretofore", "inchoate", "ineffable", "insofar", "inveterate", "laconic", "liminal",
    "mellifluous", "nascent", "notwithstanding", "obdurate", "ostensible", "penchant", "perfunctory", "pertinacity",
    "quiescent", "recondite", "sagacious", "tacitly", "verisimilitude", "vicissitude",
)  # fmt: skip


def hidden_word(*, seed: int, hit: str, worker: str) -> str:
    """Return the word that the hidden line of a worker's page names. Equal arguments give the same word."""
    rng = rng_for(seed, f"hidden line {hit} {worker}")
    return HIDDEN_WORDS[int(rng.integers(len(HIDDEN_WORDS)))]
