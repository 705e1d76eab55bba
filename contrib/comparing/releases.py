"""Compare two releases of a study."""

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
from evaluation.data.releases.rows import TIMES, to_the_minute
from evaluation.reports.releases.verification import read_bundle

# Pseudonyms of workers and assignments differ between releases, so judgments are matched by unit and time.
MATCHING_KEYS = ("unit", "hit", "value", "answer", "presented", "accepted_at", "submitted_at", "seconds")
NO_PLAN: dict[str, Any] = {"sha256": None, "hypotheses": [], "deviations": []}


@dataclass(frozen=True, slots=True)
class _Summary:
    """The parts of a bundle that are compared.

    judgments: (N,) hashes of the N judgments. used: (N,) whether each judgment is included.
    """

    version: str
    alpha: float | None
    metrics: dict[str, float | None]
    consensus: dict[tuple[str | None, str | None], Any]
    judgments: npt.NDArray[np.uint64]
    used: npt.NDArray[np.bool_]
    outcomes: Mapping[str, Any]


def compare_bundles(before: Path, after: Path) -> dict[str, Any]:
    """Return the differences between two bundles (docs/releases.md).

    Raise VerificationError if a bundle is invalid.
    """
    old, new = (_summarize(path) for path in (before, after))  # one after the other, to save memory
    hashes, codes = np.unique(np.concatenate([old.judgments, new.judgments]), return_inverse=True)
    old_codes, new_codes = np.split(codes, [len(old.judgments)])

    def count_hashes(codes: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        return np.bincount(codes, minlength=len(hashes))

    # judgments with each hash; several can be equal
    before_counts, after_counts = count_hashes(old_codes), count_hashes(new_codes)
    used_before, used_after = count_hashes(old_codes[old.used]), count_hashes(new_codes[new.used])
    unused_after = np.maximum(after_counts - used_after, 0)
    return {
        "versions": [old.version, new.version],
        "judgments": {
            "before": len(old_codes),
            "after": len(new_codes),
            "added": int(np.maximum(after_counts - before_counts, 0).sum()),
            "removed": int(np.maximum(before_counts - after_counts, 0).sum()),
            "no_longer_used": int(np.minimum(used_before, unused_after).sum()),
        },
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


def _compare_plans(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    old_rows = {(row["text"], row["claim"]): row for row in before["hypotheses"]}
    old_texts, new_texts = ([row["words"] for row in outcomes["deviations"]] for outcomes in (before, after))
    changes = []
    for row in after["hypotheses"]:
        old_row = old_rows.get((row["text"], row["claim"]), row)
        if old_row["verdict"] != row["verdict"]:
            verdicts = {"before": old_row["verdict"], "after": row["verdict"]}
            changes.append({"text": row["text"], "claim": row["claim"], **verdicts, "words": row["words"]})
    return {
        "plan": before["sha256"] == after["sha256"],
        "hypotheses": changes,
        "deviations": {
            "added": [text for text in new_texts if text not in old_texts],
            "removed": [text for text in old_texts if text not in new_texts],
        },
    }


def _summarize(path: Path) -> _Summary:
    with closing(BundleReader(path)) as reader:
        bundle = read_bundle(reader)
        hashes, used_flags = array("Q"), array("b")
        for row in reader.rows("judgments.jsonl"):
            hashes.append(_hash_row(row))
            used_flags.append(bool(row.get("used")))
    return _Summary(
        version=bundle.manifest["version"],
        alpha=bundle.findings.agreement["alpha"]["value"],
        metrics={
            name: (figures["accuracy"]["all"] if "accuracy" in figures else figures["kendall_tau_b"])["value"]
            for name, figures in bundle.findings.metrics.items()
        },
        consensus={(row["unit"], row["pair"]): row["value"] for row in bundle.findings.consensus()},
        judgments=np.array(hashes, dtype=np.uint64),
        used=np.array(used_flags, dtype=bool),
        outcomes=bundle.findings.outcomes or NO_PLAN,
    )


def _hash_row(row: Mapping[str, Any]) -> int:
    """Return a hash of 64 bits. Among ten million judgments, the probability of a collision is 3e-6."""
    # times in releases before 0.6 have microseconds
    times = {name: to_the_minute(row.get(name)) for name in TIMES}
    key = repr([{**row, **times}.get(name, ...) for name in MATCHING_KEYS])
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())


def _swapped_metrics(
    before: Mapping[str, float | None], after: Mapping[str, float | None]
) -> list[list[str]]:
    swapped = []
    for name, other in combinations(sorted(before.keys() & after.keys()), 2):
        old_sign, new_sign = (_sign_of_difference(scores[name], scores[other]) for scores in (before, after))
        if old_sign * new_sign < 0:
            swapped.append([name, other])
    return swapped


def _sign_of_difference(first: float | None, second: float | None) -> int:
    if first is None or second is None:
        return 0
    return (first > second) - (first < second)
