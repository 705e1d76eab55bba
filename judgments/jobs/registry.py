"""The registers of job kinds, with their handlers and queues, and of periodic functions. Apps fill them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.utils.functional import Promise

# of short jobs, of imports of files, of calls to crowds, and of long jobs
INTERACTIVE, READING, CROWD, HEAVY = QUEUES = ("interactive", "reading", "crowd", "heavy")

job_kinds: dict[str, JobKind] = {}  # those that run
# also those of features that are off, of which old jobs are still listed
_known_kinds: dict[str, JobKind] = {}
_periodic_tasks: list[PeriodicTask] = []


class UnknownJobKind(Exception):
    """No app of this installation or version registers the kind of job."""


def task_name(work: str) -> str:
    """Return the name of the Celery task for a kind of job or for a function."""
    return f"quorum.{work}"


@dataclass(frozen=True)
class JobKind:
    """A kind of job.

    Attributes:
        handler: the dotted path of `handler(run, **args) -> dict | None`, which returns the job's result.
        queue: one of ``QUEUES``.
        title: what pages call a job of the kind; "" for the kind's name in words.
        scope: the scope that a token needs, with the verb "read", to see the kind's results.
        result_labels: labels of entries of the result, if they are not just their names in words.
        percent_entries: entries of the result that pages show in percent.
        is_essential: whether other work depends on the job. It then cannot be cancelled and is exempt from limits.
        is_automatic: whether jobs start while a page is open, so that pages do not list them.
        creates_study: whether the argument "study" is the slug of the study that the job creates.
        upload_page: the URL name of the page to upload the job's file again; "" for the page that adds a dataset.
    """

    handler: str
    queue: str
    title: str | Promise = ""
    scope: str = "studies"
    result_labels: Mapping[str, str | Promise] = field(default_factory=dict)
    percent_entries: frozenset[str] = frozenset()
    is_essential: bool = False
    is_automatic: bool = False
    creates_study: bool = False
    upload_page: str = ""


UNKNOWN_KIND = JobKind(handler="", queue="")


@dataclass(frozen=True)
class PeriodicTask:
    """A periodic task: Celery beat queues it every ``every()`` seconds, and a worker calls its function.

    ``function`` is the dotted path of the function.
    """

    function: str
    every: Callable[[], float]
    queue: str

    @property
    def task_name(self) -> str:
        return task_name(self.function.rpartition(".")[2])


def register(kinds: Mapping[str, JobKind], *, is_on: bool = True) -> None:
    """Register kinds of jobs by name. Jobs of a feature that is off are described, but do not run.

    Raises:
        ValueError: a kind is registered with another handler.
    """
    for name, kind in kinds.items():
        first_kind = _known_kinds.setdefault(name, kind)
        if first_kind.handler != kind.handler:
            raise ValueError(
                f"Job kind {name!r} is registered twice: {first_kind.handler} and {kind.handler}."
            )
        if is_on:
            job_kinds[name] = kind


def schedule(function: str, *, every: Callable[[], float], queue: str = INTERACTIVE) -> None:
    """Register a function, by its dotted path, to be called every ``every()`` seconds."""
    _periodic_tasks.append(PeriodicTask(function, every, queue))


def periodic_tasks() -> tuple[PeriodicTask, ...]:
    return tuple(_periodic_tasks)


def known_kind(kind: str) -> JobKind:
    """Return a kind, even if its feature is off; UNKNOWN_KIND, without a title, if no app declares it."""
    return _known_kinds.get(kind, UNKNOWN_KIND)


def automatic_kinds() -> list[str]:
    """Return the names of automatic kinds, even of features that are off, as such a job may still be queued."""
    return [name for name, kind in _known_kinds.items() if kind.is_automatic]


def study_creating_kinds() -> list[str]:
    """Return the names of the kinds that create a study, even of features that are off."""
    return [name for name, kind in _known_kinds.items() if kind.creates_study]


def scope_of_kind(kind: str) -> str:
    return job_kinds.get(kind, UNKNOWN_KIND).scope


def upload_page_of(kind: str) -> str:
    return job_kinds.get(kind, UNKNOWN_KIND).upload_page or "admin:judgments_dataset_add"


def is_essential_kind(kind: str) -> bool:
    return job_kinds.get(kind, UNKNOWN_KIND).is_essential
