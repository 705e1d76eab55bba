"""Operations on a study whatever its crowd: drawing HITs, reusing its design, giving roles."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils.translation import gettext, ngettext
from rest_framework import serializers

from common.amounts import thousands
from common.errors import WrongState
from common.parameters import Parameters, RowId
from judgments.access.roles import Right, give_role, person_named, take_role
from judgments.cached_figures import MANY_ROWS
from judgments.design import saved_presets
from judgments.models import Study, StudyRole
from judgments.studies.generation import Progress, generate_hits, plan_study
from judgments.studies.studies import design_of, discard_hits, duplicate_study
from judgments.study_operations import CommandHelp, Outcome, operation


def _can_be_drawn(study: Study) -> None:
    """Check the dataset only if that is quick."""
    if study.state != Study.State.DRAFT:
        raise WrongState(
            gettext("Study %(slug)r is %(state)s; HITs are generated once, from a draft.")
            % {"slug": study.slug, "state": gettext(study.state)}
        )
    if study.dataset.captions.order_by()[:MANY_ROWS].count() < MANY_ROWS:
        plan_study(design_of(study), study.dataset, maker=study.created_by_id)


@operation("generate", "Draw the HITs", job="generate_hits", check=_can_be_drawn)
def generate(*, study: Study, by: User | None, progress: Progress) -> Outcome:
    """Draws units, controls and HITs in the background; follow the job."""
    batch = generate_hits(study=study, progress=progress)
    hits, units, controls = len(batch.hits), batch.unit_count, batch.control_count
    return Outcome(
        gettext("Study %(slug)s: %(hits)s, %(units)s, %(controls)s.")
        % {
            "slug": study.slug,
            "hits": _number(ngettext("%(n)s HIT", "%(n)s HITs", hits), hits),
            "units": _number(ngettext("%(n)s unit", "%(n)s units", units), units),
            "controls": _number(ngettext("%(n)s control item", "%(n)s control items", controls), controls),
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
    """Deletes units, controls and HITs of a study that was never opened or registered; it is a draft again."""
    hits = discard_hits(study=study, by=by)["hits"]
    sentence = ngettext(
        "One page of work was discarded; the design is a draft again.",
        "%(n)s pages of work were discarded; the design is a draft again.",
        hits,
    )
    return Outcome(_number(sentence, hits))


def _number(sentence: str, n: int) -> str:
    return sentence % {"n": thousands(n)}


class DuplicateRequest(Parameters):
    """What the copy is called."""

    name = serializers.CharField(allow_blank=True, default="")
    slug = serializers.CharField(allow_blank=True, default="")


@operation("duplicate", "A draft with the same design", parameters=DuplicateRequest)
def duplicate(*, study: Study, by: User | None, name: str, slug: str) -> Outcome:
    """Copy a study. The copy has a draw and codes of its own."""
    if study.source == Study.Source.IMPORTED:
        raise WrongState(
            gettext("Study %(slug)r holds imported judgments; there is nothing to try again.")
            % {"slug": study.slug}
        )
    copy = duplicate_study(study=study, name=name, slug=slug, user=by)
    return Outcome(gettext("“%(name)s” is a draft with the same design.") % {"name": copy.name}, copy)


class SavePresetRequest(Parameters):
    """Whose design to keep, and under which name."""

    slug = serializers.CharField(max_length=80, help_text='Study files name it as preset = "…".')
    title = serializers.CharField(max_length=200)
    description = serializers.CharField(max_length=1000, required=False, default="", allow_blank=True)


@operation("save-preset", "Offer the design for new studies", parameters=SavePresetRequest)
def save_preset(*, study: Study, by: User | None, slug: str, title: str, description: str) -> Outcome:
    """Keeps a study's design without its name, dataset, seed and codes."""
    preset = saved_presets.save_preset(
        design=design_of(study), slug=slug, title=title, description=description, by=by
    )
    return Outcome(
        gettext("“%(title)s” is offered for new studies, as preset %(slug)s.")
        % {"title": preset.title, "slug": preset.slug},
        preset,
    )


class RenamePresetRequest(Parameters):
    """Another title and description."""

    title = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(max_length=1000, required=False, allow_blank=True)


class PersonRequest(Parameters):
    """A person by the row of their account, or by its name."""

    user = RowId(required=False)
    username = serializers.CharField(required=False, max_length=150)


class RoleRequest(PersonRequest):
    """A person, and the role to give."""

    role = serializers.ChoiceField(choices=StudyRole.Role.values)


@operation("give-role", "Give a role", parameters=RoleRequest, right=Right.OWN)
def give(*, study: Study, by: User | None, role: str, user: int = 0, username: str = "") -> Outcome:
    """Replaces the role that the person has."""
    person = person_named(user, username)
    if not (person.is_active and person.is_staff):
        raise WrongState(
            gettext("Nothing was changed: %(name)s cannot sign in to these pages.")
            % {"name": person.get_username()}
        )
    membership = give_role(study=study, user=person, role=role, by=by)
    return Outcome(
        gettext("%(name)s is %(role)s now.")
        % {"name": person.get_username(), "role": gettext(membership.role)}
    )


@operation("take-role", "Take a role away", parameters=PersonRequest, right=Right.OWN)
def take(*, study: Study, by: User | None, user: int = 0, username: str = "") -> Outcome:
    """Take a person's role. A study keeps an owner."""
    person = person_named(user, username)
    take_role(study=study, user=person, by=by)
    return Outcome(gettext("%(name)s has no part in this study any more.") % {"name": person.get_username()})
