"""What changed from one release of a study to another. No database. Pure but for the two files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from evaluation.releases.archive import BundleReader
from evaluation.releases.verification import Bundle, read_bundle

# People and assignments have other names in each release, so a judgment is known by what it is of, and when.
KNOWN_BY = ("unit", "hit", "value", "answer", "presented", "accepted_at", "submitted_at", "seconds")


NO_PLAN: dict[str, Any] = {"sha256": None, "hypotheses": [], "deviations": []}


def compare_releases(before: Path, after: Path) -> dict[str, Any]:
    """Judgments, consensus, agreement and metrics of two bundles side by side.

    Returns:
        ``versions``; ``judgments`` (added, removed, no longer used); ``consensus`` (whose value is another);
        ``alpha`` and ``metrics`` before and after; ``swapped``: metrics that changed places; ``plan``: whether both
        have the same registered plan; ``hypotheses`` whose verdict is another; ``deviations`` added and removed.

    Raises:
        VerificationError: a file is no bundle.
    """
    first, second = BundleReader(before), BundleReader(after)
    try:
        one, two = read_bundle(first), read_bundle(second)
        gone, stands_before, stands_after = _judgments(first), _standing(first), _standing(second)
        now = _judgments(second)
    finally:
        first.close()
        second.close()
    found_before, found_after = _headlines(one), _headlines(two)
    return {
        "versions": [one.manifest["version"], two.manifest["version"]],
        "judgments": {
            "before": gone.total(),
            "after": now.total(),
            "added": (now - gone).total(),
            "removed": (gone - now).total(),
            "no_longer_used": (stands_before & (now - stands_after)).total(),
        },
        "consensus": _flipped(one, two),
        "alpha": [one.findings.agreement["alpha"]["value"], two.findings.agreement["alpha"]["value"]],
        "metrics": {
            name: [found_before.get(name), found_after.get(name)]
            for name in sorted({*found_before, *found_after})
        },
        "swapped": _swapped(found_before, found_after),
        **_of_plan(one.findings.outcomes or NO_PLAN, two.findings.outcomes or NO_PLAN),
    }


def _of_plan(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What became of the registered plan, where that is another."""
    then = {(row["text"], row["claim"]): row for row in before["hypotheses"]}
    said = [[one["words"] for one in found["deviations"]] for found in (before, after)]
    return {
        "plan": before["sha256"] == after["sha256"],
        "hypotheses": [
            {
                "text": row["text"],
                "claim": row["claim"],
                "before": old["verdict"],
                "after": row["verdict"],
                "words": row["words"],
            }
            for row in after["hypotheses"]
            if (old := then.get((row["text"], row["claim"]))) is not None and old["verdict"] != row["verdict"]
        ],
        "deviations": {
            "added": [words for words in said[1] if words not in said[0]],
            "removed": [words for words in said[0] if words not in said[1]],
        },
    }


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(repr(row[name]) if name in row else "" for name in KNOWN_BY)


def _judgments(reader: BundleReader) -> Counter[tuple[str, ...]]:
    return Counter(_key(row) for row in reader.rows("judgments.jsonl"))


def _standing(reader: BundleReader) -> Counter[tuple[str, ...]]:
    return Counter(_key(row) for row in reader.rows("judgments.jsonl") if row["used"])


def _flipped(one: Bundle, two: Bundle) -> list[dict[str, Any]]:
    """Units and pairs whose consensus is another."""
    then = {(row["unit"], row["pair"]): row for row in one.findings.consensus}
    return [
        {"unit": row["unit"], "pair": row["pair"], "before": old["value"], "after": row["value"]}
        for row in two.findings.consensus
        if (old := then.get((row["unit"], row["pair"]))) is not None and old["value"] != row["value"]
    ]


def _headlines(bundle: Bundle) -> dict[str, float | None]:
    """Each metric's accuracy over all pairs, or tau-b."""
    return {
        name: (figures["accuracy"]["all"] if "accuracy" in figures else figures["kendall_tau_b"])["value"]
        for name, figures in bundle.findings.metrics.items()
    }


def _swapped(before: Mapping[str, float | None], after: Mapping[str, float | None]) -> list[list[str]]:
    """Pairs of metrics of which the better one is now the worse one."""
    swapped = []
    for one, two in combinations(sorted(before.keys() & after.keys()), 2):
        then, now = (_ahead(found[one], found[two]) for found in (before, after))
        if then * now < 0:
            swapped.append([one, two])
    return swapped


def _ahead(one: float | None, two: float | None) -> int:
    if one is None or two is None:
        return 0
    return (one > two) - (one < two)
