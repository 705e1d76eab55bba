"""Compare two releases of a study: judgments, consensus, agreement, metrics and outcomes of registered hypotheses."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.data.releases.bundle import BundleReader
from evaluation.data.releases.tables import TIMES, to_the_minute
from evaluation.reports.releases.verification import read_bundle

# Pseudonyms of workers and assignments differ between releases, so judgments are matched by unit and time.
MATCHING_KEYS = ("unit", "hit", "value", "answer", "presented", "accepted_at", "submitted_at", "seconds")
NO_PLAN: dict[str, Any] = {"sha256": None, "hypotheses": [], "deviations": []}


@dataclass(frozen=True, slots=True)
class _ReleaseSummary:
    """The parts of a bundle, the file of a release, that are compared.

    Attributes:
        metrics: the accuracy on pairs or tau-b on captions, by metric.
        consensus: the consensus by the keys of the unit and the pair, one of which is None.
        judgment_hashes: (N,) hashes of the N judgments.
        is_used: (N,) whether each judgment is included.
        outcomes: the hash of the registered plan, the verdicts on its hypotheses, and the deviations from it.
    """

    version: str
    alpha: float | None
    metrics: dict[str, float | None]
    consensus: dict[tuple[str | None, str | None], Any]
    judgment_hashes: npt.NDArray[np.uint64]
    is_used: npt.NDArray[np.bool_]
    outcomes: Mapping[str, Any]


def compare_bundles(before: Path, after: Path) -> dict[str, Any]:
    """Return the differences between two bundles (docs/releases.md). Raise VerificationError if one is invalid."""
    old, new = (_summarise_release(path) for path in (before, after))  # one after the other, to save memory
    return {
        "versions": [old.version, new.version],
        "judgments": _count_changed_judgments(old, new),
        "consensus": [
            {"unit": unit, "pair": pair, "before": old.consensus[unit, pair], "after": value}
            for (unit, pair), value in new.consensus.items()
            if (unit, pair) in old.consensus and old.consensus[unit, pair] != value
        ],
        "alpha": [old.alpha, new.alpha],
        "metrics": {
            name: [old.metrics.get(name), new.metrics.get(name)]
            for name in sorted({*old.metrics, *new.metrics})
        },
        "swapped": _swapped_metrics(old.metrics, new.metrics),
        **_compare_plans(old.outcomes, new.outcomes),
    }


def _count_changed_judgments(old: _ReleaseSummary, new: _ReleaseSummary) -> dict[str, int]:
    """Return how many judgments there are, and how many were added, removed, or are no longer used."""
    hashes, codes = np.unique(np.concatenate([old.judgment_hashes, new.judgment_hashes]), return_inverse=True)
    old_codes, new_codes = np.split(codes, [len(old.judgment_hashes)])

    def count_codes(codes: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        return np.bincount(codes, minlength=len(hashes))

    # Since several judgments can be equal, the numbers of judgments with each hash are compared.
    old_counts, new_counts = count_codes(old_codes), count_codes(new_codes)
    old_used_counts = count_codes(old_codes[old.is_used])
    new_unused_counts = new_counts - count_codes(new_codes[new.is_used])
    return {
        "before": len(old_codes),
        "after": len(new_codes),
        "added": int(np.maximum(new_counts - old_counts, 0).sum()),
        "removed": int(np.maximum(old_counts - new_counts, 0).sum()),
        "no_longer_used": int(np.minimum(old_used_counts, new_unused_counts).sum()),
    }


def _compare_plans(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Compare the outcomes of the registered plans.

    Return whether the plan is the same, the hypotheses with another verdict, and the deviations that were added or
    removed.
    """
    old_rows = {(row["text"], row["claim"]): row for row in old["hypotheses"]}
    old_texts, new_texts = ([row["words"] for row in outcomes["deviations"]] for outcomes in (old, new))
    changed_rows = []
    for row in new["hypotheses"]:
        old_row = old_rows.get((row["text"], row["claim"]), row)  # a new hypothesis has no change of verdict
        if old_row["verdict"] != row["verdict"]:
            verdicts = {"before": old_row["verdict"], "after": row["verdict"]}
            changed_rows.append(
                {"text": row["text"], "claim": row["claim"], **verdicts, "words": row["words"]}
            )
    return {
        "plan": old["sha256"] == new["sha256"],
        "hypotheses": changed_rows,
        "deviations": {
            "added": [text for text in new_texts if text not in old_texts],
            "removed": [text for text in old_texts if text not in new_texts],
        },
    }


def _summarise_release(path: Path) -> _ReleaseSummary:
    """Read the parts of a bundle that are compared. Raise VerificationError if it is invalid."""
    with closing(BundleReader(path)) as reader:
        bundle = read_bundle(reader)
        hashes, used_flags = array("Q"), array("b")
        for row in reader.rows("judgments.jsonl"):
            hashes.append(_hash_row(row))
            used_flags.append(bool(row.get("used")))
    return _ReleaseSummary(
        version=bundle.manifest["version"],
        alpha=bundle.findings.agreement["alpha"]["value"],
        metrics={
            name: (result["accuracy"]["all"] if "accuracy" in result else result["kendall_tau_b"])["value"]
            for name, result in bundle.findings.metrics.items()
        },
        consensus={(row["unit"], row["pair"]): row["value"] for row in bundle.findings.consensus()},
        judgment_hashes=np.array(hashes, dtype=np.uint64),
        is_used=np.array(used_flags, dtype=bool),
        outcomes=bundle.findings.outcomes or NO_PLAN,
    )


def _hash_row(row: Mapping[str, Any]) -> int:
    """Return a hash of a judgment in 64 bits. Among ten million judgments, the probability of a collision is 3e-6."""
    # Times in releases before 0.6 have microseconds.
    times = {name: to_the_minute(row.get(name)) for name in TIMES}
    # A missing key is hashed as the object "...", which differs from the value None.
    key = repr([{**row, **times}.get(name, ...) for name in MATCHING_KEYS])
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())


def _swapped_metrics(old: Mapping[str, float | None], new: Mapping[str, float | None]) -> list[list[str]]:
    """Return the pairs of metrics whose order changed."""
    swapped_pairs = []
    for first, second in combinations(sorted(old.keys() & new.keys()), 2):
        old_sign, new_sign = (_sign_of_difference(scores[first], scores[second]) for scores in (old, new))
        if old_sign * new_sign < 0:
            swapped_pairs.append([first, second])
    return swapped_pairs


def _sign_of_difference(first: float | None, second: float | None) -> int:
    """Return 1, 0 or -1; 0 also if a value is missing."""
    if first is None or second is None:
        return 0
    return (first > second) - (first < second)
