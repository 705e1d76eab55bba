"""The operations on a study that its designer does: generate and change pages of work, copy the design, give roles."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext, ngettext
from rest_framework import serializers
from rest_framework.utils.html import is_html_input

from common.amounts import thousands
from common.errors import WrongState
from common.parameters import Parameters, RowId
from judgments.access.rights import Right
from judgments.access.roles import find_person, give_role, revoke_role
from judgments.cached_figures import has_many_rows
from judgments.design import saved_presets
from judgments.models import Study, StudyRole
from judgments.operations import CommandHelp, Outcome, operation
from judgments.studies.designs import design_of
from judgments.studies.discarding import discard_hits
from judgments.studies.generation.hand_changes import change_by_hand
from judgments.studies.generation.hits import already_generated_error, generate_hits
from judgments.studies.generation.plans import plan_study
from judgments.studies.generation.progress import Progress
from judgments.studies.studies import duplicate_study


def _check_generation(study: Study) -> None:
    """Raise WrongState if the study is not a draft. If its dataset is small, raise DesignError if drawing fails."""
    if study.state != Study.State.DRAFT:
        raise already_generated_error(study)
    if not has_many_rows(study.dataset.captions.all()):
        plan_study(design_of(study), study.dataset, maker=study.created_by_id)


@operation("generate", "Generate pages of work", job="generate_hits", check=_check_generation)
def generate(*, study: Study, by: User | None, progress: Progress) -> Outcome:
    """Generate the study's units, check questions and pages of work in a background job."""
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
    "Discard the pages of work, to change the design",
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
        help_text="Hash of the design and state that a person saw; refused if they have changed. Empty: no check.",
    )


class TakeBackRequest(_SeenStateParameters):
    """Whether to undo all changes or only the last, and the state of the study that the person saw."""

    every = serializers.BooleanField(default=False, help_text="Undo all changes, not only the last one.")


class ItemChangeRequest(_SeenStateParameters):
    """A change of an item of a page of work."""

    item = serializers.CharField(max_length=80, help_text="Id of the item.")
    out = serializers.BooleanField(default=False, help_text="Remove the item.")
    image = serializers.CharField(
        default="", allow_blank=True, help_text="Name of another image of the dataset that the item gets."
    )
    texts = TextsField(
        default=dict,
        help_text="New texts by name, such as reference, first or second; in a command, name=text.",
    )
    hit = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=1000,
        help_text="Number, from 1, of a page of work made by hand to which the item is added; 0: none.",
    )


@operation(
    "change-item",
    "Change an item, remove it, or put it on a page made by hand",
    parameters=ItemChangeRequest,
    command=CommandHelp(
        "Change an item, remove it, or put it on a page made by hand.", "triplets-50 --item 4f1c --out"
    ),
)
def change_item(*, study: Study, by: User | None, seen: str, **change: Any) -> Outcome:
    """Change the texts or the picture of an item, or remove the item.

    If a HIT is given, a changed item is added to this HIT, and the drawn item stays in its own; an item without changes
    moves to this HIT. The design stores the change. This is not possible if the study was ever opened or registered.
    """
    study = change_by_hand(study=study, change=change, seen_state=seen, by=by)
    return Outcome(gettext("The pages of work were changed. The change was stored in the design."), study)


@operation(
    "take-back-change",
    "Undo the last change by hand, or all",
    parameters=TakeBackRequest,
    command=CommandHelp("Undo the last change of pages of work by hand, or all.", "triplets-50"),
)
def take_back_change(*, study: Study, by: User | None, every: bool, seen: str) -> Outcome:
    """Undo the last manual change of the design, or all of them. Draw the pages of work again if there are any."""
    study = change_by_hand(study=study, change=None, undo_all=every, seen_state=seen, by=by)
    return Outcome(gettext("The change that was made by hand was undone."), study)


def _insert_number(sentence: str, n: int) -> str:
    """Return the sentence with the formatted number in place of ``%(n)s``."""
    return sentence % {"n": thousands(n)}


class DuplicateRequest(Parameters):
    """The name and slug of the copy."""

    name = serializers.CharField(allow_blank=True, default="")
    slug = serializers.CharField(allow_blank=True, default="")


@operation("duplicate", "Copy the design to a new draft", parameters=DuplicateRequest)
def duplicate(*, study: Study, by: User | None, name: str, slug: str) -> Outcome:
    """Copy a study's design, with its seed and access code, to a new draft. A code that can be guessed is replaced."""
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
