"""Find studies, and change their design and state: create, open, close, duplicate and delete them."""

from __future__ import annotations

from itertools import count

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone
from django.utils.translation import gettext

from common.audit import current_act, log_about
from common.errors import DataConflict, DesignError, ObjectNotFound, WrongState, did_you_mean
from judgments.access.dataset_roles import refuse_other_readers
from judgments.access.study_log import note_event
from judgments.access.visible_rows import visible_rows
from judgments.design.arena import require_arena
from judgments.design.quiz import why_quiz_is_off
from judgments.design.reading.checking import make_design
from judgments.design.reading.comparing import changed_keys
from judgments.design.study_design import StudyDesign
from judgments.models import Dataset, Job, Study, StudyRole
from judgments.models.jobs import DELETED_STUDY_KEY, of_studies
from judgments.models.studies import reasons_against_opening
from judgments.studies.codes import with_access_code, without_guessable_code
from judgments.studies.designs import design_of, draws_at_claim, is_registered

MAX_NAMED_KEYS = 8  # changed keys of a design that the study's log names in its sentence


def find_study(slug: str) -> Study:
    """Return the study with this slug. Raise ObjectNotFound if there is none."""
    study = Study.objects.select_related("dataset").filter(slug=slug).first()
    if study is None:
        # participants see this error, too, and must not learn the names of studies
        slugs = Study.objects.values_list("slug", flat=True) if current_act().origin == "command" else ()
        raise ObjectNotFound(
            gettext("There is no study %(slug)r.") % {"slug": slug} + did_you_mean(slug, slugs)
        )
    log_about(study=study.slug)
    return study


def find_dataset(name: str, *, user: User | None = None) -> Dataset:
    """Return the dataset with this name.

    Raise ObjectNotFound, with the names of visible datasets, if there is none that ``user`` may see. If ``user`` is
    None, all datasets are visible.
    """
    datasets = Dataset.objects.all() if user is None else visible_rows(Dataset.objects.all(), user)
    dataset = datasets.filter(name=name).first()
    if dataset is None:
        names = list(datasets.values_list("name", flat=True))
        known_names = ", ".join(names) or "none yet"
        raise ObjectNotFound(
            gettext("There is no dataset %(name)r; expected one of %(known)s.")
            % {"name": name, "known": known_names}
            + did_you_mean(name, names)
        )
    return dataset


@transaction.atomic
def create_study(*, design: StudyDesign, user: User | None = None) -> Study:
    """Store a design as a draft.

    Raises:
        DesignError: the dataset is missing, not visible to ``user``, or reserved for its members.
        DataConflict: the slug is taken.
    """
    design = with_access_code(design)
    dataset = _usable_dataset(design, user)
    try:
        with transaction.atomic():
            study = Study.objects.create(
                slug=design.slug,
                name=design.name,
                dataset=dataset,
                protocol=design.protocol,
                design=design.model_dump(mode="json"),
                created_by=user,
            )
    except IntegrityError:
        raise DataConflict(
            gettext("A study %(slug)r already exists; choose another slug.") % {"slug": design.slug}
        ) from None
    if user is not None:
        StudyRole.objects.create(study=study, user=user, role=StudyRole.Role.OWNER, given_by=user)
    note_event(study=study, what="created", sentence=f"Created as a draft: {design.protocol}.", by=user)
    return study


@transaction.atomic
def change_design(
    *, study: Study, design: StudyDesign, user: User | None = None, all_by_hand: bool = False
) -> Study:
    """Replace the design of a draft. If the slug changes, the study keeps its jobs.

    Args:
        all_by_hand: whether ``design`` has all manual changes. Otherwise, a design without manual changes keeps those
            of the draft.

    Raises:
        WrongState: HITs were generated.
        DesignError: the dataset is unusable as for ``create_study``, or the plan differs from the registered plan.
        DataConflict: the slug is taken.
    """
    require_state(study, Study.State.DRAFT, gettext("its design can no longer be changed"))
    if not (all_by_hand or design.by_hand) and (by_hand := study.design.get("by_hand")):
        design = make_design(design.model_dump(mode="json") | {"by_hand": by_hand})
    design = with_access_code(_with_registered_plan(study, design), before=design_of(study).access)
    dataset = _usable_dataset(design, user)
    if Study.objects.filter(slug=design.slug).exclude(pk=study.pk).exists():
        raise DataConflict(
            gettext("A study %(slug)r already exists; choose another slug.") % {"slug": design.slug}
        )
    old_values, new_values = study.design, design.model_dump(mode="json")
    if design.slug != study.slug:
        _rename_jobs(study.slug, design.slug)
    study.slug, study.name, study.dataset = design.slug, design.name, dataset
    study.protocol, study.design = design.protocol, new_values
    study.save()
    if keys := changed_keys(old_values, new_values):
        omission = f" and {len(keys) - MAX_NAMED_KEYS} more" if len(keys) > MAX_NAMED_KEYS else ""
        sentence = f"The design was changed: {', '.join(keys[:MAX_NAMED_KEYS])}{omission}."
        note_event(
            study=study,
            what="design-changed",
            sentence=sentence,
            by=user,
            before=old_values,
            after=new_values,
        )
    return study


def _usable_dataset(design: StudyDesign, user: User | None) -> Dataset:
    """Return the design's dataset. Raise DesignError if ``user`` may not use it for a study.

    A study shows the dataset's captions to its members, to workers and to readers of the results.
    """
    try:
        dataset = find_dataset(design.dataset, user=user)
        refuse_other_readers(dataset)
    except (ObjectNotFound, WrongState) as error:
        raise DesignError(str(error), field="dataset") from None
    return dataset


def _with_registered_plan(study: Study, design: StudyDesign) -> StudyDesign:
    """Return the design with the study's registered plan. Raise DesignError if the design has another plan."""
    plan = design_of(study).registration
    if plan is None or design.registration == plan or not is_registered(study):
        return design
    if design.registration is not None:
        raise DesignError(
            gettext("registration: the plan of study %(slug)r is registered, so it cannot be changed.")
            % {"slug": study.slug},
            field="registration",
        )
    return design.model_copy(update={"registration": plan})


def _rename_jobs(old_slug: str, new_slug: str) -> None:
    for job in Job.objects.filter(of_studies(old_slug)):
        Job.objects.filter(pk=job.pk).update(args=job.args | {"study": new_slug})


def _detach_jobs(slug: str) -> None:
    """Remove a deleted study's slug from its jobs, and mark queued jobs as failed.

    Otherwise the jobs would appear in a later study with the same slug.
    """
    for job in Job.objects.filter(of_studies(slug)):
        args = {name: value for name, value in job.args.items() if name != "study"}
        Job.objects.filter(pk=job.pk).update(args=args | {DELETED_STUDY_KEY: slug})
        Job.objects.filter(pk=job.pk, state=Job.State.QUEUED).update(
            state=Job.State.FAILED, error=f"Study {slug!r} was deleted.", finished_at=timezone.now()
        )


@transaction.atomic
def duplicate_study(*, study: Study, name: str = "", slug: str = "", user: User | None = None) -> Study:
    """Create a draft with the same design. By default, its name and slug get the next free number.

    The draft has the study's access code, or a new one if that can be guessed.
    """
    number = next_copy_number(study)
    values = without_guessable_code(study.design) | {
        "slug": slug or f"{study.slug[:75]}-{number}",
        "name": name or f"{study.name[:190]} ({number})",
    }
    copy = create_study(design=make_design(values), user=user)
    # Only people with a role in the copy may learn its name.
    note_event(
        study=study, what="duplicated", sentence="A copy was made: a new draft.", by=user, copy=copy.pk
    )
    return copy


def next_copy_number(study: Study) -> int:
    """Return the smallest number, from 2, that no copy of the study has at the end of its slug."""
    stem = f"{study.slug[:75]}-"
    taken_slugs = set(Study.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    return next(number for number in count(2) if f"{stem}{number}" not in taken_slugs)


@transaction.atomic
def delete_study(*, study: Study) -> None:
    """Delete a study. Raise WrongState if it was opened, since answers are never deleted."""
    lock_study(study)
    if study.state not in (Study.State.DRAFT, Study.State.GENERATED) or study.assignments.exists():
        raise WrongState(
            gettext("Study %(slug)r is %(state)s. Only a study that was never opened can be deleted.")
            % {"slug": study.slug, "state": gettext(study.state)}
        )
    note_event(
        study=study, what="deleted", sentence=f"Deleted as a {study.state} study.", design=study.design
    )
    _detach_jobs(study.slug)
    try:
        study.delete()
    except ProtectedError:
        raise WrongState(
            gettext("Study %(slug)r has answers, so it cannot be deleted.") % {"slug": study.slug}
        ) from None


@transaction.atomic
def mark_open(*, study: Study) -> Study:
    """Change the state of a generated or closed study to open. ``annotation.crowds.opening`` then publishes it.

    Raises:
        WrongState: the study cannot be opened, or a receiver of ``reasons_against_opening`` returns a reason.
    """
    lock_study(study)
    if study.state == Study.State.OPEN:
        return study
    refuse_opening(study=study)
    refuse_absent_quiz(study=study)
    for _receiver, reason in reasons_against_opening.send(sender=Study, study=study):
        if reason:
            raise WrongState(reason)
    study.state = Study.State.OPEN
    study.opened_at = study.opened_at or timezone.now()
    study.save(update_fields=["state", "opened_at"])
    return study


def refuse_opening(*, study: Study) -> None:
    """Raise WrongState if a study has no pages of work to open, or FeatureIsOff if no feature can draw them."""
    if study.state == Study.State.DRAFT:
        raise WrongState(
            gettext("Study %(slug)r is a draft; generate its pages of work first.") % {"slug": study.slug}
        )
    if study.source == Study.Source.IMPORTED:
        raise WrongState(
            gettext("Study %(slug)r has imported judgments, so it has no pages of work to open.")
            % {"slug": study.slug}
        )
    if draws_at_claim(study):
        require_arena()


def refuse_absent_quiz(*, study: Study) -> None:
    """Raise WrongState if the design has a quiz but quizzes are off, since everybody would be admitted."""
    reason = why_quiz_is_off(design_of(study).quiz)
    if reason and not study.simulated:
        raise WrongState(reason)


@transaction.atomic
def mark_closed(*, study: Study) -> Study:
    """Change the state from open to closed. Workers may still submit until their lease ends."""
    lock_study(study)
    if study.state == Study.State.CLOSED:
        return study
    require_state(study, Study.State.OPEN, gettext("it cannot be closed"))
    study.state, study.closed_at, study.paused_at = Study.State.CLOSED, timezone.now(), None
    study.save(update_fields=["state", "closed_at", "paused_at"])
    return study


def lock_study(study: Study, *, no_key: bool = True) -> None:
    """Refresh ``study`` and lock its row until the transaction ends. Raise ObjectNotFound if it was deleted.

    If ``no_key`` is set, other transactions may still add rows that refer to the study. This avoids a deadlock with
    claims, which first lock their HIT, and at commit check the foreign key to the study.
    """
    try:
        study.refresh_from_db(from_queryset=Study.objects.select_for_update(no_key=no_key))
    except Study.DoesNotExist:
        raise ObjectNotFound(gettext("Study %(slug)r no longer exists.") % {"slug": study.slug}) from None


def require_state(study: Study, state: Study.State, consequence: str) -> None:
    """Lock a study. Raise WrongState if it is not in ``state``; the message ends with ``consequence``."""
    lock_study(study)
    if study.state != state:
        raise WrongState(
            gettext("Study %(slug)r is %(state)s; %(otherwise)s.")
            % {"slug": study.slug, "state": gettext(study.state), "otherwise": consequence}
        )
