"""Find the systems that gave the captions which a unit shows ("credits"), with their ranks.

A system lists captions for an image (the task ANNOTATION), or images for a caption, the query (the task SEARCH).
Captions are compared by their words. A look-up reads the outputs of an image once for all its units, so look up many
units at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

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
# Knuth's multiplicative hashing: 2^32 divided by the golden ratio spreads the row ids of images over many bits.
HASH_FACTOR = 2_654_435_761

ImageText = tuple[int, str]  # row id of an image, and a text
# Credits as in a file, such as {"system": "a", "rank": 1}, by caption id.
CreditsByCaption = dict[str, list[dict[str, Any]]]


class RankedOutput(NamedTuple):
    """A rank of a text in a list of the system with the row id ``system``."""

    task: str
    system: int
    rank: int


class ShownCaption(NamedTuple):
    """A caption that a unit shows.

    Attributes:
        key: id of the caption.
        image_text: the unit's image, and the caption's text.
        system: name of the compared system, if the unit is a pair.
        file_systems: row ids of the systems that a file credits, or NO_SYSTEM for none; empty if no file says.
    """

    key: str
    image_text: ImageText
    system: str | None
    file_systems: Sequence[int]


@dataclass(slots=True)
class CreditFinder:
    """Finds credits of a study's units at the time of a snapshot. Hashes of texts are cached between look-ups."""

    study: Study
    moment: Snapshot
    _systems: dict[int, str] = field(default_factory=dict)  # names of systems by row id
    _hashes: dict[int, int] = field(default_factory=dict)  # hashes of texts by row id of the caption
    # Credits by task, system name and rank.
    _credits: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)

    def systems_of(self, unit_ids: Sequence[int]) -> dict[int, CreditsByCaption]:
        """Return the systems that gave each caption for its unit's image, with ranks, by unit row id and caption id.

        For pairs, only the compared systems are returned.
        """
        captions_by_unit: dict[int, list[ShownCaption]] = {}
        for batch in batched(unit_ids, KEYS_PER_QUERY):
            captions_by_unit |= _shown_captions(batch)
        if not captions_by_unit:
            return {}
        self._systems = self._systems or self._systems_in_snapshot()
        self._credits.clear()
        all_captions = chain.from_iterable(captions_by_unit.values())
        outputs = self._ranked_outputs({caption.image_text for caption in all_captions})
        credits_by_unit: dict[int, CreditsByCaption] = {}
        for pk, captions in captions_by_unit.items():
            unit_credits: CreditsByCaption = {}
            for caption in captions:
                if caption.file_systems:  # the list stays empty if the only entry is NO_SYSTEM
                    unit_credits.setdefault(caption.key, [])
                for credit in self._credits_of(caption, outputs.get(caption.image_text, ())):
                    if credit not in unit_credits.setdefault(caption.key, []):
                        unit_credits[caption.key].append(credit)
            if unit_credits:
                credits_by_unit[pk] = unit_credits
        return credits_by_unit

    def _credits_of(self, caption: ShownCaption, outputs: Sequence[RankedOutput]) -> list[dict[str, Any]]:
        """Return credits with ranks for the outputs that count, then credits without ranks for the other systems."""
        # If a file credits systems with the caption, only their outputs count; else all outputs with its text. To
        # `credited_systems`, the second argument are the systems that count if no file credits any.
        outputs = [
            output
            for output in outputs
            if output.system in credited_systems(caption.file_systems, (output.system,))
        ]
        if caption.system is None:
            names = [self._systems.get(pk) for pk in credited_systems(caption.file_systems, ())]
        else:
            names = [caption.system]
            outputs = [
                output
                for output in outputs
                if output.task == ANNOTATION and self._systems[output.system] == caption.system
            ]
        credits = [self._credit(output.task, self._systems[output.system], output.rank) for output in outputs]
        ranked_names = {self._systems[output.system] for output in outputs}
        credits += [{"system": name} for name in names if name is not None and name not in ranked_names]
        return credits

    def _systems_in_snapshot(self) -> dict[int, str]:
        """Return the names of the systems by row id. Systems published after the snapshot are left out."""
        rows = System.objects.of_study(self.study).values_list("pk", "name")
        systems = self.moment.systems  # None if the snapshot does not say: all systems
        return {pk: name for pk, name in rows if systems is None or pk in systems}

    def _credit(self, task: str, system: str, rank: int) -> dict[str, Any]:
        """Return a credit. Equal credits are the same object, because thousands of captions share them."""
        credit = {"system": system, "rank": rank} | ({"task": task} if task == SEARCH else {})
        return self._credits.setdefault((task, system, rank), credit)

    def _ranked_outputs(self, image_texts: set[ImageText]) -> dict[ImageText, list[RankedOutput]]:
        """Return the best rank in each task and system of each image with a text, ordered by task and system name."""
        # Filter only by image, and do not sort, because otherwise SQLite scans the whole index.
        outputs = Output.objects.order_by()
        ranks: defaultdict[ImageText, list[RankedOutput]] = defaultdict(list)
        texts_by_hash: defaultdict[tuple[int, int], list[ImageText]] = defaultdict(list)
        for image, text in image_texts:
            texts_by_hash[image, hash(one_text(text))].append((image, text))
        text_hashes = [text_hash for _, text_hash in texts_by_hash]
        query_captions: set[int] = set()
        for images in batched(sorted({image for image, _ in image_texts}), KEYS_PER_QUERY):
            self._add_ranks(ANNOTATION, outputs.annotations().filter(item__in=images), texts_by_hash, ranks)
            if self.moment.has_found_images:
                # Of the captions for which systems found these images, those with the text of a shown caption.
                rows = outputs.searches().filter(item__in=images).values_list("caption", flat=True)
                captions = np.array(list(rows), dtype=np.int64)
                query_captions.update(captions[np.isin(self._hashes_of(captions), text_hashes)].tolist())
        # Use a constant, not a parameter, because otherwise SQLite ignores the partial index of searches.
        searches = outputs.filter(task=RawSQL("'search'", ()), system__in=list(self._systems))
        for batch in batched(sorted(query_captions), KEYS_PER_QUERY):
            self._add_ranks(SEARCH, searches.filter(caption__in=batch), texts_by_hash, ranks)
        return {
            image_text: sorted(
                _best_ranks(entries), key=lambda output: (output.task, self._systems[output.system])
            )
            for image_text, entries in ranks.items()
        }

    def _add_ranks(
        self,
        task: str,
        outputs: QuerySet[Output],
        texts_by_hash: Mapping[tuple[int, int], Sequence[ImageText]],
        ranks: defaultdict[ImageText, list[RankedOutput]],
    ) -> None:
        """Add the ranks of texts in the lists of ``outputs`` to ``ranks``.

        ``texts_by_hash`` has the texts by (image, hash of the text). Whole lists are read, because a rank depends on
        all outputs before it.
        """
        columns = columns_of(outputs.values_list("pk", "system_id", "item_id", "caption_id", "rank"), 5)
        is_in_snapshot = (columns[0] <= self.moment.last_output) & np.isin(columns[1], list(self._systems))
        system, image, caption, rank = columns[1:, is_in_snapshot].astype(np.int64)
        # Some systems have only a part of their outputs in the dataset. They keep the ranks of their whole lists
        # (`has_rank`); those of other systems are counted here.
        names_known_in_part = self.moment.partly_known_systems.get(task, ())
        partly_known_systems = [pk for pk, name in self._systems.items() if name in names_known_in_part]
        text_hashes, text = np.unique(self._hashes_of(caption), return_inverse=True)
        # The columns have row ids, not indices into lists of names, so the lists, documents and judged units are empty.
        lists = sort_into_lists(
            ListRows(
                system=system,
                image=image,
                text=text,
                query_caption=caption if task == SEARCH else np.full(len(caption), -1),
                rank=rank,
                original=np.zeros_like(rank),
                has_rank=np.isin(system, partly_known_systems),
            ),
            (), (), (), (), {}, JudgedUnits.from_rows([]),
        )  # fmt: skip
        # Select rows by one number for image and text's hash, and then compare these two, because numbers may collide.
        keys = np.array(list(texts_by_hash), dtype=np.int64).reshape(-1, 2)
        row_hashes = _hash_pairs(lists.image, text_hashes[lists.text])
        rows = np.flatnonzero(np.isin(row_hashes, _hash_pairs(keys[:, 0], keys[:, 1])))
        matching_columns = (lists.system, lists.image, text_hashes[lists.text], lists.position)
        for system_id, image_id, text_hash, position in zip(
            *(column[rows].tolist() for column in matching_columns), strict=True
        ):
            for image_text in texts_by_hash.get((image_id, text_hash), ()):
                ranks[image_text].append(RankedOutput(task, system_id, position))

    def _hashes_of(self, captions: Ints) -> Ints:
        """Return (N,) hashes of the normalised texts of captions, given by (N,) row ids."""
        row_ids = np.unique(captions)
        if len(self._hashes) > MAX_CACHED_HASHES:
            self._hashes.clear()
        for batch in batched((pk for pk in row_ids.tolist() if pk not in self._hashes), KEYS_PER_QUERY):
            rows = plain_rows(Caption.objects.filter(pk__in=batch).order_by().values_list("pk", "text"))
            self._hashes.update((pk, hash(one_text(text))) for pk, text in rows)
        hashes = np.array([self._hashes[pk] for pk in row_ids.tolist()], dtype=np.int64)
        return hashes[np.searchsorted(row_ids, captions)]


def _shown_captions(unit_ids: Sequence[int]) -> dict[int, list[ShownCaption]]:
    rows = Unit.objects.filter(pk__in=unit_ids, control=False).values_list(
        "pk", "item_id", "first__key", "first__text", "content", "second__key", "second__text",
        "pair__first_system__name", "pair__second_system__name", "pair_id", "systems",
    )  # fmt: skip
    captions_by_unit: dict[int, list[ShownCaption]] = {}
    for (
        pk, item, first, first_text, content, second, second_text, first_system, second_system, pair, file_systems,
    ) in converted_rows(rows):  # fmt: skip
        if pair is not None:
            # The sides of a pair may show the same caption; then they are named by their side.
            keys = SIDES if first == second else (first, second)
            sides = zip(keys, (first_text, second_text), (first_system, second_system), strict=True)
            captions = [ShownCaption(key, (item, text), system, ()) for key, text, system in sides if system]
        elif first is not None:
            captions = [ShownCaption(first, (item, first_text), None, file_systems)]
        else:  # options of best-worst scaling; a file credits each with systems of its own
            options = content.get("options", ())
            captions = [
                ShownCaption(option["key"], (item, option["text"]), None, option_systems)
                for option, option_systems in zip(options, file_systems or [()] * len(options), strict=True)
            ]
        captions_by_unit[pk] = captions
    return {pk: captions for pk, captions in captions_by_unit.items() if captions}


def _hash_pairs(image: Ints, text_hash: Ints) -> Ints:
    """Return (N,) hashes of (image, text) pairs. A collision only costs another look-up."""
    return (image * HASH_FACTOR) ^ text_hash


def _best_ranks(ranks: list[RankedOutput]) -> list[RankedOutput]:
    best_ranks: dict[tuple[str, int], int] = {}
    for task, system, rank in sorted(ranks):  # the lowest rank comes first
        best_ranks.setdefault((task, system), rank)
    return [RankedOutput(task, system, rank) for (task, system), rank in best_ranks.items()]
