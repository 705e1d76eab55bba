"""Import datasets, candidates and rankings. Imports stream their files, are atomic, and can be repeated safely."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_noop

from common.errors import DataConflict, DesignError
from common.incoming import compose_name
from common.rows.batches import KEYS_PER_QUERY, batched
from common.rows.fingerprints import Fingerprint, fingerprint_of
from common.rows.loads import refresh_statistics
from common.rows.writing import insert_rows
from common.texts import one_text
from judgments.access.dataset_roles import has_role
from judgments.datasets.pictures import PictureCopy, checked_pictures, is_address, picture_file_address
from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign
from judgments.drawing.keys import candidate_key, text_key
from judgments.importers import TABLE_FORMATS, ColumnMapping, open_candidates, open_dataset, table_reader
from judgments.importers.records.rows import (
    HUMAN_OTHER,
    HUMAN_SYSTEM,
    CandidatePairRow,
    CandidateRow,
    DocumentRow,
    ImageRow,
    InputRow,
    ReferenceRow,
    TitledRow,
)
from judgments.importers.records.sources import CandidateSource, DatasetSource
from judgments.importers.records.values import by_name
from judgments.importers.tables.candidates import TableCandidates
from judgments.importers.tables.parts import WHOLE_TABLE, TablePart, read_system_names
from judgments.importers.textio import ImportNotes
from judgments.importers.trec import read_runs
from judgments.jobs.queues import enqueue
from judgments.kinds import KINDS
from judgments.models import Caption, Dataset, DatasetRole, Item, Output, PublishedPair, System, SystemContent
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.studies import find_dataset
from quorum.phrases import known_titles

ROWS_PER_BATCH = 2_000
PICTURES_PER_UPDATE = 500
TITLES_PER_BATCH = 500
StoredLists = defaultdict[tuple[int, int], dict[int, Any]]  # see `stored_lists`
RankedRow = tuple[int, int, int, float]  # row ids of query and item, rank from 1, score


def stored_lists(
    task: Output.Task, *, systems: Collection[int], queries: Collection[int], partly_known: Collection[int]
) -> StoredLists:
    """Return the stored ranked lists by (system, query); each maps a rank to an item.

    For task "annotation" the query is an image and the items are caption texts in normal form. For "search" the
    query is a caption and the items are images. Systems, queries and images are row ids. A duplicate item counts at
    its best rank. Ranks are made consecutive, except those of the systems in ``partly_known``, whose lists have gaps.
    """
    is_annotation = task == Output.Task.ANNOTATION
    query_column, item_column = ("item_id", "caption__text") if is_annotation else ("caption_id", "item_id")
    lists: StoredLists = defaultdict(dict)
    for batch in batched(sorted(queries), KEYS_PER_QUERY):
        rows = Output.objects.filter(task=task, system__in=systems, **{f"{query_column}__in": batch})
        ordered_rows = rows.order_by("system_id", query_column, "rank")
        values = ordered_rows.values_list("system_id", query_column, item_column, "rank")
        for system, query, item, rank in values.iterator(ROWS_PER_BATCH):
            ranked_items = lists[system, query]
            item = one_text(item) if is_annotation else item
            if item not in ranked_items.values():
                ranked_items[rank if system in partly_known else len(ranked_items) + 1] = item
    return lists


def renumber_ranks(system: System, task: Output.Task) -> None:
    """Make the ranks of a system's lists consecutive. A repeated item gets a rank after all others."""
    rows = list(Output.objects.filter(system=system, task=task).select_related("caption"))
    is_annotation = task == Output.Task.ANNOTATION
    lists: defaultdict[int, list[Any]] = defaultdict(list)
    new_ranks: dict[int, int] = {}
    first_unused_rank = max((row.rank for row in rows), default=0) + len(rows) + 1
    for row_index, row in enumerate(sorted(rows, key=attrgetter("rank", "pk"))):
        ranked_items = lists[row.item_id if is_annotation else row.caption_id]
        item = one_text(row.caption.text) if is_annotation else row.item_id
        if item in ranked_items:
            new_ranks[row.pk] = first_unused_rank + len(rows) + row_index
        else:
            ranked_items.append(item)
            new_ranks[row.pk] = len(ranked_items)
    changed_rows = [row for row in rows if row.rank != new_ranks[row.pk]]
    # The database requires distinct ranks within a list at every step, so first give each row an unused rank.
    for row_index, row in enumerate(changed_rows):
        row.rank = first_unused_rank + row_index
    Output.objects.bulk_update(changed_rows, ["rank"], batch_size=KEYS_PER_QUERY)
    for row in changed_rows:
        row.rank = new_ranks[row.pk]
    Output.objects.bulk_update(changed_rows, ["rank"], batch_size=KEYS_PER_QUERY)


def mark_lists_complete(dataset: Dataset, system: str, task: str) -> None:
    """Mark the system's lists of this task as complete, in the caller's transaction."""
    remaining_systems = {
        other_task: [name for name in systems if (other_task, name) != (task, system)]
        for other_task, systems in dataset.known_in_part.items()
    }
    known_in_part = {task: systems for task, systems in remaining_systems.items() if systems}
    if known_in_part != dataset.known_in_part:
        dataset.notes = {**dataset.notes, "known_in_part": known_in_part}
        dataset.save(update_fields=["notes"])


def remember_mapping(dataset: Dataset, use: str, mapping: ColumnMapping | None) -> None:
    """Store the column mapping that an import used, to offer it for the next import of the same ``use``."""
    if mapping is not None and mapping.columns:
        dataset.refresh_from_db(fields=["notes"])
        columns = {name: list(sources) for name, sources in mapping.columns.items()}
        dataset.notes = {**dataset.notes, "mapping": {**dataset.notes.get("mapping", {}), use: columns}}
        dataset.save(update_fields=["notes"])


def last_mapping(use: str, *, dataset: Dataset | None = None, user: User | None = None) -> dict[str, str]:
    """Return the file's column for each of Quorum's columns, as in the last import into a dataset.

    Args:
        use: the kind of import, such as "dataset" or "import_candidates".
        dataset: the dataset; None for the newest dataset of ``user`` that has a mapping.
    """
    if dataset is None and user is not None:
        owned = Dataset.objects.filter(roles__user=user, roles__role=DatasetRole.Role.OWNER)
        dataset = owned.filter(notes__mapping__has_key=use).order_by("-pk").first()
    mappings = dataset.notes.get("mapping", {}) if dataset is not None else {}
    return {name: sources[0] for name, sources in mappings.get(use, {}).items()}


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The result of an import.

    Attributes:
        what: the name of the dataset, the study or the system; the names of several with commas between.
        created: whether the import changed something.
        counts: the numbers of what the import is about, by noun.
        notes: sentences about oddities of the data.
    """

    what: str
    created: bool
    counts: dict[str, int]
    notes: list[str] = field(default_factory=list)

    def lines(self, noun: str) -> list[str]:
        """Return the lines that a command prints. ``noun`` is the kind of data, such as "Dataset"."""
        outcome = "imported" if self.created else "was there already with the same rows; nothing changed"
        counts = [f"  {count:>9,} {name}" for name, count in self.counts.items() if count]
        return [f"{noun} {self.what}: {outcome}.", *counts, *(f"  {note}" for note in self.notes)]

    def with_system(self, added: ImportSummary) -> ImportSummary:
        """Return the summary of a dataset together with that of a system's captions from the same upload or table."""
        counts = self.counts | {f"outputs of {added.what}": added.counts["captions"]}
        notes = [*self.notes, *(f"{added.what}: {note}" for note in added.notes if note not in self.notes)]
        return replace(self, created=self.created or added.created, counts=counts, notes=notes)


@contextmanager
def _duplicates_as_conflict(subject: str, stored_rows: str = "it") -> Iterator[None]:
    """Raise DataConflict for an IntegrityError in the block, which means that another import stored the same rows."""
    try:
        yield
    except IntegrityError as error:
        raise DataConflict(
            f"{subject} was not imported: another import stored {stored_rows} at the same time; look at what is there."
        ) from error


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
        mapping: maps the table's columns to Quorum's.
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
    existing = Dataset.objects.filter(name=name).first()
    if existing is not None:
        return _import_again(existing, open_source, images, user)
    source = open_source()
    fingerprint = Fingerprint()
    copy_context = PictureCopy(name) if images else nullcontext()
    with _duplicates_as_conflict(f"Dataset {name!r}"), copy_context as picture_copy, transaction.atomic():
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
        refresh_statistics(Item, Caption)
    return ImportSummary(
        name, True, _dataset_counts(dataset), [*source.notes.sentences(), *_blocked_pictures(images or "")]
    )


def _import_again(
    dataset: Dataset, open_source: Callable[[], DatasetSource], images: str | None, user: User | None
) -> ImportSummary:
    """Compare a source with the dataset of the same name. Attach pictures to a dataset that has none.

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
    may_add = user is None or has_role(user, dataset, "editor")
    if not (images and may_add) or _has_pictures(dataset):
        notes = [gettext_noop("The pictures of the dataset were not changed.")] if images else []
        return ImportSummary(name, False, counts, notes)
    file_by_image = {row.image: _picture_file_of(row) for row in open_source().rows()}
    import_notes = ImportNotes()
    with PictureCopy(name) as picture_copy, transaction.atomic():
        if _has_pictures(Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)):
            raise DataConflict(
                f"Another import added pictures to dataset {name!r} at the same time; look at what is there."
            )
        _attach_pictures(dataset, images, file_by_image, picture_copy, user, import_notes)
    notes = [gettext_noop("Pictures were added to the dataset."), *import_notes.sentences()]
    return ImportSummary(name, True, counts, [*notes, *_blocked_pictures(images)])


def _import_with_systems(systems: Collection[str], **values: Any) -> ImportSummary:
    """Import a table whose column `system` names the author of each caption; a blank cell stands for people."""
    people_part = TablePart(system="") if "" in systems else TablePart(images_alone=True)
    summary = import_dataset(table_part=people_part, **values)
    options = {key: values[key] for key in ("format", "path", "encoding", "mapping", "user", "progress")}
    system_names = [system for system in systems if system]
    for system in system_names:
        table_part = TablePart(system=system)
        added = import_candidates(dataset=values["name"], system=system, table_part=table_part, **options)
        summary = summary.with_system(added)
    return replace(summary, counts=summary.counts | {"systems": len(system_names)})


def _has_pictures(dataset: Dataset) -> bool:
    return dataset.items.exclude(picture="", url="").exists()


def _blocked_pictures(images: str) -> list[str]:
    """Return a warning for pictures at an http:// address, which the content security policy usually blocks."""
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
    return (None if isinstance(row, ImageRow) else row.file) or row.image


def _store_rows(
    dataset: Dataset, rows: Iterable[ReferenceRow | ImageRow | InputRow], progress: Progress
) -> dict[str, str]:
    """Store the rows of a dataset. Return the file name of each image's picture, by the image's name."""
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
        progress(_estimated_share(stored_count), f"{stored_count:,} captions")
    return file_by_image


def _estimated_share(row_count: int) -> float:
    """Return a share of progress that rises towards 0.9 with the number of rows, since their total is unknown."""
    return 0.9 * row_count / (row_count + ROWS_PER_BATCH)


def _make_item(dataset: Dataset, position: int, row: ReferenceRow | ImageRow | InputRow) -> Item:
    item = Item(dataset=dataset, name=row.image, position=position, split=row.split or "", url=row.url or "")
    if isinstance(row, ImageRow):  # sources yield this row before the image's captions
        item.text, item.boxes = row.text, [asdict(box) for box in row.boxes]
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

    Args:
        images: the folder of the pictures, or their base address.
        file_by_image: the file name of each image's picture, by the image's name.
        notes: gets a note about pictures that the files name in another spelling.
    """
    items = list(dataset.items.order_by("position"))
    if is_address(images):
        for item in items:
            item.url = picture_file_address(images, file_by_image[item.name])
        Item.objects.bulk_update(items, ["url"], batch_size=PICTURES_PER_UPDATE)
        return
    paths = checked_pictures(Path(images), file_by_image.items())
    composed_names = {name: compose_name(str(path)) for name, path in paths.items()}
    respelled_names = [
        name for name in paths if not composed_names[name].endswith(compose_name(file_by_image[name]))
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
    system_names = sorted({name for row in pairs for name in (row.first_system, row.second_system)})
    System.objects.bulk_create(
        System(dataset=dataset, name=name, human=name in (HUMAN_SYSTEM, HUMAN_OTHER)) for name in system_names
    )
    system_ids = dict(System.objects.filter(dataset=dataset).values_list("name", "pk"))
    texts = {text for row in pairs for text in (row.first_text, row.second_text)}
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
    # Each candidate is an output of its system. Several of a system for an image are ranked in the order of the file.
    outputs_of_pairs = dict.fromkeys(
        (system_ids[system], item_ids[row.image], caption_ids[text])
        for row in pairs
        for system, text in ((row.first_system, row.first_text), (row.second_system, row.second_text))
    )
    ranks: dict[tuple[int, int], int] = {}
    outputs = []
    for system, item, caption in outputs_of_pairs:
        rank = ranks[system, item] = ranks.get((system, item), 0) + 1
        outputs.append((system, item, caption, rank))
    insert_rows(Output, ("system_id", "item_id", "caption_id", "rank"), outputs)


def store_candidates(dataset: Dataset, texts: Iterable[str]) -> dict[str, int]:
    """Get or create candidate captions. Return their row ids by text.

    Texts with the same normal form share one caption, which keeps its first spelling. If several spellings are new,
    the caption gets the normal form if that is one of them.
    """
    key_by_text = {text: text_key(text) for text in texts}
    text_by_key: dict[str, str] = {}
    for text in sorted(key_by_text, key=lambda text: (text != one_text(text), text)):  # normal forms first
        text_by_key.setdefault(key_by_text[text], text)
    id_by_key: dict[str, int] = {}
    for batch in batched(sorted(text_by_key), KEYS_PER_QUERY):
        captions = Caption.objects.filter(dataset=dataset, text_key__in=batch, role=Caption.Role.CANDIDATE)
        # Of several rows with a key, the oldest counts, since update() keeps the last.
        stored_ids = captions.order_by("-pk").values_list("text_key", "pk")
        id_by_key.update(stored_ids)
        new_texts = [text_by_key[key] for key in batch if key not in id_by_key]
        if new_texts:
            Caption.objects.bulk_create(
                (
                    Caption(dataset=dataset, key=candidate_key(text), text=text, role=Caption.Role.CANDIDATE)
                    for text in new_texts
                ),
                ignore_conflicts=True,
            )
            id_by_key.update(stored_ids.all())
    return {text: id_by_key[key] for text, key in key_by_text.items()}


def names_by_text(dataset: Dataset) -> dict[str, list[str]]:
    """Return the names of the items with each source text, by the text in normal form."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    items = Item.objects.filter(dataset=dataset).exclude(text="").order_by("position")
    for name, text in items.values_list("name", "text").iterator(ROWS_PER_BATCH):
        names[one_text(text)].append(name)
    return names


def import_candidates(
    *,
    format: str,
    path: Path,
    dataset: str,
    system: str,
    encoding: str | None = None,
    table_part: TablePart = WHOLE_TABLE,
    mapping: ColumnMapping | None = None,
    user: User | None = None,
    progress: Progress = no_progress,
) -> ImportSummary:
    """Import one system's captions, boxes and keywords.

    Args:
        table_part: the part of the table that has the system's captions.
        mapping: maps the table's columns to Quorum's.
        user: the owner of a new system, which is unpublished; None for a command.

    Raises:
        ObjectNotFound: there is no such dataset.
        ImportProblem: the file cannot be read, or names an unknown image or box.
        DataConflict: the system exists with other captions, boxes or keywords.
    """
    dataset_row = find_dataset(dataset)
    items = by_name(Item.objects.filter(dataset=dataset_row).values_list("name", "pk"))
    system = compose_name(system)
    check_system_name(system)
    stored_system = System.objects.filter(dataset=dataset_row, name=system).first()
    check_owner(stored_system, user)
    source = open_candidates(format, path, encoding=encoding, table_part=table_part, mapping=mapping)
    if isinstance(source, TableCandidates):
        item_names = SimpleLazyObject(partial(names_by_text, dataset_row))
        image_boxes = SimpleLazyObject(partial(boxes_by_image, dataset_row, path))
        source.items_of = lambda text: item_names.get(text, ())
        source.boxes_of = lambda image: image_boxes.get(image, ())
    rows = source.candidates(items)
    first_row = next(rows, None)  # None if the file has no captions; it is then read completely
    with _duplicates_as_conflict(f"System {system!r}"), transaction.atomic():
        system_row = stored_system or System.objects.create(
            dataset=dataset_row, name=system, owner=user, private=user is not None
        )
        if first_row is None:
            summary = ImportSummary(system, False, {"captions": 0}, source.notes.sentences())
        else:
            rows = chain((first_row,), rows)
            summary = _import_captions(
                system_row, rows, items, source, is_new=stored_system is None, progress=progress
            )
        new_counts = _store_contents(system_row, source.contents, items)
        if stored_system is None:
            remember_mapping(dataset_row, "import_candidates", mapping)
    counts = summary.counts | {f"images with {kind}": count for kind, count in new_counts.items() if count}
    return replace(summary, created=summary.created or any(new_counts.values()), counts=counts)


def check_system_name(name: str) -> None:
    if not name.strip() or len(name) > 80 or not name.isprintable():
        raise DataConflict(f"The system's name is {name!r}; expected 1 to 80 visible characters.")


def boxes_by_image(dataset: Dataset, path: Path) -> dict[str, list[str]]:
    """Return the ids of each image's boxes, by the image's name. Raise DataConflict if no image has boxes."""
    rows = Item.objects.filter(dataset=dataset).exclude(boxes=[]).values_list("name", "boxes")
    boxes = {name: [box["id"] for box in item_boxes] for name, item_boxes in rows.iterator(ROWS_PER_BATCH)}
    if not boxes:
        raise DataConflict(
            f"{path} names boxes, but no image of dataset {dataset.name!r} has any; expected a dataset that was "
            "imported with a column boxes."
        )
    return boxes


def _import_captions(
    system: System,
    rows: Iterable[CandidateRow],
    items: dict[str, int],
    source: CandidateSource,
    *,
    is_new: bool,
    progress: Progress,
) -> ImportSummary:
    """Store a new system's captions.

    If only some captions of the system are stored, store the others. If all are stored, compare them with the file.
    """
    if not is_new and not system.fingerprint:
        return _complete_captions(system, rows, items, source.notes)
    if not is_new:
        outputs = system.outputs.annotations().values_list("item__name", "caption__text", "rank", "score")
        if fingerprint_of(rows) != system.fingerprint and not _has_same_rows(
            source.candidates(items), outputs
        ):
            raise _content_conflict(system, "captions")
        return ImportSummary(system.name, False, {"captions": system.outputs.annotations().count()})
    fingerprint = Fingerprint()
    ranked_rows = ((items[row.image], row.rank or 1, row) for row in fingerprint.hash_rows(rows))
    stored_count = _store_outputs(system, ranked_rows, progress)
    system.fingerprint = fingerprint.hexdigest()
    system.save(update_fields=["fingerprint"])
    return ImportSummary(system.name, True, {"captions": stored_count}, source.notes.sentences())


def _store_outputs(
    system: System, outputs: Iterable[tuple[int, int, CandidateRow]], progress: Progress = no_progress
) -> int:
    """Store a system's captions, as triples of the item's row id, the rank, and the row. Return their number."""
    stored_count = 0
    for batch in batched(outputs, ROWS_PER_BATCH):
        captions = store_candidates(system.dataset, {row.text for _, _, row in batch})
        Output.objects.bulk_create(
            Output(system=system, item_id=item, caption_id=captions[row.text], rank=rank, score=row.score)
            for item, rank, row in batch
        )
        stored_count += len(batch)
        progress(_estimated_share(stored_count), f"{stored_count:,} captions")
    return stored_count


def _content_conflict(system: System, noun: str) -> DataConflict:
    return DataConflict(
        f"Dataset {system.dataset.name!r} has a system {system.name!r} with other {noun}; choose another name."
    )


def _store_contents(
    system: System, contents: Mapping[tuple[str, str], Sequence[str]], items: dict[str, int]
) -> dict[str, int]:
    """Store a system's boxes and keywords. Return the number of new rows by kind.

    Raises:
        DataConflict: the system has other boxes or keywords.
    """
    new_counts = {}
    for kind in SystemContent.Kind.values:
        names_by_image = {image: names for (image, other), names in contents.items() if other == kind}
        names_by_item = {items[image]: list(names) for image, names in names_by_image.items()}
        stored = system.contents.filter(kind=kind).values_list("item", "names")
        stored_names = dict(stored) if names_by_item else {}
        if stored_names and stored_names != names_by_item:
            raise _content_conflict(system, kind)
        new_items = [] if stored_names else names_by_item.items()
        rows = [(system.pk, item, kind, names) for item, names in new_items]
        new_counts[kind] = insert_rows(SystemContent, ("system_id", "item_id", "kind", "names"), rows)
    return new_counts


def _has_same_rows(
    rows: Iterable[CandidateRow], stored_outputs: Iterable[tuple[str, str, int, float | None]]
) -> bool:
    """Return whether rows and stored outputs have equal items, texts (in normal form), ranks and scores."""
    stored_rows = {(item, one_text(text), rank, score) for item, text, rank, score in stored_outputs}
    file_outputs = {(row.image, one_text(row.text), row.rank or 1, row.score) for row in rows}
    return file_outputs == stored_rows


@transaction.atomic
def _complete_captions(
    system: System, rows: Iterable[CandidateRow], items: dict[str, int], notes: ImportNotes
) -> ImportSummary:
    """Store the missing captions of a system, of which an import of judgments has stored some.

    Raises:
        DataConflict: the file contradicts the stored captions.
    """
    dataset = Dataset.objects.select_for_update(no_key=True).get(pk=system.dataset_id)
    task = Output.Task.ANNOTATION
    if system.name not in dataset.known_in_part.get(task, ()):
        renumber_ranks(system, task)
    fingerprint = Fingerprint()
    rows_by_item: defaultdict[int, list[CandidateRow]] = defaultdict(list)
    for row in fingerprint.hash_rows(rows):
        rows_by_item[items[row.image]].append(row)
    if not rows_by_item:
        raise DataConflict(f"The file holds no captions; system {system.name!r} was left as it is.")
    # Of equal texts for an image, keep the one with the best rank.
    for item, item_rows in rows_by_item.items():
        best_rows: dict[str, CandidateRow] = {}
        for row in sorted(item_rows, key=attrgetter("rank")):
            best_rows.setdefault(one_text(row.text), row)
        rows_by_item[item] = list(best_rows.values())
    old_lists = stored_lists(task, systems={system.pk}, queries=set(items.values()), partly_known={system.pk})
    for (_, item), old_texts in old_lists.items():
        new_texts = dict(enumerate((one_text(row.text) for row in rows_by_item.get(item, ())), start=1))
        if any(new_texts.get(rank) != text for rank, text in old_texts.items()):
            raise _content_conflict(system, "captions")
    # Take the scores of the stored outputs from the file.
    outputs = list(system.outputs.annotations())
    for output in outputs:
        item_rows = rows_by_item[output.item_id]
        if output.rank <= len(item_rows):
            output.score = item_rows[output.rank - 1].score
    Output.objects.bulk_update(outputs, ["score"], batch_size=KEYS_PER_QUERY)
    _store_outputs(
        system,
        (
            (item, rank, row)
            for item, item_rows in rows_by_item.items()
            for rank, row in enumerate(item_rows, start=1)
            if rank not in old_lists[system.pk, item]
        ),
    )
    system.fingerprint = fingerprint.hexdigest()
    system.save(update_fields=["fingerprint"])
    mark_lists_complete(dataset, system.name, task)
    caption_count = system.outputs.annotations().count()
    return ImportSummary(system.name, True, {"captions": caption_count}, notes.sentences())


def import_rankings(
    *,
    path: Path,
    dataset: str,
    task: str,
    depth: int | None = None,
    encoding: str | None = None,
    user: User | None = None,
    progress: Progress = no_progress,
) -> ImportSummary:
    """Store ranked lists from a TREC run of any number of systems.

    Args:
        task: ``annotation``: each query is an image and captions are ranked; ``search``: each query is a caption
            and images are ranked (Hodosh et al. 2013, section 4).
        depth: length to which lists are cut.
        user: the owner of new systems, which are unpublished; None for a command.

    Raises:
        ObjectNotFound: there is no such dataset.
        ImportProblem: the file cannot be read, or has unknown names.
        DataConflict: a system exists with other lists for this task.
    """
    items = by_name(Item.objects.filter(dataset=find_dataset(dataset)).values_list("name", "pk"))
    captions = by_name(Caption.objects.filter(dataset__name=dataset).values_list("key", "pk"))
    queries, ranked = (items, captions) if task == Output.Task.ANNOTATION else (captions, items)
    notes = ImportNotes()
    runs = read_runs(path, queries=queries, ranked=ranked, encoding=encoding, progress=progress)
    list_count = stored_count = 0
    with _duplicates_as_conflict(str(path), "the same systems"), transaction.atomic():
        # The lock serialises imports that change ``known_in_part`` of the dataset.
        dataset_row = Dataset.objects.select_for_update(no_key=True).get(name=dataset)
        for name, run in sorted(runs.items()):
            rows = run.in_order(depth, notes)
            list_count += sum(rank == 1 for _, _, rank, _ in rows)
            stored_count += _store_run(dataset_row, name, task, rows, user)
            progress(0.9, f"{stored_count:,} ranked items")
        refresh_statistics(Output)
    counts = {"systems": len(runs), "lists": list_count, "ranked items": stored_count}
    return ImportSummary(", ".join(sorted(runs)), stored_count > 0, counts, notes.sentences())


def check_owner(system: System | None, user: User | None) -> None:
    """Raise DataConflict for another person's unpublished system, without revealing its contents."""
    if system is not None and system.private and user is not None and system.owner_id != user.pk:
        raise DataConflict(f"There is a system {system.name!r} already; choose another name.")


def _store_run(dataset: Dataset, name: str, task: str, rows: list[RankedRow], user: User | None) -> int:
    """Store the missing rows of a system's lists. Return their number.

    If some rows are stored already, raise DataConflict unless they agree with the lists.
    """
    is_annotation = task == Output.Task.ANNOTATION
    fingerprint_field = "fingerprint" if is_annotation else "search_fingerprint"
    query_column, item_column = ("item_id", "caption_id") if is_annotation else ("caption_id", "item_id")
    digest = fingerprint_of(rows)
    system = System.objects.filter(dataset=dataset, name=name).first() or System(
        dataset=dataset, name=name, owner=user, private=user is not None
    )
    check_owner(system, user)
    if system.human or name in (HUMAN_SYSTEM, HUMAN_OTHER):
        raise DataConflict(
            f"The run names the system {name!r}, which stands for people's captions; choose another name."
        )
    stored_rows: set[tuple[int, int, int]] = set()  # query, item and rank, the first values of a RankedRow
    if system.pk:
        if getattr(system, fingerprint_field) == digest:
            return 0
        stored_rows = set(system.outputs.filter(task=task).values_list(query_column, item_column, "rank"))
    is_partly_known = name in dataset.known_in_part.get(task, ())
    if stored_rows and (not is_partly_known or not stored_rows <= {row[:3] for row in rows}):
        raise DataConflict(
            f"Dataset {dataset.name!r} has a system {name!r} with other lists for {task}; choose another name."
        )
    setattr(system, fingerprint_field, digest)
    system.save()
    mark_lists_complete(dataset, name, task)
    return insert_rows(
        Output,
        ("system_id", query_column, item_column, "task", "rank", "score"),
        ((system.pk, *row[:2], task, *row[2:]) for row in rows if row[:3] not in stored_rows),
    )


def with_titles(
    *, design: StudyDesign, titles: Iterable[str], progress: Callable[[int], None] = lambda read: None
) -> StudyDesign:
    """Return the design with the ``titles`` that occur in the dataset's texts.

    Raises:
        ObjectNotFound: there is no such dataset.
        DesignError: the protocol uses no titles, or no title occurs in a text. Without titles the page would offer
            frequent phrases, which is another design.
    """
    if "keywords.titles" not in KINDS[design.protocol].specific_keys:
        raise DesignError(
            f"A list of titles was given, but protocol {design.protocol!r} offers none.",
            field="keywords.titles",
        )
    items = Item.objects.filter(dataset=find_dataset(design.dataset)).exclude(text="")
    texts = items.values_list("text", flat=True)
    titles_in_texts = known_titles(
        titles, texts.iterator(TITLES_PER_BATCH), longest=design.keywords.longest, progress=progress
    )
    if not titles_in_texts:
        raise DesignError(
            f"None of the titles stands in a text of dataset {design.dataset!r}; no study was created.",
            field="keywords.titles",
        )
    values = design.model_dump(mode="json")
    values["keywords"]["titles"] = sorted({*design.keywords.titles, *titles_in_texts})
    return make_design(values)
