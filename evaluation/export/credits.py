"""Which systems gave the captions that units show.

The outputs of an image are read once for all units of one look-up: ask for many units at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from annotation.snapshots import Moment
from common.rows import columns_of, plain_rows
from common.streams import batched
from evaluation.judgment_sets.records import Ints
from evaluation.results.rankings import ANNOTATION, SEARCH, Rows, in_order
from judgments.models import Caption, Output, Study, System, Unit

IN_ONE_QUERY = 500
UNITS_AT_ONCE = 20_000  # in one look-up
MOST_KEPT = 100_000  # captions whose words are remembered from one look-up to the next
Place = tuple[int, str]  # an image and a text
Shown = tuple[str, Place, str | None]  # caption id, image and text, and of a pair the system
Systems = dict[str, list[dict[str, Any]]]
Lists = dict[Place, list[tuple[str, str, int]]]  # task, system and place of each that has it


@dataclass(slots=True)
class Credits:
    """Looks up who gave captions, as it stood at ``moment``; holds no more than the credits of one look-up."""

    study: Study
    moment: Moment
    _systems: dict[int, str] = field(default_factory=dict)
    _words: dict[int, int] = field(default_factory=dict)
    _credits: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)

    def of(self, units: Sequence[int]) -> dict[int, Systems]:
        """Return unit row id -> caption id -> the systems that gave it for the unit's image, and at which place.

        A caption is known by its words, as units are. Of a pair, only the systems whose captions it compares are
        named. Control items have no credits.
        """
        shown: dict[int, list[Shown]] = {}
        for some in batched(units, IN_ONE_QUERY):
            shown |= _shown(some)
        if not shown:
            return {}
        self._systems = self._systems or dict(
            System.objects.filter(dataset=self.study.dataset_id).values_list("pk", "name")
        )
        self._credits.clear()
        given = self._given({place for captions in shown.values() for _, place, _ in captions})
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

    def _credit(self, task: str, system: str, rank: int) -> dict[str, Any]:
        """Return the same object for equal credits: thousands of captions share them."""
        made = {"system": system, "rank": rank} | ({"task": task} if task == SEARCH else {})
        return self._credits.setdefault((task, system, rank), made)

    def _given(self, wanted: set[Place]) -> Lists:
        """Return who has each wanted text in a list for the image, or the image in a list for the text: captions
        first, then by name."""
        # by image alone, neither by row id nor in its order: else SQLite walks through all for those of a few images
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
        # a constant, not a parameter: else SQLite leaves the index of searches aside
        searches = outputs.filter(task=RawSQL("'search'", ()), system__in=list(self._systems))
        for some in batched(sorted(askers), IN_ONE_QUERY):
            self._take(SEARCH, searches.filter(caption__in=some), of_words, found)
        return {place: _best(own) for place, own in found.items()}

    def _take(
        self,
        task: str,
        outputs: QuerySet[Output],
        wanted: Mapping[tuple[int, int], Place],
        found: defaultdict[Place, list[Any]],
    ) -> None:
        """Add the wanted places of whole lists: a place is known from all before it.

        Args:
            wanted: image and hash of the words -> image and words.
        """
        columns = columns_of(outputs.values_list("pk", "system_id", "item_id", "caption_id", "rank"), 5)
        system, item, caption, rank = columns[1:, columns[0] <= self.moment.outputs].astype(np.int64)
        in_part = [pk for pk, name in self._systems.items() if name in self.moment.in_part.get(task, ())]
        words = self._words_of(caption)
        texts, text = np.unique(words, return_inverse=True)
        lists = in_order(
            Rows(
                system=system,
                image=item,
                text=text,
                asker=caption if task == SEARCH else np.full(len(caption), -1),
                rank=rank,
                original=np.zeros_like(rank),
                placed=np.isin(system, in_part),
            ),
            (), (), (), (), {},
        )  # fmt: skip
        asked = np.array(list(wanted), dtype=np.int64).reshape(-1, 2)
        rows = np.flatnonzero(
            np.isin(_mixed(lists.image, texts[lists.text]), _mixed(asked[:, 0], asked[:, 1]))
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
        """A number for the words of each caption, equal for equal ones."""
        known = np.unique(captions)
        if len(self._words) > MOST_KEPT:
            self._words.clear()
        for some in batched((pk for pk in known.tolist() if pk not in self._words), IN_ONE_QUERY):
            rows = plain_rows(Caption.objects.filter(pk__in=some).order_by().values_list("pk", "text"))
            self._words.update((pk, hash(text)) for pk, text in rows)
        numbers = np.array([self._words[pk] for pk in known.tolist()], dtype=np.int64)
        return numbers[np.searchsorted(known, captions)]


def _shown(units: Sequence[int]) -> dict[int, list[Shown]]:
    """Unit row id -> id, image and text of its captions, and of a pair's ones the system; no control items."""
    rows = Unit.objects.filter(pk__in=units, control=False).values_list(
        "pk", "item_id", "first__key", "first__text", "content", "second__key", "second__text",
        "pair__first_system__name", "pair__second_system__name", "pair_id",
    )  # fmt: skip
    shown: dict[int, list[Shown]] = {}
    for pk, item, first, first_text, content, second, second_text, first_system, second_system, pair in rows:
        if pair is not None:
            sides = ((first, first_text, first_system), (second, second_text, second_system))
            shown[pk] = [(key, (item, text), system) for key, text, system in sides if system]
        elif first is not None:
            shown[pk] = [(first, (item, first_text), None)]
        else:
            shown[pk] = [(one["key"], (item, one["text"]), None) for one in content.get("options", ())]
    return {pk: captions for pk, captions in shown.items() if captions}


def _mixed(image: Ints, word: Ints) -> Ints:
    """One number for both; that two are the same by chance costs a look more."""
    return (image * 2_654_435_761) ^ word


def _best(found: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Each system once for a task, at its best place: two captions of equal words may ask for the same image."""
    best: dict[tuple[str, str], int] = {}
    for task, system, place in sorted(found):
        best.setdefault((task, system), place)
    return [(task, system, place) for (task, system), place in best.items()]
