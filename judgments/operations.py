"""Operations on a study. Each is declared once for page, HTTP call, command and client.

An operation is a function that calls a service and returns a sentence about what was done. ``@operation`` declares its
parameters, the right that it needs, and further actions that follow::

    @operation("pause", "Pause the study", parameters=Reason, follow_up=ASK_THE_CROWD)
    def pause(*, study: Study, by: User | None, why: str) -> Outcome:
        '''Stop giving out pages of work. Workers with a page in progress may finish it.'''
        pause_study(study=study, why=why, by=by)
        return Outcome("The study is paused.")

docs/decisions/0010-operations.md says how to add an operation.
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
from django.utils.translation import gettext, ngettext
from rest_framework import serializers
from rest_framework.utils.html import is_html_input

from common.amounts import thousands
from common.errors import ObjectNotFound, WrongState
from common.parameters import Parameters, RowId
from judgments.access.rights import Right
from judgments.access.roles import find_person, give_role, revoke_role
from judgments.cached_figures import has_many_rows
from judgments.design import saved_presets
from judgments.jobs.queues import enqueue
from judgments.models import Job, Study, StudyRole
from judgments.studies.designs import design_of
from judgments.studies.discarding import discard_hits
from judgments.studies.generation.hand_changes import change_by_hand
from judgments.studies.generation.hits import already_generated_error, generate_hits
from judgments.studies.generation.plans import plan_study
from judgments.studies.generation.progress import Progress
from judgments.studies.studies import duplicate_study

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
    """An action after a committed operation. ``carry_out`` does it and waits; ``enqueue`` starts a job, for pages."""

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
        once: which callers are refused while the operation's job for the study is queued or runs. With ``page``, HTTP
            calls are refused only while a job with the same arguments is queued or runs. Commands are refused while
            the job runs, except with ``never``.
        preview: a function that returns the cost, and a word by which ``do`` recognises, in its argument ``confirm``,
            that the person saw this cost.
        is_order: whether the operation may cost so much that another person must confirm it.
        command: the help of the operation's command if it is made from this declaration; ``quorum/subcommands.py`` has its
            name.
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
            if self.check is not None and locked_study.state != study.state:
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


def _check_generation(study: Study) -> None:
    """Raise WrongState if the study is not a draft. If its dataset is small, raise DesignError if drawing fails."""
    if study.state != Study.State.DRAFT:
        raise already_generated_error(study)
    if not has_many_rows(study.dataset.captions.all()):
        plan_study(design_of(study), study.dataset, maker=study.created_by_id)


@operation("generate", "Draw the HITs", job="generate_hits", check=_check_generation)
def generate(*, study: Study, by: User | None, progress: Progress) -> Outcome:
    """Draw units, control items and HITs in a background job."""
    batch = generate_hits(study=study, progress=progress)
    n_hits, n_units, control_count = len(batch.hits), batch.unit_count, batch.control_count
    return Outcome(
        gettext("Study %(slug)s: %(hits)s, %(units)s, %(controls)s.")
        % {
            "slug": study.slug,
            "hits": _insert_number(ngettext("%(n)s page of work", "%(n)s pages of work", n_hits), n_hits),
            "units": _insert_number(ngettext("%(n)s item", "%(n)s items", n_units), n_units),
            "controls": _insert_number(
                ngettext("%(n)s check question", "%(n)s check questions", control_count), control_count
            ),
        },
        batch,
    )


@operation(
    "discard-hits",
    "Discard the HITs, to change the design",
    command=CommandHelp(
        "Discard the HITs of a study that was never opened, to change its design.", "triplets-50"
    ),
)
def discard(*, study: Study, by: User | None) -> Outcome:
    """Delete units, control items and HITs of a study, which becomes a draft again.

    This is not possible if the study was ever opened or registered.
    """
    hit_count = discard_hits(study=study, by=by)["hits"]
    sentence = ngettext(
        "One page of work was discarded. The design is a draft again.",
        "%(n)s pages of work were discarded. The design is a draft again.",
        hit_count,
    )
    return Outcome(_insert_number(sentence, hit_count))


class TextsField(serializers.DictField):
    """Texts by name. A form has fields ``texts.<name>``; a command has a line ``name=text`` for each text."""

    child: serializers.Field[Any, Any, Any, Any] = serializers.CharField(allow_blank=True, max_length=20_000)

    def get_value(self, dictionary: Any) -> Any:
        texts = super().get_value(dictionary)
        if not is_html_input(dictionary) or texts:
            return texts
        lines = [line.partition("=") for line in dictionary.get(self.field_name, "").splitlines()]
        return {name.strip(): text for name, _, text in lines}


class _SeenStateParameters(Parameters):
    """Parameters of a change that is refused if the study has changed since the person saw it."""

    seen = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=80,
        help_text="The state seen; another is refused. Empty: any.",
    )


class TakeBackRequest(_SeenStateParameters):
    """Whether to undo all changes or only the last, and the state of the study that the person saw."""

    every = serializers.BooleanField(default=False, help_text="All changes, not the last.")


class ItemChangeRequest(_SeenStateParameters):
    """A change of an item of a page of work."""

    item = serializers.CharField(max_length=80, help_text="Its id.")
    out = serializers.BooleanField(default=False, help_text="It is pulled out.")
    image = serializers.CharField(default="", allow_blank=True, help_text="Another image of the dataset.")
    texts = TextsField(default=dict, help_text="Other texts: name=text, one a line.")
    hit = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=1000,
        help_text="A HIT written by hand to put it on, from 1; 0: none.",
    )


@operation(
    "change-item",
    "Change an item, pull it out, or put it on a page written by hand",
    parameters=ItemChangeRequest,
    command=CommandHelp(
        "Change an item, pull it out, or put it on a page by hand.", "triplets-50 --item 4f1c --out"
    ),
)
def change_item(*, study: Study, by: User | None, seen: str, **change: Any) -> Outcome:
    """Change the texts or the picture of an item, or remove the item.

    If a HIT is given, a changed item is added to this HIT, and the drawn item stays in its own; an item without changes
    moves to this HIT. The design stores the change. This is not possible if the study was ever opened or registered.
    """
    changed = change_by_hand(study=study, change=change, seen_state=seen, by=by)
    return Outcome(gettext("The pages of work were changed. The change was stored in the design."), changed)


@operation(
    "take-back-change",
    "Take the last change by hand back, or all",
    parameters=TakeBackRequest,
    command=CommandHelp("Take the last change of pages of work by hand back, or all.", "triplets-50"),
)
def take_back_change(*, study: Study, by: User | None, every: bool, seen: str) -> Outcome:
    """Undo the last manual change of the design, or all of them. Draw the pages of work again if there are any."""
    changed = change_by_hand(study=study, change=None, undo_all=every, seen_state=seen, by=by)
    return Outcome(gettext("The change that was made by hand was undone."), changed)


def _insert_number(sentence: str, n: int) -> str:
    """Return the sentence with the formatted number in place of ``%(n)s``."""
    return sentence % {"n": thousands(n)}


class DuplicateRequest(Parameters):
    """The name and slug of the copy."""

    name = serializers.CharField(allow_blank=True, default="")
    slug = serializers.CharField(allow_blank=True, default="")


@operation("duplicate", "A draft with the same design", parameters=DuplicateRequest)
def duplicate(*, study: Study, by: User | None, name: str, slug: str) -> Outcome:
    """Copy a study's design to a new draft. The copy has its own seed and access code."""
    if study.source == Study.Source.IMPORTED:
        raise WrongState(
            gettext("Study %(slug)r has imported judgments, so it cannot be duplicated.")
            % {"slug": study.slug}
        )
    copy = duplicate_study(study=study, name=name, slug=slug, user=by)
    return Outcome(
        gettext("The draft “%(name)s” was created with the same design.") % {"name": copy.name}, copy
    )


class SavePresetRequest(Parameters):
    """The name, title and description of the new preset."""

    slug = serializers.CharField(max_length=80, help_text='Study files refer to the preset as preset = "…".')
    title = serializers.CharField(max_length=200)
    description = serializers.CharField(max_length=1000, default="", allow_blank=True)


@operation("save-preset", "Offer the design for new studies", parameters=SavePresetRequest)
def save_preset(*, study: Study, by: User | None, slug: str, title: str, description: str) -> Outcome:
    """Save a study's design as a preset, without the study's name, dataset, seed and access code."""
    preset = saved_presets.store_preset(
        design=design_of(study), slug=slug, title=title, description=description, by=by
    )
    return Outcome(
        gettext("“%(title)s” was saved as preset %(slug)s. It is offered for new studies.")
        % {"title": preset.title, "slug": preset.slug},
        preset,
    )


class RenamePresetRequest(Parameters):
    """The new title and description of a preset."""

    title = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(max_length=1000, required=False, allow_blank=True)


class PersonRequest(Parameters):
    """A person, by the id or by the name of their account."""

    user = RowId(required=False)
    username = serializers.CharField(required=False, max_length=150)


class RoleRequest(PersonRequest):
    """A person, and the role to give."""

    role = serializers.ChoiceField(choices=StudyRole.Role.values)


@operation("give-role", "Give a role", parameters=RoleRequest, right=Right.OWN)
def grant_role_operation(
    *, study: Study, by: User | None, role: str, user: int = 0, username: str = ""
) -> Outcome:
    """Give a person a role in the study. It replaces the person's previous role."""
    person = find_person(user, username)
    if not (person.is_active and person.is_staff):
        raise WrongState(
            gettext(
                "Nothing was changed, because the account %(name)s cannot sign in to these pages. Choose an "
                "active staff account."
            )
            % {"name": person.get_username()}
        )
    membership = give_role(study=study, user=person, role=role, by=by)
    return Outcome(
        gettext("%(name)s is now %(role)s.")
        % {"name": person.get_username(), "role": gettext(membership.role)}
    )


@operation("take-role", "Remove a role", parameters=PersonRequest, right=Right.OWN)
def revoke_role_operation(*, study: Study, by: User | None, user: int = 0, username: str = "") -> Outcome:
    """Remove a person's role in the study. The last owner cannot be removed."""
    person = find_person(user, username)
    revoke_role(study=study, user=person, by=by)
    return Outcome(gettext("%(name)s no longer has a role in this study.") % {"name": person.get_username()})
