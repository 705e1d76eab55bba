"""Erase a person from a study, while published data stay verifiable (docs/privacy.md).

The person's rows are assigned to a substitute worker with a random name, and everything that identifies the person
is deleted. Rows about money get another substitute, so that they cannot be linked to the answers. All of this is
one transaction, which adds a record to the chain of erasures and queues a job that removes files afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Assignment, Erasure, Judgment, Worker
from annotation.privacy.erasure_chain import append_erasure, transaction_on_chain
from annotation.privacy.people import cannot_be_erased_now, erasure_mark_of, why_not_erasable
from annotation.privacy.receipts import commitment_to, new_receipt
from annotation.privacy.replacement import replace_people
from common.errors import ServiceBusy, WrongState
from judgments.access.study_log import note_event
from judgments.jobs.queues import enqueue
from judgments.kinds import installed_kind
from judgments.models import Job, Study

Way = Erasure.Extent
FINISH_JOB = "finish_erasure"  # the kind of the job that removes files


@dataclass(frozen=True, slots=True)
class ErasureResult:
    """The result of an erasure.

    Attributes:
        erasure: the record of the erasure.
        receipt: proves which rows of releases came from the person; it is not stored.
        job: the job that removes files.
        was_erased_before: whether nothing was left to erase.
        names: the person's new random name, by the name that they had.
    """

    erasure: Erasure
    receipt: str = ""
    job: Job | None = None
    was_erased_before: bool = False
    names: Mapping[str, str] = field(default_factory=dict)


@transaction_on_chain()
def erase_person(
    *,
    study: Study,
    worker: Worker,
    way: str = Way.IDENTITY,
    withdraw: bool = False,
    by: User | None = None,
    asked_at: datetime | None = None,
    listed_row: Mapping[str, Any] | None = None,
    with_texts: bool = True,
) -> ErasureResult:
    """Erase a person from a study permanently. Raise WrongState if something must be done first.

    Args:
        way: whether the person's judgments are kept under a random name, or erased as well.
        withdraw: whether the files of releases are deleted on this server; their rows and hashes are kept.
        asked_at: when the person asked for it; None if they did not.
        listed_row: a row of ``erasure_list``, to repeat its erasure after a backup was restored.
        with_texts: whether answers that are texts, and comments, are erased as well. It is false only to repeat a
            removal by ``end_identities``, which keeps them, after a backup was restored.
    """
    locked_workers = _lock_workers(study, [worker])
    if not locked_workers:
        raise ServiceBusy(_("Nothing was changed: somebody else erased the participant at the same moment."))
    [worker] = locked_workers
    refusal = why_not_erasable(study, worker)
    if refusal:
        raise WrongState(_("Nothing was changed. %(why)s") % {"why": refusal})
    # repeating an erasure, or a removal by ``end_identities``, gives no receipt
    receipt = new_receipt() if with_texts and listed_row is None else ""
    commitments = _commitments_to_judgments(study=study, worker=worker, receipt=receipt) if receipt else []
    name, mark = worker.name, erasure_mark_of(worker)  # mark: a keyed hash, to recognise the worker later
    removed_counts, replacements = replace_people([worker], study, way, with_texts=with_texts)
    content = {
        "asked_at": asked_at and asked_at.isoformat(),
        "removed": {table: count for table, count in removed_counts.items() if count},
        "commitments": commitments,
        "releases": _list_releases(study),
        "withdrawn": withdraw,
    }
    erasure = append_erasure(study=study, row=listed_row or {"mark": mark, "way": way, "content": content})
    if way == Way.ALL:
        sentence = "A person was erased, with all their judgments."
    else:
        sentence = "A person was erased; their judgments stay under a random name."
    note_event(
        study=study,
        what="erased",
        sentence=sentence,
        by=by,
        way=way,
        digest=erasure.digest,
        removed=dict(removed_counts),
    )
    job = enqueue(kind=FINISH_JOB, args={"study": study.slug, "withdraw": withdraw}, user=by)
    return ErasureResult(erasure, receipt, job, names={name: replacements[name]})


@transaction.atomic
def end_identities(*, study: Study, workers: Collection[Worker]) -> int:
    """Remove the names of people at the promised time, but keep texts and judgments. Return the number of people.

    People who cannot be erased now are left out; if the study is not closed, all of them.
    """
    ids = {worker.pk for worker in _lock_workers(study, workers)}
    people = list(Worker.objects.filter(pk__in=ids).exclude(cannot_be_erased_now(study)).order_by("pk"))
    if not people or not Study.objects.filter(pk=study.pk, state=Study.State.CLOSED).exists():
        return 0
    marks = [erasure_mark_of(worker) for worker in people]
    replace_people(people, study, Way.IDENTITY, with_texts=False)
    for mark in marks:  # "retention" tells these removals, which keep texts, from erasures
        content = {"retention": True, "removed": {}, "commitments": [], "releases": _list_releases(study)}
        append_erasure(study=study, row={"mark": mark, "way": Way.IDENTITY, "content": content})
    enqueue(kind=FINISH_JOB, args={"study": study.slug, "withdraw": False})
    return len(people)


def _lock_workers(study: Study, workers: Collection[Worker]) -> list[Worker]:
    """Lock the study, the workers and their assignments. Return those of the workers that still exist."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    ids = [worker.pk for worker in workers]
    # wait for a simultaneous submission, for which the worker must be paid first
    work = Assignment.objects.filter(study=study, worker__in=ids)
    list(work.select_for_update().order_by("pk").values_list("pk"))
    return list(Worker.objects.select_for_update().filter(pk__in=ids).order_by("pk"))


def _list_releases(study: Study) -> list[dict[str, Any]]:
    return [dict(row) for row in study.releases.order_by("pk").values("version", "sha256")]


def _commitments_to_judgments(*, study: Study, worker: Worker, receipt: str) -> list[str]:
    """Return the sorted commitments (keyed hashes, see ``receipts``) to the latest revisions of a worker's answers."""
    return sorted(commitment_to(receipt, row) for row in _released_rows(study, worker))


def _released_rows(study: Study, worker: Worker) -> Iterable[dict[str, Any]]:
    """Yield the fields of a worker's judgments that ``commitment_to`` reads, with their values in a release."""
    kind = installed_kind(study.protocol)
    judgments = Judgment.objects.of_study(study).filter(assignment__worker=worker, replaced_by=None)
    names = ("unit__key", "unit__content", "value", "answer", "assignment__submitted_at")
    for key, content, value, answer, submitted_at in judgments.values_list(*names).iterator():
        yield {
            "unit": key,
            "value": value,
            "answer": None if answer is None else kind.exchange.to_file(answer, content=content),
            # to the minute, as in releases
            "submitted_at": submitted_at and f"{submitted_at:%Y-%m-%dT%H:%M}:00Z",
        }
