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
MOST_KEPT = 100_000  # captions whose hashes are cached between look-ups
Place = tuple[int, str]  # an image and a text
Shown = tuple[str, Place, str | None]  # caption id, image and text, and the system for a pair
Systems = dict[str, list[dict[str, Any]]]
Lists = dict[Place, list[tuple[str, str, int]]]  # task, system and rank of each output


@dataclass(slots=True)
class Credits:
    study: Study
    moment: Snapshot
    _systems: dict[int, str] = field(default_factory=dict)
    _words: dict[int, int] = field(default_factory=dict)
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
        given = self._lists_with({place for captions in shown.values() for _, place, _ in captions})
        found: dict[int, Systems] = {}
        for pk, captions in shown.items():
            own: Systems = {}
            for key, place, system in captions:
                here = given.get(place, [])
                if system is not None:
                    here = [one for one in here if one[:2] == (ANNOTATION, system)]
                credits = [self._credit(*one) for one in here]
                if system is not None and not credits:
                    credits = [{"system": system}]
                if credits:
                    own.setdefault(key, []).extend(one for one in credits if one not in own.get(key, ()))
            if own:
                found[pk] = own
        return found

    def _fixed_systems(self) -> dict[int, str]:
        """Return row id -> name of the snapshot's systems; others may be published meanwhile."""
        rows = System.objects.of_study(self.study).values_list("pk", "name")
        kept = self.moment.systems
        return {pk: name for pk, name in rows if kept is None or pk in kept}

    def _credit(self, task: str, system: str, rank: int) -> dict[str, Any]:
        """Share equal credits, which thousands of captions repeat."""
        made = {"system": system, "rank": rank} | ({"task": task} if task == SEARCH else {})
        return self._credits.setdefault((task, system, rank), made)

    def _lists_with(self, wanted: set[Place]) -> Lists:
        # Filter by image only, unsorted: otherwise SQLite scans the whole index.
        outputs = Output.objects.order_by()
        found: defaultdict[Place, list[tuple[str, str, int]]] = defaultdict(list)
        words = [hash(text) for _, text in wanted]
        askers: set[int] = set()
        of_words = {(image, hash(text)): (image, text) for image, text in wanted}
        for images in batched(sorted({item for item, _ in wanted}), IN_ONE_QUERY):
            self._take(ANNOTATION, outputs.annotations().filter(item__in=images), of_words, found)
            if self.moment.searched:
                rows = outputs.searches().filter(item__in=images).values_list("caption", flat=True)
                captions = np.array(list(rows), dtype=np.int64)
                askers.update(captions[np.isin(self._words_of(captions), words)].tolist())
        # A constant, not a parameter: otherwise SQLite ignores the partial index of searches.
        searches = outputs.filter(task=RawSQL("'search'", ()), system__in=list(self._systems))
        for some in batched(sorted(askers), IN_ONE_QUERY):
            self._take(SEARCH, searches.filter(caption__in=some), of_words, found)
        return {place: _best_ranks(own) for place, own in found.items()}

    def _take(
        self,
        task: str,
        outputs: QuerySet[Output],
        wanted: Mapping[tuple[int, int], Place],
        found: defaultdict[Place, list[Any]],
    ) -> None:
        """Collect wanted ranks from whole lists, as a rank depends on all before it."""
        columns = columns_of(outputs.values_list("pk", "system_id", "item_id", "caption_id", "rank"), 5)
        there = (columns[0] <= self.moment.outputs) & np.isin(columns[1], list(self._systems))
        system, item, caption, rank = columns[1:, there].astype(np.int64)
        in_part = [pk for pk, name in self._systems.items() if name in self.moment.in_part.get(task, ())]
        words = self._words_of(caption)
        texts, text = np.unique(words, return_inverse=True)
        lists = sort_into_lists(
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
        asked = np.array(list(wanted), dtype=np.int64).reshape(-1, 2)
        rows = np.flatnonzero(
            np.isin(_hash_pairs(lists.image, texts[lists.text]), _hash_pairs(asked[:, 0], asked[:, 1]))
        )
        here = zip(
            lists.system[rows].tolist(), lists.image[rows].tolist(), texts[lists.text[rows]].tolist(),
            lists.place[rows].tolist(), strict=True,
        )  # fmt: skip
        for number, image, word, place in here:
            there = wanted.get((image, word))
            if there is not None:
                found[there].append((task, self._systems[number], place))

    def _words_of(self, captions: Ints) -> Ints:
        known = np.unique(captions)
        if len(self._words) > MOST_KEPT:
            self._words.clear()
        for some in batched((pk for pk in known.tolist() if pk not in self._words), IN_ONE_QUERY):
            rows = plain_rows(Caption.objects.filter(pk__in=some).order_by().values_list("pk", "text"))
            self._words.update((pk, hash(text)) for pk, text in rows)
        numbers = np.array([self._words[pk] for pk in known.tolist()], dtype=np.int64)
        return numbers[np.searchsorted(known, captions)]


def _shown_captions(units: Sequence[int]) -> dict[int, list[Shown]]:
    """Return unit row id -> id, image, text and, for pairs, system of its captions."""
    rows = Unit.objects.filter(pk__in=units, control=False).values_list(
        "pk", "item_id", "first__key", "first__text", "content", "second__key", "second__text",
        "pair__first_system__name", "pair__second_system__name", "pair_id",
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
    ) in converted_rows(rows):
        if pair is not None:
            sides = ((first, first_text, first_system), (second, second_text, second_system))
            shown[pk] = [(key, (item, text), system) for key, text, system in sides if system]
        elif first is not None:
            shown[pk] = [(first, (item, first_text), None)]
        else:
            shown[pk] = [(one["key"], (item, one["text"]), None) for one in content.get("options", ())]
    return {pk: captions for pk, captions in shown.items() if captions}


def _hash_pairs(image: Ints, word: Ints) -> Ints:
    """Hash both; a collision only costs another look-up."""
    return (image * 2_654_435_761) ^ word


def _best_ranks(found: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    best: dict[tuple[str, str], int] = {}
    for task, system, place in sorted(found):
        best.setdefault((task, system), place)
    return [(task, system, place) for (task, system), place in best.items()]
