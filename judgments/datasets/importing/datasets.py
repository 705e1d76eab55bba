"""Import a dataset: its images, reference captions, pictures and published candidate pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext_noop

from common.errors import DataConflict
from common.incoming import compose_name
from common.rows.batches import batched
from common.rows.fingerprints import Fingerprint, fingerprint_of
from common.rows.loads import refresh_statistics
from common.rows.writing import insert_rows
from judgments.access.dataset_roles import has_role
from judgments.datasets.importing.base import (
    ROWS_PER_BATCH,
    ImportSummary,
    duplicates_as_conflict,
    estimated_share,
)
from judgments.datasets.importing.candidates import import_candidates, store_candidates
from judgments.datasets.importing.column_mappings import remember_mapping
from judgments.datasets.pictures import PictureCopy, checked_pictures, is_address, picture_file_address
from judgments.drawing.keys import text_key
from judgments.importers import TABLE_FORMATS, ColumnMapping, open_dataset, table_reader
from judgments.importers.notes import ImportNotes
from judgments.importers.records.rows import (
    HUMAN_OTHER,
    HUMAN_SYSTEM,
    CandidatePairRow,
    DocumentRow,
    ImageRow,
    InputRow,
    ReferenceRow,
    TitledRow,
)
from judgments.importers.records.sources import DatasetSource
from judgments.importers.tables.parts import WHOLE_TABLE, TablePart, read_system_names
from judgments.jobs.queues import enqueue
from judgments.models import Caption, Dataset, DatasetRole, Item, Output, PublishedPair, System
from judgments.studies.generation.progress import Progress, no_progress

PICTURES_PER_UPDATE = 500


def import_dataset(
    *,
    format: str,
    path: Path,
    name: str,
    images: str | None = None,
    encoding: str | None = None,
    attribution: str = "",
    table_part: TablePart = WHOLE_TABLE,
    mapping: ColumnMapping | None = None,
    user: User | None = None,
    progress: Progress = no_progress,
) -> ImportSummary:
    """Import images, reference captions and optional candidate pairs.

    Args:
        images: a folder with the pictures, or their base address.
        attribution: source and licence, shown with the pictures.
        table_part: the part of the table that has people's captions.
        user: the owner of a new dataset, who alone can read it until it is shared. None, for a command, shares it
            with all researchers of the installation.

    Raises:
        ImportProblem: the file cannot be read as this format.
        DataConflict: the dataset exists with other rows.
        PictureProblem: a picture is missing or invalid.
    """
    if table_part == WHOLE_TABLE and format in TABLE_FORMATS:
        systems = read_system_names(table_reader(format, path, mapping), path, encoding)
        if any(systems):
            with transaction.atomic():
                return _import_with_systems(
                    systems, format=format, path=path, name=name, images=images, encoding=encoding,
                    attribution=attribution, mapping=mapping, user=user, progress=progress,
                )  # fmt: skip
    if not re.fullmatch(r"[-a-zA-Z0-9_]{1,80}", name):
        raise DataConflict(f"The dataset's name is {name!r}; expected up to 80 letters, digits, - or _.")
    open_source = partial(
        open_dataset, format, path, encoding=encoding, table_part=table_part, mapping=mapping
    )
    existing_dataset = Dataset.objects.filter(name=name).first()
    if existing_dataset is not None:
        return _import_again(existing_dataset, open_source, images, user)
    source = open_source()
    fingerprint = Fingerprint()
    copy_context = PictureCopy(name) if images else nullcontext()
    with duplicates_as_conflict(f"Dataset {name!r}"), copy_context as picture_copy, transaction.atomic():
        dataset = Dataset.objects.create(
            name=name,
            source_format=format,
            attribution=attribution,
            sharing=Dataset.Sharing.INSTALLATION if user is None else Dataset.Sharing.MEMBERS,
        )
        if user is not None:
            DatasetRole.objects.create(dataset=dataset, user=user, role=DatasetRole.Role.OWNER, given_by=user)
        file_by_image = _store_rows(dataset, fingerprint.hash_rows(source.rows()), progress)
        if not file_by_image:
            raise DataConflict(f"{path} holds no captions; nothing was imported.")
        _store_pairs(dataset, fingerprint.hash_rows(source.pairs()))
        dataset.fingerprint = fingerprint.hexdigest()
        if images and picture_copy:
            _attach_pictures(dataset, images, file_by_image, picture_copy, user, source.notes)
        dataset.notes = {"sentences": source.notes.sentences()}
        dataset.save(update_fields=["fingerprint", "notes"])
        remember_mapping(dataset, "dataset", mapping)
        refresh_statistics(Item, Caption)  # those of the database's query planner
    return ImportSummary(
        name,
        created=True,
        counts=_dataset_counts(dataset),
        notes=[*source.notes.sentences(), *_notes_on_blocked_pictures(images or "")],
    )


def _import_with_systems(systems: Collection[str], **values: Any) -> ImportSummary:
    """Import a table whose column `system` names the author of each caption; a blank cell stands for people.

    Without captions by people, the dataset gets only the images.
    """
    people_part = TablePart(system="") if "" in systems else TablePart(images_alone=True)
    summary = import_dataset(table_part=people_part, **values)
    options = {key: values[key] for key in ("format", "path", "encoding", "mapping", "user", "progress")}
    system_names = [system for system in systems if system]
    for system in system_names:
        table_part = TablePart(system=system)
        result = import_candidates(dataset=values["name"], system=system, table_part=table_part, **options)
        summary = summary.with_system(result)
    return replace(summary, counts=summary.counts | {"systems": len(system_names)})


def _import_again(
    dataset: Dataset, open_source: Callable[[], DatasetSource], images: str | None, user: User | None
) -> ImportSummary:
    """Compare a source with the stored ``dataset``. Add the pictures if it has none; ``created`` is then true.

    Raises:
        DataConflict: the dataset has other rows, or is not visible to the user.
    """
    name = dataset.name
    if user is not None and not Dataset.objects.visible_to(user).filter(pk=dataset.pk).exists():
        raise DataConflict(f"There is a dataset {name!r} already; choose another name.")
    source = open_source()
    if fingerprint_of(source.rows(), source.pairs()) != dataset.fingerprint:
        raise DataConflict(f"There is a dataset {name!r} with other rows; choose another name.")
    counts = _dataset_counts(dataset)
    may_add_pictures = user is None or has_role(user, dataset, "editor")
    if not (images and may_add_pictures) or _has_pictures(dataset):
        notes = [gettext_noop("The pictures of the dataset were not changed.")] if images else []
        return ImportSummary(name, created=False, counts=counts, notes=notes)
    file_by_image = {row.image: _picture_file_of(row) for row in open_source().rows()}
    import_notes = ImportNotes()
    with PictureCopy(name) as picture_copy, transaction.atomic():
        if _has_pictures(Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)):
            raise DataConflict(
                f"Another import added pictures to dataset {name!r} at the same time; look at what is there."
            )
        _attach_pictures(dataset, images, file_by_image, picture_copy, user, import_notes)
    notes = [gettext_noop("Pictures were added to the dataset."), *import_notes.sentences()]
    return ImportSummary(name, created=True, counts=counts, notes=notes + _notes_on_blocked_pictures(images))


def _has_pictures(dataset: Dataset) -> bool:
    return dataset.items.exclude(picture="", url="").exists()


def _notes_on_blocked_pictures(images: str) -> list[str]:
    """Return a note about pictures at an http:// address, which the content security policy usually blocks."""
    if not images.startswith("http://"):
        return []
    return [
        gettext_noop(
            "The address of the pictures starts with http://. Browsers load such pictures only if "
            "IMAGE_SOURCES names the address (docs/install.md)."
        )
    ]


def _dataset_counts(dataset: Dataset) -> dict[str, int]:
    has_only_texts = not _has_pictures(dataset) and not dataset.items.filter(text="").exists()
    return {
        "texts" if has_only_texts else "images": dataset.items.count(),
        "references" if has_only_texts else "captions": dataset.captions.filter(
            role=Caption.Role.REFERENCE
        ).count(),
        "candidate pairs": dataset.published_pairs.count(),
        "systems": dataset.systems.count(),
    }


def _picture_file_of(row: ReferenceRow | ImageRow | InputRow) -> str:
    """Return the name of the picture's file, which is the image's name if the row states no other."""
    if isinstance(row, ImageRow) or not row.file:
        return row.image
    return row.file


def _store_rows(
    dataset: Dataset, rows: Iterable[ReferenceRow | ImageRow | InputRow], progress: Progress
) -> dict[str, str]:
    """Store the images and references of a dataset. Return the file name of each image's picture, by image."""
    ids: dict[str, int] = {}  # of the items, by name
    file_by_image: dict[str, str] = {}
    stored_count = 0
    role = Caption.Role.REFERENCE.value
    for batch in batched(rows, ROWS_PER_BATCH):
        new_rows: dict[str, ReferenceRow | ImageRow | InputRow] = {}
        for row in batch:
            if row.image not in ids:
                new_rows.setdefault(row.image, row)
        new_items = Item.objects.bulk_create(
            _make_item(dataset, len(ids) + index, row) for index, row in enumerate(new_rows.values())
        )
        for item, row in zip(new_items, new_rows.values(), strict=True):
            ids[item.name] = item.pk
            file_by_image[item.name] = _picture_file_of(row)
        columns = ("dataset_id", "item_id", "key", "text", "text_key", "role", "position")
        references = (
            (dataset.pk, ids[row.image], row.caption_id, row.text, text_key(row.text), role, row.position)
            for row in batch
            if isinstance(row, ReferenceRow)
        )
        insert_rows(Caption, columns, references)
        stored_count += len(batch)
        progress(estimated_share(stored_count), f"{stored_count:,} captions")
    return file_by_image


def _make_item(dataset: Dataset, position: int, row: ReferenceRow | ImageRow | InputRow) -> Item:
    item = Item(dataset=dataset, name=row.image, position=position, split=row.split or "", url=row.url or "")
    if isinstance(row, ImageRow):  # sources yield this row before the image's captions
        item.text, item.boxes = row.text, [asdict(box) for box in row.boxes]
        # ``fields`` has pairs of name and text; a TitledRow is a DocumentRow, too
        if isinstance(row, DocumentRow):
            item.fields = [["document", row.document]] if row.document else []
        if isinstance(row, TitledRow):
            item.fields.append(["title", row.title])
    elif isinstance(row, InputRow):
        item.fields = [list(cell) for cell in row.fields]
    return item


def _attach_pictures(
    dataset: Dataset,
    images: str,
    file_by_image: dict[str, str],
    picture_copy: PictureCopy,
    user: User | None,
    notes: ImportNotes,
) -> None:
    """Store the addresses of a dataset's pictures, or copy them from a folder and start a job that scales them.

    Add a note about pictures whose files are spelled differently to ``notes``.
    """
    items = list(dataset.items.order_by("position"))
    if is_address(images):
        for item in items:
            item.url = picture_file_address(images, file_by_image[item.name])
        Item.objects.bulk_update(items, ["url"], batch_size=PICTURES_PER_UPDATE)
        return
    paths = checked_pictures(Path(images), file_by_image.items())
    # the images whose picture's path does not end as the table spells it
    respelled_names = [
        name
        for name, path in paths.items()
        if not compose_name(str(path)).endswith(compose_name(file_by_image[name]))
    ]
    if respelled_names:
        detail = f"{paths[respelled_names[0]].name} for {file_by_image[respelled_names[0]]}"
        notes.count("respelled-picture", by=len(respelled_names), detail=detail)
    for item in items:
        item.picture = picture_copy.add(item.position, paths[item.name])
    Item.objects.bulk_update(items, ["picture"], batch_size=PICTURES_PER_UPDATE)
    enqueue(kind="scale_pictures", args={"dataset": dataset.name}, user=user)


def _store_pairs(dataset: Dataset, rows: Iterable[CandidatePairRow]) -> None:
    """Store published pairs, with their systems, their candidates, and the systems' outputs."""
    pairs = list(rows)
    if not pairs:
        return
    item_ids = dict(Item.objects.filter(dataset=dataset).values_list("name", "pk"))
    system_names = sorted({row.first_system for row in pairs} | {row.second_system for row in pairs})
    System.objects.bulk_create(
        System(dataset=dataset, name=name, human=name in (HUMAN_SYSTEM, HUMAN_OTHER)) for name in system_names
    )
    system_ids = dict(System.objects.filter(dataset=dataset).values_list("name", "pk"))
    texts = {row.first_text for row in pairs} | {row.second_text for row in pairs}
    caption_ids = store_candidates(dataset, texts)
    counted_items = Item.objects.filter(dataset=dataset).annotate(n=Count("references"))
    reference_counts = dict(counted_items.values_list("pk", "n"))
    columns = (
        "dataset_id", "key", "position", "kind", "item_id", "first_id", "second_id", "first_system_id",
        "second_system_id", "references",
    )  # fmt: skip
    pair_values = (
        (
            dataset.pk,
            row.pair,
            position,
            row.kind,
            item_ids[row.image],
            caption_ids[row.first_text],
            caption_ids[row.second_text],
            system_ids[row.first_system],
            system_ids[row.second_system],
            row.references if row.references is not None else reference_counts[item_ids[row.image]],
        )
        for position, row in enumerate(pairs)
    )
    insert_rows(PublishedPair, columns, pair_values)
    _store_outputs_of_pairs(pairs, item_ids, caption_ids, system_ids)


def _store_outputs_of_pairs(
    pairs: Iterable[CandidatePairRow],
    item_ids: Mapping[str, int],
    caption_ids: Mapping[str, int],
    system_ids: Mapping[str, int],
) -> None:
    """Store each candidate of the pairs as an output of its system.

    Several outputs of a system for an image are ranked in the order of the file.
    """
    ranks: dict[tuple[int, int, int], int] = {}  # by system, item and caption
    output_counts: Counter[tuple[int, int]] = Counter()  # by system and item
    for row in pairs:
        item = item_ids[row.image]
        for system_name, text in ((row.first_system, row.first_text), (row.second_system, row.second_text)):
            system = system_ids[system_name]
            output = (system, item, caption_ids[text])
            if output not in ranks:
                output_counts[system, item] += 1
                ranks[output] = output_counts[system, item]
    outputs = ((*output, rank) for output, rank in ranks.items())
    insert_rows(Output, ("system_id", "item_id", "caption_id", "rank"), outputs)
