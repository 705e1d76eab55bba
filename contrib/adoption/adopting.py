"""Add the captions that workers wrote in a study to its dataset, as references or as outputs of a system."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import WrittenCaption
from common.errors import DataConflict, WrongState
from common.rows.loads import refresh_statistics
from evaluation.data.export.formats.written_captions import CollectedCaption, written_captions
from evaluation.data.export.snapshots import take_snapshot
from evaluation.errors import EvaluationError
from judgments.access.dataset_roles import require_editor
from judgments.access.study_log import note_event
from judgments.datasets.importing.base import ROWS_PER_BATCH
from judgments.datasets.importing.candidates import check_system_name, check_system_owner, store_candidates
from judgments.drawing.keys import content_key
from judgments.kinds import KINDS
from judgments.models import Caption, Dataset, Item, Output, Study, System


@dataclass(frozen=True, slots=True)
class Adoption:
    """The result of an adoption.

    Attributes:
        dataset: the dataset's name.
        system: the system's name, or "" for references.
        added_count: number of captions that were added.
        existing_count: number of captions that had already been adopted.
        writer_count: number of workers who wrote all these captions.
    """

    dataset: str
    system: str
    added_count: int
    existing_count: int
    writer_count: int


@transaction.atomic
def adopt_captions(*, study: Study, system: str = "", by: User | None = None) -> Adoption:
    """Add the included captions to the dataset as references, or as outputs of ``system``.

    A repeated call adds nothing. Outputs can be judged in later studies, but never by their writers. A new system
    belongs to ``by``, the account that adopts the captions, or to the study's creator if a command adopts them.

    Raises:
        EvaluationError: the study does not collect captions.
        WrongState: the study is not closed, was rehearsed, or has no caption; or ``by`` is not an editor.
        DataConflict: ``system`` has other captions, or an invalid name.
    """
    _check_collects_captions(study)
    if by is not None:
        require_editor(by, study.dataset)
    study = Study.objects.select_for_update(no_key=True).select_related("dataset").get(pk=study.pk)
    if study.simulated:
        raise WrongState(
            _("Nothing was added: the captions of study %(slug)r are simulated.") % {"slug": study.slug}
        )
    if study.state != Study.State.CLOSED:
        raise WrongState(
            _(
                "Nothing was added: study %(slug)r is %(state)s. Close it first, so that no more captions arrive."
            )
            % {"slug": study.slug, "state": _(study.state)}
        )
    captions = list(written_captions(study, take_snapshot(study)))
    if not captions:
        raise WrongState(
            _("Nothing was added: study %(slug)r has no caption that results use.") % {"slug": study.slug}
        )
    dataset = Dataset.objects.select_for_update().get(pk=study.dataset_id)
    added_count = (
        _add_outputs(dataset, study, captions, system, by) if system else _add_references(dataset, captions)
    )
    if added_count:
        role = f"outputs of {system}" if system else "references"
        note_event(
            study=study,
            what="captions-adopted",
            sentence=f"{added_count:,} captions became {role} of {dataset.name}.",
            system=system,
        )
        _record_addition(dataset, {"study": study.slug, "system": system, "captions": added_count})
        refresh_statistics(Caption)
    return Adoption(
        dataset=dataset.name,
        system=system,
        added_count=added_count,
        existing_count=len(captions) - added_count,
        writer_count=len({caption.worker_id for caption in captions}),
    )


def _check_collects_captions(study: Study) -> None:
    if not KINDS[study.protocol].writes_captions:
        raise EvaluationError(
            f"Study {study.slug!r} is {study.protocol}; captions are written in studies of protocol caption alone."
        )


def _add_references(dataset: Dataset, captions: list[CollectedCaption]) -> int:
    """Store the captions as references, after the other references of their items.

    Return how many were not adopted before.
    """
    # The keys of written captions begin with "w-".
    adopted_keys = set(
        Caption.objects.filter(dataset=dataset, key__startswith="w-").values_list("key", flat=True)
    )
    new_captions = [caption for caption in captions if caption.key not in adopted_keys]
    items = Item.objects.filter(dataset=dataset).annotate(last=Max("references__position"))
    last_positions = {
        item: -1 if position is None else position for item, position in items.values_list("pk", "last")
    }
    references = []
    for caption in new_captions:
        last_positions[caption.item_id] += 1
        references.append(
            Caption(
                dataset=dataset,
                item_id=caption.item_id,
                key=caption.key,
                text=caption.text,
                role=Caption.Role.REFERENCE,
                position=last_positions[caption.item_id],
            )
        )
    new_rows = Caption.objects.bulk_create(references, batch_size=ROWS_PER_BATCH)
    caption_ids = {caption.judgment_id: row.pk for caption, row in zip(new_captions, new_rows, strict=True)}
    _store_writers(caption_ids, new_captions)
    return len(new_captions)


def _add_outputs(
    dataset: Dataset, study: Study, captions: list[CollectedCaption], name: str, by: User | None
) -> int:
    """Store the captions as ranked outputs of the system. Return how many were not adopted before.

    Equal texts share a caption. Raise DataConflict if the system's name is invalid, or if the system has captions
    from elsewhere.
    """
    check_system_name(name)
    fingerprint = f"adopted:{content_key(study.slug)}"  # says where the system's captions come from
    owner = by or study.created_by  # a private system must have an owner
    system, is_new = System.objects.get_or_create(
        dataset=dataset,
        name=name,
        defaults={"fingerprint": fingerprint, "owner": owner, "private": owner is not None},
    )
    if not is_new:
        check_system_owner(system, by)
    if system.fingerprint != fingerprint:
        raise DataConflict(
            f"Dataset {dataset.name!r} has a system {name!r} with captions from elsewhere; choose another name."
        )
    caption_ids = store_candidates(dataset, {caption.text for caption in captions})
    outputs = Output.objects.annotations().filter(system=system)  # without results of image search
    stored_outputs = set(outputs.values_list("item_id", "caption_id"))
    # Ranks are 1, 2, ... for each item. Up to 0.5.0 they began with 0, so a list that is continued skips one rank.
    last_ranks = Counter(outputs.values_list("item_id", flat=True))
    new_outputs = []
    for caption in captions:
        item_id, caption_id = caption.item_id, caption_ids[caption.text]
        if (item_id, caption_id) not in stored_outputs:
            stored_outputs.add((item_id, caption_id))
            last_ranks[item_id] += 1
            new_outputs.append(
                Output(system=system, item_id=item_id, caption_id=caption_id, rank=last_ranks[item_id])
            )
    Output.objects.bulk_create(new_outputs, batch_size=ROWS_PER_BATCH)
    # Captions are counted by their judgments, since several people may have written the same text.
    written_rows = WrittenCaption.objects.filter(caption__in=set(caption_ids.values()))
    adopted_ids = set(written_rows.values_list("judgment_id", "caption_id"))
    new_captions = [
        caption for caption in captions if (caption.judgment_id, caption_ids[caption.text]) not in adopted_ids
    ]
    _store_writers({caption.judgment_id: caption_ids[caption.text] for caption in new_captions}, new_captions)
    return len(new_captions)


def _store_writers(caption_ids: dict[int, int], captions: list[CollectedCaption]) -> None:
    """Store who wrote each caption. ``caption_ids`` has the caption's row id by the id of its judgment."""
    WrittenCaption.objects.bulk_create(
        (
            WrittenCaption(
                caption_id=caption_ids[caption.judgment_id],
                worker_id=caption.worker_id,
                judgment_id=caption.judgment_id,
            )
            for caption in captions
        ),
        batch_size=ROWS_PER_BATCH,
    )


def _record_addition(dataset: Dataset, addition: dict[str, Any]) -> None:
    """Record the addition in the dataset's notes, since its fingerprint covers only imported rows."""
    additions = [
        *dataset.notes.get("adopted", []),
        {**addition, "at": timezone.now().isoformat(timespec="seconds")},
    ]
    dataset.notes = {**dataset.notes, "adopted": additions}
    dataset.save(update_fields=["notes"])
