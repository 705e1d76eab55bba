"""Match the units of two sources of judgments, and compare what they say. Pure.

Units match by id, else by content. Candidates may be in either order; the second source's answers are flipped
to fit.

The second source is the standard: precision is the share of the first's yes that it confirms, recall the
share of its yes that the first finds. docs/statistics.md defines each statistic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from numpy.typing import NDArray

from common.amounts import as_json, thousands
from evaluation.data.judgment_sets.records import Content, Flags, Ints, Source
from evaluation.errors import EvaluationError
from evaluation.results.agreement import FULL_DEPTH, alpha_of_ratings, exchange_of
from judgments.drawing.material import first_of_documents
from judgments.kinds import Kind
from quorum.numeric.signatures import signature
from quorum.statistics.agreement import (
    KappaGrid,
    ThresholdAgreement,
    kappa_grid,
    kappa_interval,
    ratings_of_judgments,
)
from quorum.statistics.correlation import correlation
from quorum.statistics.crossed import CONFIDENCE, ITEM, NAIVE, RATER, share_of_rows
from quorum.statistics.inputs import one_of
from quorum.statistics.meta import kinds_of
from quorum.statistics.resampling import RESAMPLES


@dataclass(frozen=True, slots=True)
class Matched:
    """Two sources over the same groups of units.

    shared: (G,) bool, groups in both. by_id: number matched by id. turned: number of the second's units with
    swapped candidates. joined: per source, units merged by equal content. without_reference: references were
    ignored, because only one source shows them.
    """

    first: Source
    second: Source
    shared: Flags
    by_id: int
    turned: int
    joined: tuple[int, int]
    without_reference: bool
    stopped_early: bool

    @property
    def same_scale(self) -> bool:
        first, second = self.first.kind, self.second.kind
        if first is None or second is None:
            return first is second
        same_level = first.aggregation.level == second.aggregation.level
        return same_level and first.outcomes == second.outcomes


def match_sources(first: Source, second: Source) -> Matched:
    """Match two sources. Raise EvaluationError for incompatible protocols."""
    for source in (first, second):
        if source.kind is not None and source.kind.is_open:
            raise EvaluationError(
                f"{source.name} is of protocol {source.kind.name}, whose answers are no numbers; expected grades, "
                "yes or no, or choices between two captions."
            )
        if not len(source.unit):
            raise EvaluationError(f"{source.name} holds no judgment that counts, expected one or more.")
    for sided, unnamed, option in ((first, second, "--second-protocol"), (second, first, "--first-protocol")):
        if sided.two_sided and unnamed.kind is None:
            raise EvaluationError(
                f"{unnamed.name} does not say of which protocol its judgments are, and those of {sided.name} choose "
                f"between two captions; name it with {option}."
            )
    references = [_has_references(source) for source in (first, second)]
    split = len(first.units)
    groups = _Groups(split + len(second.units))
    how = {"reference": all(references), "two_sided": first.two_sided and second.two_sided}
    how["by_system"] = all(_judges_by_system(source, **how) for source in (first, second))
    known: dict[Hashable, tuple[int, bool]] = {}
    for index, content in enumerate(chain(_contents(first), _contents(second))):
        for key, turned in content.keys(**how):
            earlier, earlier_turned = known.setdefault(key, (index, turned))
            groups.join(earlier, index, odd=turned != earlier_turned)
    # Contents go first: they also determine the sides.
    ids = _same_ids(first, second)
    for position, other in ids:
        groups.join(position, split + other, odd=False)
    group, odd, count = groups.number_groups()
    first_groups, second_groups = group[:split], group[split:]
    shared = _mark_occurring(first_groups[first.unit], count) & _mark_occurring(
        second_groups[second.unit], count
    )
    by_id = _mark_occurring(first_groups[np.array([position for position, _ in ids], dtype=np.int64)], count)
    return Matched(
        first=first.merged_into(first_groups, odd[:split], count),
        second=second.merged_into(second_groups, odd[split:], count),
        shared=shared,
        by_id=int((shared & by_id).sum()),
        turned=int((odd[split:] & shared[second_groups]).sum()),
        joined=(split - len(np.unique(first_groups)), len(second.units) - len(np.unique(second_groups))),
        without_reference=references[0] != references[1],
        stopped_early=first.full_depth is not None or second.full_depth is not None,
    )


def _mark_occurring(groups: Ints, count: int) -> Flags:
    occurring = np.zeros(count, dtype=bool)
    occurring[groups] = True
    return occurring


def _contents(source: Source) -> Sequence[Content]:
    return source.contents or [Content()] * len(source.units)


def _judges_by_system(source: Source, **how: bool) -> bool:
    """Return whether units differ by the systems that they credit alone."""
    plain, credited = (
        {key for content in _contents(source) for key, _ in content.keys(**how, by_system=by_system)}
        for by_system in (False, True)
    )
    return len(credited) > len(plain)


def _has_references(source: Source) -> bool:
    return any(content.ids[0] is not None or content.texts[0] is not None for content in source.contents)


def _same_ids(first: Source, second: Source) -> list[tuple[int, int]]:
    """Return positions of units with equal ids and consistent contents."""
    positions = {name: position for position, name in enumerate(second.units)}
    pairs = ((position, positions[name]) for position, name in enumerate(first.units) if name in positions)
    if not first.contents or not second.contents:
        return list(pairs)
    return [
        (position, other)
        for position, other in pairs
        if not _contradict(first.contents[position], second.contents[other])
    ]


def _contradict(content: Content, other: Content) -> bool:
    """Return whether contents contradict each other; ids outweigh texts."""
    if content.image is not None and other.image is not None and content.image != other.image:
        return True
    for captions, others in ((content.ids, other.ids), (content.texts, other.texts)):
        if captions[1] is not None and others[1] is not None:
            return set(captions[1:]) != set(others[1:])
    return False


class _Groups:
    """Union-find of equal units that tracks candidate order."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))
        self._odd = [False] * size

    def _root(self, position: int) -> tuple[int, bool]:
        """Return the group's root, and whether ``position`` is turned against it."""
        odd, path = False, []
        while self._parent[position] != position:
            path.append(position)
            position = self._parent[position]
        for step in reversed(path):  # from the root outwards, so that each step uses the one before
            odd ^= self._odd[step]
            self._parent[step], self._odd[step] = position, odd
        return position, odd

    def join(self, position: int, other: int, *, odd: bool) -> None:
        (root, turned), (other_root, other_turned) = self._root(position), self._root(other)
        low, high = min(root, other_root), max(root, other_root)
        if low != high:
            self._parent[high], self._odd[high] = low, odd ^ turned ^ other_turned

    def number_groups(self) -> tuple[Ints, Flags, int]:
        """Return (N,) group numbers, (N,) turned flags, and the number of groups."""
        rooted = [self._root(position) for position in range(len(self._parent))]
        roots, number = np.unique([root for root, _ in rooted], return_inverse=True)
        return number.astype(np.int64), np.array([odd for _, odd in rooted], dtype=bool), len(roots)


MISSING = ("leave-out", "no")
COEFFICIENTS = ("pearson", "spearman", "kendall-tau-b")

NO_UNITS = gettext_noop("the sources share no unit")
NO_CUTS = gettext_noop("{} has no thresholds of its own: name one")
TEXTS = gettext_noop("the answers of {} are texts, which have no mean")
TWO_SCALES = gettext_noop("the sources answer on different scales")
NOT_NOMINAL = gettext_noop("the answers are grades, not categories")
STOPPED = gettext_noop("judgments of one source stopped where an outcome was decided")
JOINED = gettext_noop(
    "several units of one source are one here, so a rater may have answered it more than once"
)


def compare_sources(
    first: Source,
    second: Source,
    *,
    first_at_least: float | None = None,
    second_at_least: float | None = None,
    missing: str = "leave-out",
    resamples: int = RESAMPLES,
    seed: int = 0,
    naive: bool = False,
) -> dict[str, Any]:
    """Compare the first source with the second, the standard; an undefined statistic is null with a `reason`.

    Args:
        first_at_least, second_at_least: thresholds for yes; None: all that the protocol is reported at.
        missing: whether units of only the second are excluded, or count as a no of the first (H13's convention
            for pairs filtered before the crowd). Units of only the first are always excluded.
        naive: take judgments as independent, with bootstrap intervals; else cluster by image and worker.

    Raises:
        EvaluationError: incomparable sources. BadOption: an unknown `missing`, or an invalid number.
    """
    one_of(missing, MISSING, "missing")
    matched = match_sources(first, second)
    drawing = _Resampling(resamples, seed, naive)
    grid, reason = _grid(matched, first_at_least, second_at_least, missing, drawing)
    settings: dict[str, Any] = {"missing": missing}
    settings |= {"resamples": resamples, "seed": seed} if naive else {"clusters": "item-rater"}
    for name, cut in (("first_at_least", first_at_least), ("second_at_least", second_at_least)):
        if cut is not None:
            settings[name] = cut
    units = _count_units(matched)
    compared: dict[str, Any] = as_json(
        {
            "first": _describe_source(first, drawing),
            "second": _describe_source(second, drawing),
            "units": units,
            "missing": _count_left_out(units, missing),
            "thresholds": _thresholds(grid, reason),
            "consensus": _consensus(matched, drawing),
            **_pairs(matched, drawing),
            "correlation": _correlations(matched, drawing),
            "pooled_alpha": _pooled(matched, drawing),
            "signature": signature("comparison", settings),
        }
    )
    return compared


@dataclass(frozen=True, slots=True)
class _Resampling:
    resamples: int
    seed: int
    naive: bool

    def options(self, **clusters: Any) -> dict[str, Any]:
        by = NAIVE if self.naive else clusters
        return {"resamples": self.resamples, "seed": self.seed, "clusters": by}


def _describe_source(source: Source, drawing: _Resampling) -> dict[str, Any]:
    full = source if source.full_depth is None else source.limited_to(source.full_depth)

    def alpha(level: str) -> dict[str, Any]:
        images = items_of_units(full)
        columns = full.unit, full.rater, full.value
        return _alpha(
            images, *columns, level, drawing,
            anonymous=full.anonymous, kind=source.kind, control_items="control items" in source.left_out,
        )  # fmt: skip

    return {
        "name": source.name,
        "protocol": None if source.kind is None else source.kind.name,
        "level": source.level,
        "score": source.score,
        "units": len(np.unique(source.unit)),
        "judgments": len(source.unit),
        "left_out": dict(source.left_out),
        "alpha": alpha(source.level),
        **({"ordinal": alpha("ordinal")} if source.level == "interval" else {}),
        **({} if source.full_depth is None else {"full_depth": FULL_DEPTH}),
    }


def items_of_units(*sources: Source) -> NDArray[Any]:
    """Return what (U,) units are clustered by: their images, or the first of a document; a unit without is its own."""
    images: list[Any] = list(range(len(sources[0].units)))
    document_of: dict[str, str] = {}
    for source in sources:
        for position, content in enumerate(source.contents):
            if content.image is not None:
                images[position] = content.image
                document_of[content.image] = document_of.get(content.image) or content.document
    documents = first_of_documents(document_of.items())
    return np.array([documents.get(image, image) for image in images], dtype=object)


def _alpha(
    images: NDArray[Any],
    unit: Any,
    rater: Any,
    value: Any,
    level: str,
    drawing: _Resampling,
    *,
    anonymous: bool,
    kind: Kind | None,
    control_items: bool = False,
) -> dict[str, Any]:
    clusters = {ITEM: images[unit]} | ({} if anonymous else {RATER: rater})
    ratings = ratings_of_judgments(unit, rater, value)
    return alpha_of_ratings(
        ratings,
        level=level,
        exchange=exchange_of(kind),
        control_items=control_items,
        **drawing.options(**clusters),
    )


def _count_units(matched: Matched) -> dict[str, Any]:
    sizes = [len(np.unique(source.unit)) for source in (matched.first, matched.second)]
    shared = int(matched.shared.sum())
    return {
        "shared": shared,
        "by_id": matched.by_id,
        "by_content": shared - matched.by_id,
        "first_only": sizes[0] - shared,
        "second_only": sizes[1] - shared,
        "sides_exchanged": matched.turned,
        "first_joined": matched.joined[0],
        "second_joined": matched.joined[1],
        "reference_ignored": matched.without_reference,
    }


def _count_left_out(units: dict[str, Any], missing: str) -> dict[str, Any]:
    taken = missing == "no"
    return {
        "policy": missing,
        "taken_as_no": units["second_only"] if taken else 0,
        "left_out": units["first_only"] + (0 if taken else units["second_only"]),
    }


def _why_no_scores(matched: Matched) -> str:
    for source in (matched.first, matched.second):
        if not source.is_numeric:
            return TEXTS.format(source.name)
    return ""


def _cuts(source: Source, chosen: float | None) -> Sequence[float]:
    if chosen is not None:
        return (chosen,)
    return () if source.kind is None else sorted(source.kind.comparison.cuts)


def _grid(
    matched: Matched,
    first_at_least: float | None,
    second_at_least: float | None,
    missing: str,
    drawing: _Resampling,
) -> tuple[KappaGrid | None, str]:
    reason = _why_no_scores(matched)
    cuts = _cuts(matched.first, first_at_least), _cuts(matched.second, second_at_least)
    for source, source_cuts in zip((matched.first, matched.second), cuts, strict=True):
        if not reason and not source_cuts:
            reason = NO_CUTS.format(source.name)
    if reason:
        return None, reason
    second = matched.second.scores()
    compared = ~np.isnan(second)
    first = matched.first.scores()
    images = items_of_units(matched.first, matched.second)[compared]
    options = drawing.options(item=images)
    return kappa_grid(first[compared], second[compared], *cuts, missing=missing, **options), ""


def _thresholds(grid: KappaGrid | None, reason: str) -> dict[str, Any]:
    if grid is None:
        return {"first": [], "second": [], "cells": [], "best": None, "reason": reason}
    return {
        "first": list(grid.first_thresholds),
        "second": list(grid.second_thresholds),
        "cells": [_cell(cell) for cell in grid.cells],
        "best": None if grid.best is None else _cell(grid.best),
        "reason": "",
    }


def _cell(cell: ThresholdAgreement) -> dict[str, Any]:
    return as_json(
        cell, "first_at_least", "second_at_least", "kappa", "precision", "recall", "f1", "both", "first_only",
        "second_only", "neither", "n", "reason",
    )  # fmt: skip


def _consensus(matched: Matched, drawing: _Resampling) -> dict[str, Any]:
    nothing: dict[str, Any] = {"kappa": None, "labels": [], "table": [], "n": 0, "same": 0, "undecided": 0}
    sources = (matched.first, matched.second)
    if any(source.level != "nominal" for source in sources):
        return nothing | {"reason": NOT_NOMINAL}
    if not matched.same_scale:
        return nothing | {"reason": TWO_SCALES}
    first, second = (source.limited_to(matched.shared).consensus() for source in sources)
    both = sorted(first.keys() & second.keys())
    answers = [first[unit] for unit in both], [second[unit] for unit in both]
    kind = matched.first.kind
    labels: list[Any] = sorted({*answers[0], *answers[1]}, key=str) if kind is None else list(kind.outcomes)
    images = items_of_units(*sources)[both]
    kappa = kappa_interval(*answers, labels=labels or None, **drawing.options(item=images))
    counts = Counter(zip(*answers, strict=True))
    return {
        "kappa": {**as_json(kappa, "value", "low", "high"), "n": len(both)},
        "labels": labels,
        "table": [[counts[row, column] for column in labels] for row in labels],
        "n": len(both),
        "same": sum(counts[label, label] for label in labels),
        "undecided": int(matched.shared.sum()) - len(both),
        "reason": kappa.reason,
    }  # fmt: skip


def _pairs(matched: Matched, drawing: _Resampling) -> dict[str, Any]:
    """Return how often both name the same winner of a pair, by its kind, and how often the first's is the longer text
    where they part and one text has more words: what people like, against what is human-like (V15, appendix III).
    """
    sources = (matched.first, matched.second)
    if not all(source.two_sided for source in sources):
        return {}
    winners, others = (source.limited_to(matched.shared).consensus() for source in sources)
    both = [
        unit for unit in sorted(winners.keys() & others.keys()) if {winners[unit], others[unit]} <= {1, 2}
    ]
    first = np.array([winners[unit] for unit in both], dtype=np.int64)
    second = np.array([others[unit] for unit in both], dtype=np.int64)
    contents = [(matched.first.contents[unit], matched.second.contents[unit]) for unit in both]
    kinds = [here.kind or there.kind for here, there in contents]
    more = np.array([_words_more(here) or _words_more(there) for here, there in contents], dtype=np.int64)
    images = np.arange(len(both)) if drawing.naive else items_of_units(*sources)[both]

    def share(outcomes: Flags, pairs: Flags) -> dict[str, Any]:
        interval = share_of_rows(outcomes.astype(np.float64), {ITEM: images}, CONFIDENCE, keep=pairs)
        n = int(pairs.sum())
        return {
            "value": float(outcomes[pairs].mean()) if n else None,
            **as_json(interval, "low", "high"),
            "n": n,
        }

    same, longer = first == second, np.where(more > 0, 1, 2) == first
    by_kind = kinds_of([kind or "unknown" for kind in kinds] if any(kinds) else None, len(both))
    return {
        "pairs": {
            kind: {"same": share(same, pairs), "longer": share(longer, pairs & ~same & (more != 0))}
            for kind, pairs in by_kind.items()
        }
    }


def _words_more(content: Content) -> int:
    """Return how many words more the first text has than the second; 0 where one is unknown."""
    _reference, first, second = content.texts
    return 0 if first is None or second is None else len(first.split()) - len(second.split())


def _correlations(matched: Matched, drawing: _Resampling) -> dict[str, Any]:
    reason = _why_no_scores(matched) or ("" if matched.shared.any() else NO_UNITS)
    if reason:
        return {
            name: {"value": None, "low": None, "high": None, "n": 0, "reason": reason}
            for name in COEFFICIENTS
        }
    first, second = (source.scores()[matched.shared] for source in (matched.first, matched.second))
    options = drawing.options(item=items_of_units(matched.first, matched.second)[matched.shared])
    return {
        name: as_json(correlation(first, second, name, **options), "value", "low", "high", "n", "reason")
        for name in COEFFICIENTS
    }


def _pooled(matched: Matched, drawing: _Resampling) -> dict[str, Any]:
    nothing = {"value": None, "low": None, "high": None, "n": 0}
    if not matched.same_scale:
        return nothing | {"reason": TWO_SCALES}
    if any(matched.joined):
        return nothing | {"reason": JOINED}
    if matched.stopped_early:
        return nothing | {"reason": STOPPED}
    first, second = matched.first.limited_to(matched.shared), matched.second.limited_to(matched.shared)
    # An equal name in both sources is two raters: they may be different people.
    raters = np.concatenate([first.rater, second.rater + 1 + first.rater.max(initial=0)])
    values = np.concatenate([first.value, second.value])
    images = items_of_units(matched.first, matched.second)

    def alpha(unit: Any, rater: Any, value: Any) -> dict[str, Any]:
        anonymous = first.anonymous or second.anonymous
        return _alpha(images, unit, rater, value, first.level, drawing, anonymous=anonymous, kind=first.kind)

    return {
        **alpha(np.concatenate([first.unit, second.unit]), raters, values),
        "first": alpha(first.unit, first.rater, first.value),
        "second": alpha(second.unit, second.rater, second.value),
    }


def describe_compared_sources(result: dict[str, Any]) -> str:
    shared = result["units"]["shared"]
    if not shared:
        return _("The two share no item, so nothing can be said about their agreement.")
    consensus, grid = result["consensus"], result["thresholds"]
    if consensus["n"]:
        sentence = _(
            "On %(same)s of the %(n)s shared items that both decide, the two come to the same answer"
        ) % {
            "same": thousands(consensus["same"]),
            "n": thousands(consensus["n"]),
        }
        return f"{sentence}{_describe_kappa(consensus['kappa'])}."
    cells = [cell for cell in grid["cells"] if cell["kappa"]["value"] is not None]
    if len(grid["cells"]) == 1 and cells:
        cell = cells[0]
        sentence = _(
            "Of %(n)s items, the first says yes to %(first)s and the second to %(second)s, both to %(both)s"
        ) % {
            "n": thousands(cell["n"]),
            "first": thousands(cell["both"] + cell["first_only"]),
            "second": thousands(cell["both"] + cell["second_only"]),
            "both": thousands(cell["both"]),
        }
        return f"{sentence}{_describe_kappa(cell['kappa'])}."
    if cells:
        best = grid["best"]
        return _(
            "Kappa is highest, %(kappa)s, where the first is cut at %(first)s and the second at %(second)s. The "
            "highest of %(n)s is too high an estimate: fix the thresholds beforehand to report one."
        ) % {
            "kappa": _in_two_digits(best["kappa"]["value"]),
            "first": f"{best['first_at_least']:g}",
            "second": f"{best['second_at_least']:g}",
            "n": len(grid["cells"]),
        }
    tau = result["correlation"]["kendall-tau-b"]
    if tau["value"] is not None:
        return _(
            "Over %(n)s shared items, the scores correlate by %(tau)s (Kendall's tau-b, 95 %% interval %(low)s to "
            "%(high)s)."
        ) % {
            "n": thousands(tau["n"]),
            "tau": _in_two_digits(tau["value"]),
            "low": _in_two_digits(tau["low"]),
            "high": _in_two_digits(tau["high"]),
        }
    why = grid["reason"] or consensus["reason"]
    return _("No figure is defined: %(why)s.") % {"why": _(why)}


def _describe_kappa(kappa: dict[str, Any]) -> str:
    if kappa["value"] is None:
        return _("; kappa is undefined")
    return _(
        "; Cohen's kappa is %(kappa)s (95 %% interval %(low)s to %(high)s; 0 is chance, 1 is always)"
    ) % {
        "kappa": _in_two_digits(kappa["value"]),
        "low": _in_two_digits(kappa["low"]),
        "high": _in_two_digits(kappa["high"]),
    }


def _in_two_digits(value: float | None) -> str:
    return _("unknown") if value is None else f"{value:.2f}"
