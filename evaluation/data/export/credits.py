"""Find the systems behind the captions of units.

Each look-up reads an image's outputs once for all its units: look up many units at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from annotation.snapshots import Snapshot
from common.rows import batched, columns_of, converted_rows, plain_rows
from evaluation.data.judgment_sets.records import Ints
from evaluation.data.ranked_lists import ANNOTATION, SEARCH, JudgedUnits, ListRows, sort_into_lists
from judgments.models import Caption, Output, Study, System, Unit

IN_ONE_QUERY = 500
UNITS_AT_ONCE = 20_000  # in one look-up
MOST_CACHED = 100_000  # captions whose hashes are cached between look-ups
ImageText = tuple[int, str]  # an image and a text
# caption id, image and text, the system for a pair, and those that a file credits
Shown = tuple[str, ImageText, str | None, Sequence[int]]
Systems = dict[str, list[dict[str, Any]]]
Lists = dict[ImageText, list[tuple[str, str, int]]]  # task, system and rank of each output


@dataclass(slots=True)
class Credits:
    study: Study
    moment: Snapshot
    _systems: dict[int, str] = field(default_factory=dict)
    _hashes: dict[int, int] = field(default_factory=dict)
    _credits: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)

    def of(self, units: Sequence[int]) -> dict[int, Systems]:
        """Return unit row id -> caption id -> systems and ranks for the unit's image.

        Captions are compared by their words. Pairs name only the compared systems.
        """
        shown: dict[int, list[Shown]] = {}
        for some in batched(units, IN_ONE_QUERY):
            shown |= _shown_captions(some)
        if not shown:
            return {}
        self._systems = self._systems or self._fixed_systems()
        self._credits.clear()
        lists = self._lists_with(
            {image_text for captions in shown.values() for _, image_text, *_ in captions}
        )
        credited: dict[int, Systems] = {}
        for pk, captions in shown.items():
            systems: Systems = {}
            for key, image_text, system, of_file in captions:
                names = {self._systems.get(number) for number in of_file}
                entries = [entry for entry in lists.get(image_text, ()) if not of_file or entry[1] in names]
                if system is not None:
                    entries = [entry for entry in entries if entry[:2] == (ANNOTATION, system)]
                credits = [self._credit(*entry) for entry in entries]
                if system is not None and not credits:
                    credits = [{"system": system}]
                for credit in credits:
                    if credit not in systems.setdefault(key, []):
                        systems[key].append(credit)
            if systems:
                credited[pk] = systems
        return credited

    def _fixed_systems(self) -> dict[int, str]:
        """Return row id -> name of the snapshot's systems; others may be published meanwhile."""
        rows = System.objects.of_study(self.study).values_list("pk", "name")
        fixed = self.moment.systems
        return {pk: name for pk, name in rows if fixed is None or pk in fixed}

    def _credit(self, task: str, system: str, rank: int) -> dict[str, Any]:
        """Share equal credits, which thousands of captions repeat."""
        credit = {"system": system, "rank": rank} | ({"task": task} if task == SEARCH else {})
        return self._credits.setdefault((task, system, rank), credit)

    def _lists_with(self, wanted: set[ImageText]) -> Lists:
        # Filter by image only, unsorted: otherwise SQLite scans the whole index.
        outputs = Output.objects.order_by()
        lists: defaultdict[ImageText, list[tuple[str, str, int]]] = defaultdict(list)
        hashes = [hash(text) for _, text in wanted]
        askers: set[int] = set()
        by_hash = {(image, hash(text)): (image, text) for image, text in wanted}
        for images in batched(sorted({item for item, _ in wanted}), IN_ONE_QUERY):
            self._take(ANNOTATION, outputs.annotations().filter(item__in=images), by_hash, lists)
            if self.moment.searched:
                rows = outputs.searches().filter(item__in=images).values_list("caption", flat=True)
                captions = np.array(list(rows), dtype=np.int64)
                askers.update(captions[np.isin(self._hashes_of(captions), hashes)].tolist())
        # A constant, not a parameter: otherwise SQLite ignores the partial index of searches.
        searches = outputs.filter(task=RawSQL("'search'", ()), system__in=list(self._systems))
        for some in batched(sorted(askers), IN_ONE_QUERY):
            self._take(SEARCH, searches.filter(caption__in=some), by_hash, lists)
        return {image_text: _best_ranks(ranks) for image_text, ranks in lists.items()}

    def _take(
        self,
        task: str,
        outputs: QuerySet[Output],
        wanted: Mapping[tuple[int, int], ImageText],
        ranks: defaultdict[ImageText, list[Any]],
    ) -> None:
        """Collect wanted ranks from whole lists, as a rank depends on all before it."""
        columns = columns_of(outputs.values_list("pk", "system_id", "item_id", "caption_id", "rank"), 5)
        there = (columns[0] <= self.moment.outputs) & np.isin(columns[1], list(self._systems))
        system, item, caption, rank = columns[1:, there].astype(np.int64)
        in_part = [pk for pk, name in self._systems.items() if name in self.moment.in_part.get(task, ())]
        hashes = self._hashes_of(caption)
        texts, text = np.unique(hashes, return_inverse=True)
        proposals = sort_into_lists(
            ListRows(
                system=system,
                image=item,
                text=text,
                asker=caption if task == SEARCH else np.full(len(caption), -1),
                rank=rank,
                original=np.zeros_like(rank),
                placed=np.isin(system, in_part),
            ),
            (), (), (), (), JudgedUnits.of([]),
        )  # fmt: skip
        keys = np.array(list(wanted), dtype=np.int64).reshape(-1, 2)
        rows = np.flatnonzero(
            np.isin(_hash_pairs(proposals.image, texts[proposals.text]), _hash_pairs(keys[:, 0], keys[:, 1]))
        )
        here = zip(
            proposals.system[rows].tolist(), proposals.image[rows].tolist(), texts[proposals.text[rows]].tolist(),
            proposals.position[rows].tolist(), strict=True,
        )  # fmt: skip
        for number, image, text_hash, position in here:
            there = wanted.get((image, text_hash))
            if there is not None:
                ranks[there].append((task, self._systems[number], position))

    def _hashes_of(self, captions: Ints) -> Ints:
        known = np.unique(captions)
        if len(self._hashes) > MOST_CACHED:
            self._hashes.clear()
        for some in batched((pk for pk in known.tolist() if pk not in self._hashes), IN_ONE_QUERY):
            rows = plain_rows(Caption.objects.filter(pk__in=some).order_by().values_list("pk", "text"))
            self._hashes.update((pk, hash(text)) for pk, text in rows)
        numbers = np.array([self._hashes[pk] for pk in known.tolist()], dtype=np.int64)
        return numbers[np.searchsorted(known, captions)]


def _shown_captions(units: Sequence[int]) -> dict[int, list[Shown]]:
    """Return unit row id -> id, image, text and, for pairs, system of its captions."""
    rows = Unit.objects.filter(pk__in=units, control=False).values_list(
        "pk", "item_id", "first__key", "first__text", "content", "second__key", "second__text",
        "pair__first_system__name", "pair__second_system__name", "pair_id", "systems",
    )  # fmt: skip
    shown: dict[int, list[Shown]] = {}
    for (
        pk,
        item,
        first,
        first_text,
        content,
        second,
        second_text,
        first_system,
        second_system,
        pair,
        of_file,
    ) in converted_rows(rows):
        if pair is not None:
            sides = ((first, first_text, first_system), (second, second_text, second_system))
            shown[pk] = [(key, (item, text), system, ()) for key, text, system in sides if system]
        elif first is not None:
            shown[pk] = [(first, (item, first_text), None, of_file)]
        else:
            shown[pk] = [
                (option["key"], (item, option["text"]), None, ()) for option in content.get("options", ())
            ]
    return {pk: captions for pk, captions in shown.items() if captions}


def _hash_pairs(image: Ints, word: Ints) -> Ints:
    """Hash both; a collision only costs another look-up."""
    return (image * 2_654_435_761) ^ word


def _best_ranks(ranks: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    best: dict[tuple[str, str], int] = {}
    for task, system, rank in sorted(ranks):
        best.setdefault((task, system), rank)
    return [(task, system, rank) for (task, system), rank in best.items()]
