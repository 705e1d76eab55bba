"""Store the candidate pairs of a file of judgments, also those with a winner but no votes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from common.errors import DataConflict
from common.texts import one_text
from contrib.judgment_imports.writing.captions import CaptionWriter
from contrib.judgment_imports.writing.systems import ROWS_PER_BATCH, SystemWriter
from judgments.design.tables.sampling import SIDES
from judgments.drawing.keys import content_key, text_key
from judgments.importers.records.rows import CreditedRow, JudgmentRow, WinnerRow
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Caption, Dataset, PublishedPair, Study


class _Reference(NamedTuple):
    key: str
    pk: int
    text: str


class PairWriter:
    """A writer that adds the candidate pairs that rows of the file compare, and pairs with a winner but no votes.

    Call ``add`` or ``add_winners`` for each batch of rows, then ``finish`` once. A pair first gets the references of
    the dataset. ``finish`` replaces them with those that the file says were shown.

    Args:
        items: the row ids of the dataset's images, by name.

    Attributes:
        ids: the row id of each pair, by its key.
        shown_references: the keys of the references that units of the pair showed, by key of the pair.
        dataset_pairs: the pairs that were published with the dataset, by key.
    """

    def __init__(
        self, study: Study, captions: CaptionWriter, systems: SystemWriter, items: Mapping[str, int]
    ) -> None:
        self.study = study
        self.compares_pairs = KINDS[study.protocol].compares_pairs
        self.dataset = captions.dataset
        self.captions = captions
        self.systems = systems
        self.items = items
        self.ids: dict[str, int] = {}
        self.shown_references: defaultdict[str, list[str]] = defaultdict(list)
        self.dataset_pairs = {
            pair.key: pair for pair in PublishedPair.objects.filter(dataset=self.dataset).select_related()
        }

    def key_of(self, row: JudgmentRow) -> str | None:
        """Return the key of the row's pair; None for a row without a pair.

        If the row compares two captions but states no key, derive one from the image, the captions and their systems.
        """
        if row.pair is not None:
            return row.pair
        if row.control or not self.compares_pairs:
            return None
        first_caption = row.first_text if row.first is None else row.first
        second_caption = row.second_text if row.second is None else row.second
        if first_caption is None or second_caption is None:
            return None
        # the systems of both sides; those of options, which a row of a pair does not have, would follow
        system_names = row.systems()[: len(SIDES)] if isinstance(row, CreditedRow) else ()
        if not any(system_names):  # no system is credited, so the key has only the captions
            return content_key("pair", row.image, first_caption, second_caption)
        return content_key("pair", row.image, first_caption, second_caption, *system_names)

    def add(self, rows: Iterable[JudgmentRow]) -> None:
        """Add the new pairs of a batch of rows. The caller passes only rows whose units are not stored yet."""
        first_rows: dict[str, JudgmentRow] = {}  # of new pairs
        for row in rows:
            key = self.key_of(row)
            if not key:
                continue
            if key not in self.ids:
                first_rows.setdefault(key, row)
            if row.reference is not None:
                self.shown_references[key].append(row.reference)
        pairs = []
        for key, row in first_rows.items():
            first = self.captions.id_of(row.first, row.first_text, row.unit)
            second = self.captions.id_of(row.second, row.second_text, row.unit)
            image = image_of_row(row, self.dataset)
            pairs.append(self._new_pair(key, row.kind or "", image, first, second, row=row))
        self._store(pairs)

    def add_winners(self, rows: Iterable[WinnerRow]) -> None:
        pairs = []
        for row in rows:
            first = self.captions.ids[text_key(row.first_text)]
            second = self.captions.ids[text_key(row.second_text)]
            pairs.append(self._new_pair(row.pair, row.kind, row.image, first, second, winner=row.winner))
        self._store(pairs)

    def finish(self) -> None:
        """Replace the references of pairs whose units showed some, according to the file, with these."""
        pairs = []
        for pair in CandidatePair.objects.filter(study=self.study, key__in=list(self.shown_references)):
            pair.references = list(dict.fromkeys(self.shown_references[pair.key]))
            pairs.append(pair)
        CandidatePair.objects.bulk_update(pairs, ["references"], batch_size=500)  # rows per statement

    def _new_pair(
        self,
        key: str,
        kind: str,
        image: str,
        first: int | None,
        second: int | None,
        *,
        row: JudgmentRow | None = None,
        winner: int | None = None,
    ) -> CandidatePair:
        systems_by_side = self._systems_by_side(row) if row is not None else {}
        if first is None or second is None:
            raise DataConflict(f"Pair {key!r} names fewer than two captions; expected first and second.")
        dataset_pair = self.dataset_pairs.get(key)
        human_texts = _human_texts(row, systems_by_side) if row is not None else frozenset()
        return CandidatePair(
            study=self.study,
            key=key,
            kind=kind,
            item_id=self.items[image],
            first_id=first,
            second_id=second,
            first_system_id=dataset_pair.first_system_id if dataset_pair else systems_by_side.get("first"),
            second_system_id=dataset_pair.second_system_id if dataset_pair else systems_by_side.get("second"),
            references=self._references_of(image, dataset_pair, (first, second), human_texts),
            published_winner=winner,
        )

    def _store(self, pairs: list[CandidatePair]) -> None:
        for position, pair in enumerate(pairs, start=len(self.ids)):
            pair.position = position
        stored_pairs = CandidatePair.objects.bulk_create(pairs, batch_size=ROWS_PER_BATCH)
        self.ids.update({pair.key: pair.pk for pair in stored_pairs})

    def _systems_by_side(self, row: JudgmentRow) -> dict[str, int]:
        """Return the row id of the system that the row credits with the "first" and the "second" caption.

        Raises:
            DataConflict: the pair of the dataset has another system.
        """
        systems_by_side: dict[str, int] = {}
        if not isinstance(row, CreditedRow):
            return systems_by_side
        for side in SIDES:
            if not (credits := row.of_side(side)):
                continue
            system = self.systems.by_name[credits[0].system]
            dataset_pair = self.dataset_pairs.get(row.pair or "")
            if dataset_pair and getattr(dataset_pair, f"{side}_system_id") != system.pk:
                credited_name = getattr(dataset_pair, f"{side}_system").name
                raise DataConflict(
                    f"The file says that caption {getattr(row, side)!r} of pair {row.pair!r} is by system "
                    f"{system.name!r}; in dataset {self.dataset.name!r} it is by {credited_name!r}."
                )
            systems_by_side[side] = system.pk
        return systems_by_side

    def _references_of(
        self,
        image: str,
        dataset_pair: PublishedPair | None,
        candidates: tuple[int, int],
        human_texts: frozenset[str],
    ) -> list[str]:
        """Return the keys of a pair's references: those of the dataset's pair or, if there is none, the image's.

        Of the image's references, the candidates themselves and texts equal to a candidate that people wrote are left
        out, as when pairs are drawn.

        Args:
            candidates: the row ids of both captions.
            human_texts: the texts of the candidates that people wrote.
        """
        references = self._references_by_item[self.items[image]]
        if dataset_pair is not None:
            reference_count = dataset_pair.references  # the number of references that were used; None for all
            return [reference.key for reference in references[:reference_count]]
        return [
            reference.key
            for reference in references
            if reference.pk not in candidates and reference.text not in human_texts
        ]

    @cached_property
    def _references_by_item(self) -> defaultdict[int, list[_Reference]]:
        by_item: defaultdict[int, list[_Reference]] = defaultdict(list)
        rows = Caption.objects.filter(dataset=self.dataset, role=Caption.Role.REFERENCE, item__isnull=False)
        ordered_rows = rows.order_by("item_id", "position", "id")
        for item, key, pk, text in ordered_rows.values_list("item_id", "key", "pk", "text"):
            assert item is not None  # guaranteed by the query
            by_item[item].append(_Reference(key, pk, one_text(text)))
        return by_item


def image_of_row(row: JudgmentRow, dataset: Dataset) -> str:
    if row.image is None:
        raise DataConflict(
            f"Unit {row.unit!r} names no image; expected one of dataset {dataset.name!r} "
            "(the command `agreement` takes files without images)."
        )
    return row.image


def _human_texts(row: JudgmentRow, system_sides: Collection[str]) -> frozenset[str]:
    """Return the candidates that people wrote: those of the sides without a system.

    Args:
        system_sides: the sides that are credited to a system.
    """
    texts = {"first": row.first_text, "second": row.second_text}
    return frozenset(
        one_text(text) for side, text in texts.items() if text is not None and side not in system_sides
    )
