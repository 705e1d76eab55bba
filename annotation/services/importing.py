"""Judgments that were collected elsewhere, as a study of their own: streamed, all or nothing, harmless to repeat.

Published totals become judgments of anonymous raters; a winner that was published without votes is kept on its
candidate pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.models import Judgment
from annotation.services.imported_rows import JudgmentWriter
from judgments.acting import acting_person
from judgments.design import make_design
from judgments.errors import DataConflict, DesignError
from judgments.importers import ResultColumns, open_judgments
from judgments.importers.records import JudgmentRow
from judgments.kinds import KINDS
from judgments.models import (
    Caption,
    Item,
    Study,
)
from judgments.services.events import note_event
from judgments.services.generation import Progress, no_progress
from judgments.services.importing import ImportSummary
from judgments.services.studies import create_study, find_dataset
from judgments.streams import Fingerprint, batched, fingerprint_of

ROWS_AT_ONCE = 2_000


def import_judgments(
    *,
    format: str,
    path: Path,
    dataset: str,
    study: str,
    protocol: str | None = None,
    encoding: str | None = None,
    columns: ResultColumns | None = None,
    progress: Progress = no_progress,
) -> ImportSummary:
    """A study of judgments from a file.

    Args:
        format: one of ``judgments.importers``' judgment formats.
        study: the slug of the study to make.
        protocol: which judgments of a published set (pascal-50s: triplet or pairwise), or the protocol of a table
            whose rows do not name one.
        columns: which column is what, for files whose columns are not ours (mturk).

    Raises:
        NotThere: no such dataset.
        ImportProblem: the file cannot be read, or names what the dataset does not have.
        DataConflict: there is a study of this name with other judgments.
    """
    found = find_dataset(dataset)
    items = dict(Item.objects.filter(dataset=found).values_list("name", "pk"))
    references = set(
        Caption.objects.filter(dataset=found, role=Caption.Role.REFERENCE).values_list("key", flat=True)
    )
    source = open_judgments(format, path, protocol=protocol, encoding=encoding, columns=columns)
    there = Study.objects.filter(slug=study).first()
    if there is not None:
        digest = fingerprint_of(source.judgments(items), source.winners(items))
        if there.source != Study.Source.IMPORTED or there.fingerprint != digest:
            raise DataConflict(f"There is a study {study!r} with other judgments; choose another name.")
        return ImportSummary(study, False, _counts(there))
    fingerprint = Fingerprint()
    try:
        with transaction.atomic():
            rows = fingerprint.over(source.judgments(items))
            first = next(rows, None)
            chosen = source.protocol or (first.protocol if first else None) or protocol
            if chosen not in KINDS:
                raise DataConflict(
                    f"{path} does not say of which protocol its judgments are; expected one of {', '.join(KINDS)}."
                )
            writer = JudgmentWriter(_new_study(study, dataset, chosen), found, items, references)
            for number, batch in enumerate(batched(_again(first, rows), ROWS_AT_ONCE)):
                writer.add(batch)
                progress(1 - 1 / (number + 2), f"{writer.judgments:,} judgments")
            writer.add_winners(list(fingerprint.over(source.winners(items))))
            writer.finish()
            if not writer.judgments and not writer.pairs:
                raise DataConflict(f"{path} holds no judgments; nothing was imported.")
            Study.objects.filter(pk=writer.study.pk).update(
                fingerprint=fingerprint.hexdigest(),
                simulated=writer.simulated,
                notes={"sentences": source.notes.sentences()},
            )
            words = f"{writer.judgments:,} judgments were imported from a file of the format {format}."
            note_event(study=writer.study, what="imported", words=words, format=format)
    except IntegrityError as error:
        raise DataConflict(
            f"{path} was not imported: it contradicts itself, for example by two answers of one worker on one unit "
            f"({str(error).splitlines()[0]})."
        ) from error
    counts = {**_counts(writer.study), **writer.systems.counts()}
    return ImportSummary(study, True, counts, source.notes.sentences())


def _again(first: JudgmentRow | None, rows: Iterator[JudgmentRow]) -> Iterator[JudgmentRow]:
    if first is not None:
        yield first
        yield from rows


def _counts(study: Study) -> dict[str, int]:
    return {
        "units": study.units.count(),
        "judgments": Judgment.objects.of_study(study).count(),
        "candidate pairs": study.pairs.count(),
        "published winners": study.pairs.exclude(published_winner=None).count(),
    }


def _new_study(slug: str, dataset: str, protocol: str) -> Study:
    """An imported study is closed from the start and applies no control rule of its own."""
    try:
        design = make_design(
            {
                "name": slug,
                "slug": slug,
                "dataset": dataset,
                "protocol": protocol,
                "controls": {"threshold": 0.0},
            }
        )
    except DesignError as error:
        raise DataConflict(f"The study cannot be called {slug!r}: {error}") from None
    study = create_study(design=design, user=acting_person())
    now = timezone.now()
    study.state, study.source = Study.State.CLOSED, Study.Source.IMPORTED
    study.generated_at = study.opened_at = study.closed_at = now
    study.save()
    return study
