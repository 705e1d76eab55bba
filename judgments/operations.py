"""Operations on a study. Each is declared once for page, HTTP call, command and client.

An operation is a function that calls a service and returns a sentence about what was done. ``@operation`` declares its
parameters, the right that it needs, and further actions that follow::

    @operation("pause", "Pause the study", parameters=Reason, follow_up=ASK_THE_CROWD)
    def pause(*, study: Study, by: User | None, why: str) -> Outcome:
        '''Stop giving out pages of work. Workers with a page in progress may finish it.'''
        pause_study(study=study, why=why, by=by)
        return Outcome("The study is paused.")

docs/adding-an-operation.md has the steps.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar, Unpack

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils.translation import gettext

from common.errors import ObjectNotFound, WrongState
from common.parameters import Parameters
from judgments.access.rights import Right
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study

Row = TypeVar("Row", bound=Model)

_operation_by_job_kind: dict[str, Operation] = {}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an operation.

    Attributes:
        message: a sentence for the page and the command.
        value: the answer of the HTTP call, unless this is the study.
        is_pending: whether another person must confirm the operation first; ``value`` is then the spending request.
    """

    message: str
    value: Any = None
    is_pending: bool = False


class CommandHelp(NamedTuple):
    """The ``--help`` text of a command that only does an operation. ``example`` does not include the command's name."""

    text: str
    example: str


@dataclass(frozen=True, slots=True)
class FollowUp:
    """An action after a committed operation. ``carry_out`` does it and returns a message; ``enqueue`` starts a job."""

    carry_out: Callable[[Study], str]
    enqueue: Callable[[Study, User | None], object]


@dataclass(frozen=True, slots=True)
class Operation:
    """An action on a study.

    Attributes:
        name: the last part of the operation's HTTP address, and of its schema id ``studies_<name>``.
        right: the right that a person needs in the study.
        scope: the scope that a token needs.
        do: the function that does the operation. Its arguments are ``study``, ``by`` (None for a command) and the
            parameters by name. None if only a job does the operation.
        row: the argument of ``do`` that is the key of one of the study's rows, from an address or a hidden field;
            "" if the operation is about the whole study.
        job: the kind of job that does the operation for pages and HTTP calls, or "". The job gets ``study`` (its slug)
            and the parameters. A command calls ``do`` instead, with ``progress``.
        check: a function that raises an error before a job starts if the operation is not possible.
        prepare: like ``check``, but gets the parameters by name and returns the arguments of the job.
        once: whether a second job is refused while the operation's job for the study is queued or runs: "always",
            "never", or "page", which lets HTTP calls start a job with other arguments. A command needs no job; it is
            refused only while a job runs, and with "never" not even then.
        preview: a function that returns the cost, and a word by which ``do`` recognises, in its argument ``confirm``,
            that the person saw this cost.
        is_order: whether the operation may cost so much that another person must confirm it.
        command: the help of the operation's command if it is made from this declaration; its name is in
            ``quorum/subcommands.py``.
    """

    name: str
    summary: str
    description: str
    parameters: type[Parameters] = Parameters
    right: Right = Right.CHANGE
    scope: str = "studies"
    do: Callable[..., Outcome] | None = None
    follow_up: FollowUp | None = None
    row: str = ""
    job: str = ""
    check: Callable[[Study], None] | None = None
    prepare: Callable[..., Mapping[str, Any]] | None = None
    once: Literal["page", "always", "never"] = "page"
    preview: Callable[..., Any] | None = None
    is_order: bool = False
    command: CommandHelp | None = None

    def __post_init__(self) -> None:
        if self.job:
            _operation_by_job_kind[self.job] = self

    def read(self, body: Any, *, needed: Collection[str] = (), row: str | None = None) -> dict[str, Any]:
        """Return the checked parameters of a parsed JSON body, or of a form as a QueryDict.

        Args:
            needed: optional parameters that this caller requires.
            row: the key of the row; None if it is in the body, as in a form.

        Raises:
            rest_framework.exceptions.ValidationError: a parameter is missing or wrong.
        """
        # if there are no parameters, the body is not parsed
        values = self.parameters.read(body, needed=needed) if self.parameters().fields else {}
        if self.row:
            values[self.row] = body.get(self.row, "") if row is None else row
        return values

    def run(
        self,
        study: Study,
        values: Mapping[str, Any],
        *,
        by: User | None,
        wait: bool = True,
        **further_arguments: Any,
    ) -> Outcome:
        """Carry out the operation and its follow-up.

        Args:
            values: the parameters, as ``read`` returns them.
            wait: whether to wait for the follow-up; otherwise start a job for it.
            further_arguments: arguments of ``do`` that are not parameters, such as ``progress``.
        """
        assert self.do is not None
        outcome = self.do(study=study, by=by, **values, **further_arguments)
        if self.follow_up is None or outcome.is_pending:
            return outcome
        if not wait:
            self.follow_up.enqueue(study, by)
            return outcome
        follow_up_message = self.follow_up.carry_out(study)
        return Outcome(f"{outcome.message} {follow_up_message}".rstrip(), outcome.value)

    def start(self, study: Study, values: Mapping[str, Any], *, by: User | None, page: bool = False) -> Job:
        """Start the operation's job, for a page if ``page`` is set, or else for an HTTP call.

        Raises:
            WrongState: the job is queued or running already, as far as ``once`` excludes this.
        """
        if self.check is not None:
            self.check(study)
        if self.prepare is not None:
            values = self.prepare(study=study, **values)
        args = {"study": study.slug, **values}
        with transaction.atomic():
            # lock the study, so that a simultaneous start finds the job of the first one
            locked_study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            if self.check is not None and locked_study.state != study.state:  # changed after the first check
                self.check(locked_study)
            if self.once != "never":
                unfinished_jobs = Job.objects.under_way()
                may_repeat_with_other_args = self.once == "page" and not page
                if may_repeat_with_other_args:
                    unfinished_jobs = unfinished_jobs.filter(args=args)
                self.refuse_second(study, unfinished_jobs)
            return enqueue(kind=self.job, args=args, user=by)

    def refuse_second(self, study: Study, jobs: QuerySet[Job]) -> None:
        """Raise WrongState if one of the jobs does this operation on the study."""
        if jobs.filter(kind=self.job, args__study=study.slug).exists():
            raise WrongState(
                gettext("The same job is already running for study %(slug)r.") % {"slug": study.slug}
            )


def operation_of(kind: str) -> Operation | None:
    """Return the operation that a kind of job does; None if the job belongs to no operation."""
    return _operation_by_job_kind.get(kind)


def find_row(rows: QuerySet[Row], key: str) -> Row:
    """Return the row with this key. Raise ObjectNotFound if there is none."""
    try:
        row = rows.filter(pk=key).first()
    except (ValueError, ValidationError):  # the key is not a number, or not a UUID
        row = None
    if row is None:
        raise ObjectNotFound(
            gettext("Nothing was changed: there is no such %(verbose_name)s in this study.")
            % {"verbose_name": rows.model._meta.verbose_name}
        )
    return row


class OperationOptions(TypedDict, total=False):
    """The fields of an ``Operation`` that a decorator can set."""

    parameters: type[Parameters]
    right: Right
    scope: str
    follow_up: FollowUp | None
    row: str
    job: str
    check: Callable[[Study], None] | None
    once: Literal["page", "always", "never"]
    preview: Callable[..., Any] | None
    is_order: bool
    command: CommandHelp | None


def operation(
    name: str, summary: str, **fields: Unpack[OperationOptions]
) -> Callable[[Callable[..., Outcome]], Operation]:
    """Declare a function as an operation on a study. Its docstring becomes the operation's description."""

    def declare(do: Callable[..., Outcome]) -> Operation:
        return Operation(name, summary, inspect.getdoc(do) or "", do=do, **fields)

    return declare


def background_operation(
    name: str, summary: str, **fields: Unpack[OperationOptions]
) -> Callable[[Callable[..., Mapping[str, Any]]], Operation]:
    """Declare an operation that a job does. The function checks the study, and returns the job's arguments.

    Unless ``fields`` say otherwise, such operations compute results: who may view the study may start them.
    """
    defaults: OperationOptions = {"right": Right.VIEW, "scope": "reports"}

    def declare(prepare: Callable[..., Mapping[str, Any]]) -> Operation:
        description = inspect.getdoc(prepare) or ""
        return Operation(name, summary, description, prepare=prepare, **(defaults | fields))

    return declare
