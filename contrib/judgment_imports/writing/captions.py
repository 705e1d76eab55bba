"""Store the texts in a file of judgments as captions of the dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from common.errors import DataConflict
from common.rows.batches import KEYS_PER_QUERY, batched
from judgments.datasets.importing.candidates import store_candidates
from judgments.drawing.keys import text_key
from judgments.importers.records.rows import CreditedRow, JudgmentRow
from judgments.models import Caption, Dataset


class CaptionWriter:
    """A writer that adds judged texts as captions of the dataset, unless the dataset has them.

    Attributes:
        reference_keys: the ids (`Caption.key`) of the dataset's references.
        ids: the row id of each caption, by its id in the file or by the ``text_key`` of its text.
        texts: the stored text by row id, for captions in which people marked errors.
    """

    def __init__(self, dataset: Dataset, reference_keys: set[str]) -> None:
        self.dataset = dataset
        self.reference_keys = reference_keys
        self.ids: dict[str, int] = {}
        self.texts: dict[int, str] = {}

    def add(self, rows: Sequence[JudgmentRow]) -> None:
        captions: list[tuple[str | None, str | None]] = []  # ids and texts
        for row in rows:
            captions.append((row.reference, row.reference_text))
            captions.append((row.first, row.first_text))
            captions.append((row.second, row.second_text))
        self.add_texts(text for key, text in captions if text is not None and key not in self.reference_keys)
        self.load_ids({key for key, _text in captions if key is not None and key not in self.ids})

    def add_texts(self, texts: Iterable[str]) -> None:
        keys_by_text = {text: key for text in texts if (key := text_key(text)) not in self.ids}
        ids_by_text = store_candidates(self.dataset, keys_by_text)
        self.ids.update({key: ids_by_text[text] for text, key in keys_by_text.items()})

    def add_options(self, rows: Iterable[CreditedRow]) -> None:
        """Add the texts of options that the file credits to systems.

        The id of an option means a caption of the dataset only if it is that of a reference, since options of
        different units may have the same ids.
        """
        options = [option for row in rows for option in credited_options(row)]
        self.add_texts(option["text"] for option in options if option["key"] not in self.reference_keys)
        self.load_ids(({option["key"] for option in options} & self.reference_keys) - self.ids.keys())

    def reference_key(self, key: str) -> str | None:
        """Return ``key`` if it is the id of a reference; else None."""
        return key if key in self.reference_keys else None

    def load_ids(self, keys: Iterable[str]) -> None:
        for batch in batched(sorted(keys), KEYS_PER_QUERY):
            captions = Caption.objects.filter(dataset=self.dataset, key__in=batch)
            self.ids.update(captions.values_list("key", "pk"))

    def load_texts(self, rows: Iterable[JudgmentRow]) -> None:
        """Read the texts in which people marked errors, in their stored spelling."""
        ids = (self.id_of(row.first, row.first_text, row.unit) for row in rows)
        unread_ids = {pk for pk in ids if pk is not None and pk not in self.texts}
        for batch in batched(sorted(unread_ids), KEYS_PER_QUERY):
            self.texts.update(Caption.objects.filter(pk__in=batch).values_list("pk", "text"))

    def required_id_of(self, key: str | None, text: str | None, unit: str) -> int:
        """Return the row id of the caption with this key or text, of which at least one is given."""
        caption = self.id_of(key, text, unit)
        assert caption is not None
        return caption

    def id_of(self, key: str | None, text: str | None, unit: str) -> int | None:
        """Return the row id of the caption with this key or text; None if neither is given.

        Raises:
            DataConflict: the dataset has no caption with this key.
        """
        if key is None and text is None:
            return None
        if key is not None and key in self.ids:
            return self.ids[key]
        if text is not None:
            return self.ids[text_key(text)]
        raise DataConflict(
            f"Unit {unit!r} names the caption {key!r}, which dataset {self.dataset.name!r} does not have."
        )


def credited_options(row: CreditedRow) -> list[Mapping[str, str]]:
    return [option for option in row.options() if option.get("key") in row.credits]
