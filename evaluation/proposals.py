"""What systems proposed for the images of a study, out of the database: a few queries, whatever their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Case, Max, Q, QuerySet, When

from evaluation.rankings import NO_ORIGINAL, Proposals, Rows, in_order
from evaluation.records import Flags, Ints
from judgments.columns import columns_of, plain_rows
from judgments.models import Caption, Item, Output, Study, System, Unit


def outputs_of(study: Study) -> QuerySet[Output]:
    """Everything that systems proposed in the study's dataset."""
    return Output.objects.filter(system__dataset=study.dataset_id)


def newest_output(study: Study) -> int:
    """Row id of the last output of the study's dataset; 0 where there is none. Outputs are only ever added."""
    found = outputs_of(study).aggregate(last=Max("pk"))
    return found["last"] or 0


class _Caption(NamedTuple):
    key: str
    text: str
    item: int | None


def proposals_of(study: Study) -> Proposals:
    """The lists of all systems for the images of the splits that the study judges, and for the captions that found
    one of them."""
    units = Unit.objects.filter(study=study, control=False, first__isnull=False)
    shown = list(plain_rows(units.order_by("position", "pk").values_list("pk", "item_id", "first_id")))
    systems = dict(System.objects.filter(dataset=study.dataset_id).values_list("pk", "name"))
    items = {
        pk: (name, split)
        for pk, name, split in plain_rows(
            Item.objects.filter(dataset=study.dataset_id).order_by().values_list("pk", "name", "split")
        )
    }
    splits = {items[item][1] for _, item, _ in shown}
    system, item, caption, rank, search = _outputs(study, splits)
    asked = search > 0
    if asked.any():  # whole lists, of the captions that found an image of the splits
        here = np.isin(item, [pk for pk, (_, split) in items.items() if split in splits])
        kept = ~asked | np.isin(caption, caption[asked & here])
        system, item, caption, rank, asked = (row[kept] for row in (system, item, caption, rank, asked))
    if not len(system):
        none = np.zeros(0, dtype=np.int64)
        return Proposals((), (), (), (), *(none,) * 6)
    captions = _captions(study, splits)
    text_of, texts = _numbered_texts([first for _, _, first in shown], captions)
    names, image_of, asker_of = (
        {name: place for place, name in enumerate(sorted(set(known)))}
        for known in (
            systems.values(),
            (name for name, _ in items.values()),
            (captions[pk].key for pk in np.unique(caption[asked]).tolist()),
        )
    )
    number = {pk: image_of[name] for pk, (name, _) in items.items()}
    text = _mapped(caption, text_of)
    asking = {pk: asker_of[captions[pk].key] for pk in np.unique(caption[asked]).tolist()}
    return in_order(
        Rows(
            system=_mapped(system, {pk: names[name] for pk, name in systems.items()}),
            image=_mapped(item, number),
            text=text,
            asker=np.where(asked, _mapped(caption, asking), -1),
            rank=rank,
            original=_originals(captions, text_of, item, caption, text, asked),
            placed=_placed(study, systems, system, asked),
        ),
        list(names),
        list(image_of),
        texts,
        list(asker_of),
        {pk: (number[of], text_of[first]) for pk, of, first in shown},
    )


def _outputs(study: Study, splits: set[str]) -> Ints:
    """(5, N) system, image, caption, rank, and 1 for what was found by search, in the order of row ids."""
    task = Case(When(task=Output.Task.SEARCH, then=1), default=0)
    rows = Output.objects.filter(
        Q(item__split__in=sorted(splits)) | Q(task=Output.Task.SEARCH), system__dataset=study.dataset_id
    )
    columns = rows.order_by("pk").values_list("system_id", "item_id", "caption_id", "rank", task)
    return columns_of(columns, 5).astype(np.int64)


def _captions(study: Study, splits: set[str]) -> dict[int, _Caption]:
    """Row id -> each caption that is judged or proposed, and the references of the splits."""
    proposed = outputs_of(study).values("caption")
    shown = Unit.objects.filter(study=study, control=False, first__isnull=False).values("first")
    rows = Caption.objects.filter(
        Q(pk__in=proposed) | Q(pk__in=shown) | Q(item__split__in=sorted(splits)), dataset=study.dataset_id
    )
    found = plain_rows(rows.order_by("pk").values_list("pk", "key", "text", "item_id"))
    return {pk: _Caption(key, text, item) for pk, key, text, item in found}


def _numbered_texts(
    shown: Sequence[int], captions: Mapping[int, _Caption]
) -> tuple[dict[int, int], list[str]]:
    """Caption -> number of its text; and for each text the id of a caption that has it, a judged one where one is."""
    numbers: dict[str, int] = {}
    keys: list[str] = []
    text_of = {}
    for pk in dict.fromkeys([*shown, *captions]):
        key, text, _ = captions[pk]
        if text not in numbers:
            numbers[text] = len(keys)
            keys.append(key)
        text_of[pk] = numbers[text]
    return text_of, keys


def _originals(
    captions: Mapping[int, _Caption],
    text_of: Mapping[int, int],
    item: Ints,
    caption: Ints,
    text: Ints,
    asked: Flags,
) -> Ints:
    """(N,) whether the caption was written for the image, as ``Proposals.original`` has it.

    An image's own captions are found by their words: the same words written for another image are the same text.
    """
    own = np.array(
        [(one.item, text_of[pk]) for pk, one in captions.items() if one.item is not None], dtype=np.int64
    ).reshape(-1, 2)
    written_for = _mapped(caption, {pk: one.item or NO_ORIGINAL for pk, one in captions.items()})
    width = len(captions) + 1
    hit = np.where(asked, written_for == item, np.isin(item * width + text, own[:, 0] * width + own[:, 1]))
    there = (written_for != NO_ORIGINAL) & (asked | np.isin(item, own[:, 0]))
    return np.where(there, hit, NO_ORIGINAL)


def _placed(study: Study, systems: Mapping[int, str], system: Ints, asked: Flags) -> Flags:
    """(N,) whether the rank is the place: of systems that are known from judgments alone, whose lists have gaps."""
    partly = study.dataset.known_in_part
    found = np.zeros(len(system), dtype=bool)
    for task, chosen in ((Output.Task.ANNOTATION, ~asked), (Output.Task.SEARCH, asked)):
        names = partly.get(task, ())
        found |= chosen & np.isin(system, [pk for pk, name in systems.items() if name in names])
    return found


def _mapped(values: Ints, to: Mapping[int, Any]) -> Ints:
    """``values`` in other numbers; what ``to`` does not name becomes -1."""
    known, place = np.unique(values, return_inverse=True)
    return np.array([to.get(one, -1) for one in known.tolist()], dtype=np.int64)[place]
