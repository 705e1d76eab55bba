"""Find the systems that gave the captions which a unit shows ("credits"). Captions are compared by their words.

A look-up reads the outputs of an image once for all its units, so look up many units at a time.
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
from common.rows.batches import KEYS_PER_QUERY, batched
from common.rows.reading import columns_of, converted_rows, plain_rows
from common.texts import one_text
from evaluation.data.ranked_lists import ANNOTATION, SEARCH, JudgedUnits, ListRows, sort_into_lists
from judgments.design.tables.sampling import SIDES
from judgments.models import Caption, Output, Study, System, Unit
from judgments.models.credits import credited_systems
from quorum.numeric.arrays import Ints

MAX_CACHED_HASHES = 100_000  # captions whose hashes are cached between look-ups
ImageText = tuple[int, str]  # an image and a text

# Caption id, (image, text), the compared system if units are pairs, and row ids of systems that a file credits.
ShownCaption = tuple[str, ImageText, str | None, Sequence[int]]
Systems = dict[str, list[dict[str, Any]]]
Lists = dict[ImageText, list[tuple[str, int, int]]]  # task, system and rank of each output, by image and text


@dataclass(slots=True)
class Credits:
    study: Study
    moment: Snapshot
    _systems: dict[int, str] = field(default_factory=dict)
    _hashes: dict[int, int] = field(default_factory=dict)
    _credits: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)

    def systems_of(self, units: Sequence[int]) -> dict[int, Systems]:
        """Return the systems that gave each caption for its unit's image, with ranks, by unit row id and caption id.

        For units that are pairs, only the compared systems are returned.
        """
        captions_by_unit: dict[int, list[ShownCaption]] = {}
        for batch in batched(units, KEYS_PER_QUERY):
            captions_by_unit |= _shown_captions(batch)
        if not captions_by_unit:
            return {}
        self._systems = self._systems or self._fixed_systems()
        self._credits.clear()
        lists = self._ranked_lists(
            {image_text for captions in captions_by_unit.values() for _, image_text, *_ in captions}
        )
        of_units: dict[int, Systems] = {}
        for pk, captions in captions_by_unit.items():
            systems: Systems = {}
            for key, image_text, system, of_file in captions:
                entries = [
                    (task, self._systems[pk], rank)
                    for task, pk, rank in lists.get(image_text, ())
                    if pk in credited_systems(of_file, (pk,))
                ]
                if of_file:
                    systems.setdefault(key, [])
                if system is not None:
                    entries = [entry for entry in entries if entry[:2] == (ANNOTATION, system)]
                credits = [self._credit(*entry) for entry in entries]
                named = {entry[1] for entry in entries}
                of_row = [system]
                if system is None:
                    of_row = [self._systems.get(pk) for pk in credited_systems(of_file, ())]
                credits += [{"system": name} for name in of_row if name is not None and name not in named]
                for credit in credits:
                    if credit not in systems.setdefault(key, []):
                        systems[key].append(credit)
            if systems:
                of_units[pk] = systems
        return of_units

    def _fixed_systems(self) -> dict[int, str]:
        """Return the names of the systems in the snapshot, by row id. Systems published after it are left out."""
        rows = System.objects.of_study(self.study).values_list("pk", "name")
        fixed = self.moment.systems
        return {pk: name for pk, name in rows if fixed is None or pk in fixed}

    def _credit(self, task: str, system: str, rank: int) -> dict[str, Any]:
        """Return a credit. Equal credits are the same object, because thousands of captions share them."""
        credit = {"system": system, "rank": rank} | ({"task": task} if task == SEARCH else {})
        return self._credits.setdefault((task, system, rank), credit)

    def _ranked_lists(self, wanted: set[ImageText]) -> Lists:
        # Filter only by image, and do not sort, because otherwise SQLite scans the whole index.
        outputs = Output.objects.order_by()
        lists: defaultdict[ImageText, list[tuple[str, int, int]]] = defaultdict(list)
        hashes = [hash(one_text(text)) for _, text in wanted]
        query_captions: set[int] = set()
        by_hash: defaultdict[tuple[int, int], list[ImageText]] = defaultdict(list)
        for image, text in wanted:
            by_hash[image, hash(one_text(text))].append((image, text))
        for images in batched(sorted({item for item, _ in wanted}), KEYS_PER_QUERY):
            self._take_ranks(ANNOTATION, outputs.annotations().filter(item__in=images), by_hash, lists)
            if self.moment.has_found_images:
                rows = outputs.searches().filter(item__in=images).values_list("caption", flat=True)
                captions = np.array(list(rows), dtype=np.int64)
                query_captions.update(captions[np.isin(self._hashes_of(captions), hashes)].tolist())
        # Use a constant, not a parameter, because otherwise SQLite ignores the partial index of searches.
        searches = outputs.filter(task=RawSQL("'search'", ()), system__in=list(self._systems))
        for batch in batched(sorted(query_captions), KEYS_PER_QUERY):
            self._take_ranks(SEARCH, searches.filter(caption__in=batch), by_hash, lists)
        return {
            image_text: sorted(_best_ranks(ranks), key=lambda entry: (entry[0], self._systems[entry[1]]))
            for image_text, ranks in lists.items()
        }

    def _take_ranks(
        self,
        task: str,
        outputs: QuerySet[Output],
        wanted: Mapping[tuple[int, int], Sequence[ImageText]],
        ranks: defaultdict[ImageText, list[Any]],
    ) -> None:
        """Add the wanted ranks to ``ranks``. Whole lists are read, because a rank depends on all outputs before it."""
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
                query_caption=caption if task == SEARCH else np.full(len(caption), -1),
                rank=rank,
                original=np.zeros_like(rank),
                has_rank=np.isin(system, in_part),
            ),
            (), (), (), (), {}, JudgedUnits.from_rows([]),
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
            for there in wanted.get((image, text_hash), ()):
                ranks[there].append((task, number, position))

    def _hashes_of(self, captions: Ints) -> Ints:
        known = np.unique(captions)
        if len(self._hashes) > MAX_CACHED_HASHES:
            self._hashes.clear()
        for some in batched((pk for pk in known.tolist() if pk not in self._hashes), KEYS_PER_QUERY):
            rows = plain_rows(Caption.objects.filter(pk__in=some).order_by().values_list("pk", "text"))
            self._hashes.update((pk, hash(one_text(text))) for pk, text in rows)
        numbers = np.array([self._hashes[pk] for pk in known.tolist()], dtype=np.int64)
        return numbers[np.searchsorted(known, captions)]


def _shown_captions(units: Sequence[int]) -> dict[int, list[ShownCaption]]:
    """Return the captions of each unit, by the unit's row id."""
    rows = Unit.objects.filter(pk__in=units, control=False).values_list(
        "pk", "item_id", "first__key", "first__text", "content", "second__key", "second__text",
        "pair__first_system__name", "pair__second_system__name", "pair_id", "systems",
    )  # fmt: skip
    captions_by_unit: dict[int, list[ShownCaption]] = {}
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
            keys = SIDES if first == second else (first, second)
            sides = zip(keys, (first_text, second_text), (first_system, second_system), strict=True)
            captions_by_unit[pk] = [(key, (item, text), system, ()) for key, text, system in sides if system]
        elif first is not None:
            captions_by_unit[pk] = [(first, (item, first_text), None, of_file)]
        else:
            options = content.get("options", ())
            captions_by_unit[pk] = [
                (option["key"], (item, option["text"]), None, of_option)
                for option, of_option in zip(options, of_file or [()] * len(options), strict=True)
            ]
    return {pk: captions for pk, captions in captions_by_unit.items() if captions}


def _hash_pairs(image: Ints, word: Ints) -> Ints:
    """Return hashes of (image, word) pairs. A collision only costs another look-up."""
    return (image * 2_654_435_761) ^ word


def _best_ranks(ranks: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    best_ranks: dict[tuple[str, int], int] = {}
    for task, system, rank in sorted(ranks):
        best_ranks.setdefault((task, system), rank)
    return [(task, system, rank) for (task, system), rank in best_ranks.items()]
