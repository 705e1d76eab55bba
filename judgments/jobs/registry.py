"""The registers of job kinds, with their handlers and queues, and of periodic functions. Apps fill them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# of short jobs, of imports of files, of calls to crowds, and of long jobs
INTERACTIVE, READING, CROWD, HEAVY = QUEUES = ("interactive", "reading", "crowd", "heavy")

job_kinds: dict[str, JobKind] = {}
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
        scope: the scope that a token needs, with the verb "read", to see the kind's results.
        is_essential: whether other work depends on the job. It then cannot be cancelled and is exempt from limits.
        upload_page: the URL name of the page to upload the job's file again; "" for the page that adds a dataset.
    """

    handler: str
    queue: str
    scope: str
    is_essential: bool = False
    upload_page: str = ""


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


def register(
    kind: str,
    handler: str,
    *,
    queue: str,
    scope: str = "studies",
    is_essential: bool = False,
    upload_page: str = "",
) -> None:
    """Register a kind of job. The arguments are the fields of a ``JobKind``.

    Raises:
        ValueError: the kind is registered with another handler.
    """
    new_kind = JobKind(
        handler=handler, queue=queue, scope=scope, is_essential=is_essential, upload_page=upload_page
    )
    job_kind = job_kinds.setdefault(kind, new_kind)
    if job_kind.handler != handler:
        raise ValueError(f"Job kind {kind!r} is registered twice: {job_kind.handler} and {handler}.")


def registered_job_kinds() -> dict[str, JobKind]:
    return dict(job_kinds)


def schedule(function: str, *, every: Callable[[], float], queue: str = INTERACTIVE) -> None:
    """Register a function, by its dotted path, to be called every ``every()`` seconds."""
    _periodic_tasks.append(PeriodicTask(function, every, queue))


def periodic_tasks() -> tuple[PeriodicTask, ...]:
    return tuple(_periodic_tasks)


def scope_of_kind(kind: str) -> str:
    return job_kinds[kind].scope if kind in job_kinds else "studies"


def upload_page_of(kind: str) -> str:
    job_kind = job_kinds.get(kind)
    return (job_kind and job_kind.upload_page) or "admin:judgments_dataset_add"


def is_essential_kind(kind: str) -> bool:
    return kind in job_kinds and job_kinds[kind].is_essential
