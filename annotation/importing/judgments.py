"""Import a file of judgments, or report what an import would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone, translation
from django.utils.functional import SimpleLazyObject

from annotation.crowds.people import worker_name
from annotation.importing.rows import JudgmentWriter
from annotation.models import Judgment
from common.amounts import counted
from common.audit import acting_person
from common.errors import DataConflict, DesignError
from common.rows import Fingerprint, batched, fingerprint_of, large_cache, many_objects
from judgments.datasets.importing import ImportSummary, remember_mapping
from judgments.design.reading import make_design
from judgments.importers import ColumnMapping, JudgmentSource, open_judgments
from judgments.importers.judgment_tables import BadRows
from judgments.importers.mapping import MappedJudgments
from judgments.importers.records import by_name
from judgments.kinds import KINDS
from judgments.models import Caption, Dataset, Item, Output, Study
from judgments.studies.generation import Progress, no_progress
from judgments.studies.log import note_event
from judgments.studies.studies import create_study, find_dataset

MOST_VALUES_LISTED = 12
REPORT_EVERY = 2_000
ROWS_AT_ONCE = 2_000


@dataclass(slots=True)
class FileContent:
    """Counts of a file's rows; units and workers are kept as hashes."""

    path: Path
    protocols: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    units: set[int] = field(default_factory=set)
    workers: set[int] = field(default_factory=set)
    anonymous: bool = False
    judgments: int = 0
    controls: int = 0
    expected: int = 0
    unused: int = 0
    example: str = ""
    notes: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        shares = ", ".join(f"{value}: {n:,}" for value, n in sorted(self.values.items())[:MOST_VALUES_LISTED])
        more = len(self.values) - MOST_VALUES_LISTED
        return [
            f"{self.path}: {counted(self.judgments, 'judgment')} on {counted(len(self.units), 'unit')} by "
            f"{'anonymous people' if self.anonymous else counted(len(self.workers), 'worker')} "
            f"({', '.join(self.protocols)}).",
            f"  values: {shares}{f' and {more:,} others' if more > 0 else ''}",
            f"  {self.controls:,} on control items, {self.expected:,} of them with a right answer; "
            f"{self.unused:,} are not to be used",
            f"  the first: {self.example}",
            *(f"  {note}" for note in self.notes),
            "Nothing was stored (--dry-run).",
        ]


@translation.override("en")
def inspect_judgments(
    *,
    format: str,
    path: Path,
    dataset: str,
    protocol: str | None = None,
    encoding: str | None = None,
    mapping: ColumnMapping | None = None,
    bad_rows: Path | None = None,
    progress: Progress = no_progress,
) -> FileContent:
    """Read a file as ``import_judgments`` would, and report its content."""
    material = find_dataset(dataset)
    items = by_name(Item.objects.filter(dataset=material).values_list("name", "pk"))
    source = _opened(material, format, path, protocol, encoding, mapping)
    left_out = BadRows(source, bad_rows) if bad_rows is not None else None
    content = FileContent(path)
    for row in source.judgments(items, _captions_of(material)):
        content.judgments += 1
        content.protocols[row.protocol or source.protocol or "no protocol"] += 1
        content.values["open answer" if row.value is None else f"{row.value:>3}"] += 1
        content.units.add(hash(row.unit))
        content.workers.add(hash(row.worker))
        content.anonymous = content.anonymous or row.anonymous
        content.controls += row.control
        content.expected += row.expected is not None
        content.unused += not row.used
        if not content.example:
            answer = row.answer if row.value is None else row.value
            content.example = (
                f"unit {row.unit}, image {row.image}, worker {row.worker}, answer {str(answer)[:80]}"
            )
        if content.judgments % REPORT_EVERY == 0:
            progress(
                1 - REPORT_EVERY / (content.judgments + REPORT_EVERY), counted(content.judgments, "judgment")
            )
    if left_out is not None:
        left_out.write()
    content.notes = source.notes.sentences()
    return content


@translation.override("en")
def import_judgments(
    *,
    format: str,
    path: Path,
    dataset: str,
    study: str,
    protocol: str | None = None,
    encoding: str | None = None,
    mapping: ColumnMapping | None = None,
    bad_rows: Path | None = None,
    design: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> ImportSummary:
    """Import a file of judgments as a new study; the same file again changes nothing.

    Args:
        protocol: the part of a published set (pascal-50s: triplet or pairwise), or the protocol of a table whose rows
        do not name one.
        mapping: of foreign columns.
        bad_rows: a file for the rows that are refused; the others are imported. Without it, nothing is.
        design: keys of a study file for the new study, such as the weights of marked errors.
    """
    material = find_dataset(dataset)
    items = by_name(Item.objects.filter(dataset=material).values_list("name", "pk"))
    references = set(
        Caption.objects.filter(dataset=material, role=Caption.Role.REFERENCE).values_list("key", flat=True)
    )
    source = _opened(material, format, path, protocol, encoding, mapping)
    left_out = BadRows(source, bad_rows) if bad_rows is not None else None
    existing = Study.objects.filter(slug=study).first()
    if existing is not None:
        user = acting_person()
        if user is not None and not Study.objects.visible_to(user).filter(pk=existing.pk).exists():
            raise DataConflict(f"There is a study {study!r} already; choose another name.")
        digest = fingerprint_of(source.judgments(items, _captions_of(material)), source.winners(items))
        if existing.source != Study.Source.IMPORTED or existing.fingerprint != digest:
            raise DataConflict(f"There is a study {study!r} with other judgments; choose another name.")
        return ImportSummary(study, False, _count_rows(existing))
    fingerprint = Fingerprint()
    try:
        with many_objects(), large_cache(), transaction.atomic():
            rows = fingerprint.over(source.judgments(items, _captions_of(material)))
            first = next(rows, None)
            chosen = source.protocol or (first.protocol if first else None) or protocol
            if chosen not in KINDS:
                raise DataConflict(
                    f"{path} does not say of which protocol its judgments are; expected one of {', '.join(KINDS)}."
                )
            writer = JudgmentWriter(
                _create_imported_study(study, dataset, chosen, design or {}), material, items, references
            )
            for number, batch in enumerate(
                batched(chain(() if first is None else (first,), rows), ROWS_AT_ONCE)
            ):
                writer.add(batch)
                progress(1 - 1 / (number + 2), counted(writer.judgments, "judgment"))
            writer.add_winners(list(fingerprint.over(source.winners(items))))
            writer.finish()
            for table, values in writer.kind.tables_of_setting(source.setting).items():
                writer.study.design[table] = {**writer.study.design.get(table, {}), **values}
            if not writer.judgments and not writer.pairs.ids:
                raise DataConflict(f"{path} holds no judgments; nothing was imported.")
            Study.objects.filter(pk=writer.study.pk).update(
                design=writer.study.design,
                fingerprint=fingerprint.hexdigest(),
                simulated=writer.simulated,
                notes={"sentences": source.notes.sentences()},
            )
            remember_mapping(material, "import_judgments", mapping)
            sentence = f"{counted(writer.judgments, 'judgment')} came from a file of the format {format}."
            note_event(study=writer.study, what="imported", sentence=sentence, format=format)
    except IntegrityError as error:
        raise DataConflict(
            f"{path} was not imported: it contradicts itself, for example by two answers of one worker on one unit "
            f"({str(error).splitlines()[0]})."
        ) from error
    if left_out is not None:
        left_out.write()
    counts = {**_count_rows(writer.study), **writer.systems.counts()}
    return ImportSummary(study, True, counts, source.notes.sentences())


def _opened(
    dataset: Dataset,
    format: str,
    path: Path,
    protocol: str | None,
    encoding: str | None,
    mapping: ColumnMapping | None,
) -> JudgmentSource:
    source = open_judgments(
        format, path, protocol=protocol, encoding=encoding, mapping=mapping, worker_name=worker_name
    )
    if isinstance(source, MappedJudgments):
        texts = cache(partial(_texts_of, dataset))
        source.text_of = lambda system, image: texts(system).get(image)
    return source


def _texts_of(dataset: Dataset, system: str) -> dict[str, str]:
    """Return what a system wrote of each item; its first text counts."""
    rows = Output.objects.annotations().filter(system__dataset=dataset, system__name=system)
    return dict(rows.order_by("-rank").values_list("item__name", "caption__text"))


def _captions_of(dataset: Dataset) -> Any:
    """Return id -> text, read when it is first needed: most files hold the texts themselves."""
    rows = Caption.objects.filter(dataset=dataset)
    return SimpleLazyObject(lambda: dict(rows.values_list("key", "text")))


def _count_rows(study: Study) -> dict[str, int]:
    return {
        "units": study.units.count(),
        "judgments": Judgment.objects.of_study(study).count(),
        "candidate pairs": study.pairs.count(),
        "published winners": study.pairs.exclude(published_winner=None).count(),
    }


def _create_imported_study(slug: str, dataset: str, protocol: str, keys: Mapping[str, Any]) -> Study:
    required = {"slug": slug, "dataset": dataset, "protocol": protocol}
    try:
        design = make_design({"name": slug, "controls": {"threshold": 0.0}, **keys, **required})
    except DesignError as error:
        if keys:
            raise
        raise DataConflict(f"The study cannot be called {slug!r}: {error}") from None
    study = create_study(design=design, user=acting_person())
    now = timezone.now()
    study.state, study.source = Study.State.CLOSED, Study.Source.IMPORTED
    study.generated_at = study.opened_at = study.closed_at = now
    study.save()
    return study
