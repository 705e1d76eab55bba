"""Read a dataset as the material from which a study is drawn."""

from __future__ import annotations

from collections.abc import Mapping

from judgments.drawing.material import Image, Material, Pair, Text
from judgments.models import Caption, Dataset, Item, Output, PublishedPair, System

ROWS_PER_BATCH = 2_000


def load_material(dataset: Dataset, *, max_rank: int | None = None, maker: int | None = None) -> Material:
    """Read a dataset for generation with six queries, in import order.

    Args:
        max_rank: the last rank to read of ranked lists of images, which systems found for captions
            (``Image.retrievals``). If it is None, these lists are not read, and of the references that a system ranks
            for an image, only one that it ranks first counts as an output.
        maker: row id of the account that made the study; None for a command. Unpublished systems of other accounts are
            left out.
    """
    references: dict[int, list[Text]] = {}
    texts: dict[int, Text] = {}
    rows = Caption.objects.filter(dataset=dataset).order_by("item_id", "position", "id")
    for pk, item, key, text in rows.values_list("pk", "item_id", "key", "text").iterator(ROWS_PER_BATCH):
        texts[pk] = Text(key=key, text=text)
        if item is not None:
            references.setdefault(item, []).append(texts[pk])
    systems = {system.pk: system for system in System.objects.filter(dataset=dataset).open_to(maker)}
    outputs, retrievals = _outputs_and_retrievals(dataset, maker, systems, texts, max_rank)
    images: list[Image] = []
    names: dict[int, str] = {}
    items = Item.objects.filter(dataset=dataset).order_by("position")
    for pk, name, split, text, boxes, fields in items.values_list(
        "pk", "name", "split", "text", "boxes", "fields"
    ):
        names[pk] = name
        images.append(
            Image(
                name=name,
                split=split,
                references=tuple(references.get(pk, ())),
                outputs=tuple(outputs.get(pk, ())),
                retrievals=tuple(retrievals.get(pk, ())),
                text=text,
                boxes=tuple(boxes),
                fields=tuple((column, cell) for column, cell in fields),
            )
        )
    published_pairs = tuple(
        Pair(
            key=pair.key,
            kind=pair.kind,
            image=names[pair.item_id],
            first=texts[pair.first_id],
            second=texts[pair.second_id],
            first_system=systems[pair.first_system_id].name,
            second_system=systems[pair.second_system_id].name,
            references=tuple(text.key for text in references.get(pair.item_id, [])[: pair.references]),
        )
        for pair in PublishedPair.objects.filter(dataset=dataset).order_by("position")
    )
    return Material(
        name=dataset.name,
        images=tuple(images),
        published_pairs=published_pairs,
        people=frozenset(system.name for system in systems.values() if system.human),
    )


def _outputs_and_retrievals(
    dataset: Dataset,
    maker: int | None,
    systems: Mapping[int, System],
    texts: Mapping[int, Text],
    max_rank: int | None,
) -> tuple[dict[int, list[tuple[str, Text]]], dict[int, list[tuple[str, Text, int]]]]:
    """Return the outputs and the retrievals of each image, by the image's row id, as in ``Image``.

    Their order does not depend on import order or the collation of the database.
    """
    machines = {pk: system.name for pk, system in systems.items() if not system.human}
    rows = Output.objects.filter(system__dataset=dataset, system__human=False).open_to(maker)
    outputs: dict[int, list[tuple[str, Text]]] = {}
    annotations = rows.annotations().order_by("item_id", "rank", "pk")
    columns = ("system_id", "item_id", "caption_id", "caption__role")
    pairs_with_output: set[tuple[int, int]] = set()
    for system, item, caption, role in annotations.values_list(*columns).iterator(ROWS_PER_BATCH):
        # rows are in the order of ranks, so an output is first if its system has no output for the item yet
        if max_rank is None and role == Caption.Role.REFERENCE and (system, item) in pairs_with_output:
            continue
        pairs_with_output.add((system, item))
        outputs.setdefault(item, []).append((machines[system], texts[caption]))
    for item_outputs in outputs.values():
        item_outputs.sort(key=lambda output: output[0])
    retrievals: dict[int, list[tuple[str, Text, int]]] = {}
    searches = rows.searches().filter(rank__lte=max_rank or 0)  # ranks of searches begin with 1
    for system, caption, item, rank in searches.values_list(
        "system_id", "caption_id", "item_id", "rank"
    ).iterator(ROWS_PER_BATCH):
        retrievals.setdefault(item, []).append((machines[system], texts[caption], rank))
    for image_retrievals in retrievals.values():
        image_retrievals.sort(key=lambda retrieval: (retrieval[0], retrieval[1].key))
    return outputs, retrievals
