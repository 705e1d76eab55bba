"""Change single items of drawn pages of work manually, and withdraw control items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext

from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.design.reading.checking import make_design
from judgments.drawing.keys import content_key
from judgments.models import HIT, HITUnit, Study, Unit
from judgments.studies.discarding import discard_hits
from judgments.studies.generation.batches import build_batch
from judgments.studies.generation.hits import store_hits
from judgments.studies.studies import change_design, lock_study


@transaction.atomic
def withdraw_control(*, study: Study, unit_key: str) -> Unit:
    """Withdraw a control item from scoring and from new assignments.

    If the study was opened, the item stays in its HIT, but its answers no longer count for or against workers.

    Raises:
        WrongState: the study has no HITs of its own, or the unit is not one of its control items.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if study.source != Study.Source.DESIGNED or study.state == Study.State.DRAFT:
        raise WrongState(gettext("Study %(slug)r has no check questions to withdraw.") % {"slug": study.slug})
    unit = Unit.objects.filter(study=study, key=unit_key, control=True).first()
    if unit is None:
        raise WrongState(
            gettext("%(unit_key)r is not a check question of study %(slug)r.")
            % {"unit_key": unit_key, "slug": study.slug}
        )
    if not unit.withdrawn:  # outdate cached units, while HITs can still be found by the unit's places
        HIT.objects.filter(places__unit=unit).update(version=F("version") + 1)
    if study.state == Study.State.GENERATED:
        HITUnit.objects.filter(unit=unit).delete()
    if not unit.withdrawn:
        unit.withdrawn = True
        unit.save(update_fields=["withdrawn"])
        note_event(
            study=study, what="struck", sentence=f"Check question {unit.key} was withdrawn.", unit=unit.key
        )
    return unit


def state_of_hand_changes(study: Study) -> str:
    """Return a hash of the study's design and state, to detect changes since a page was shown."""
    return content_key(study.design, study.state)


@transaction.atomic
def change_by_hand(
    *,
    study: Study,
    change: Mapping[str, Any] | None,
    undo_all: bool = False,
    seen_state: str = "",
    by: User | None = None,
) -> Study:
    """Add a ``HandChange`` to the design, and draw the pages of work again if there are any.

    Withdrawn control items are deleted with the old pages. Changes that remove them from the new draw are added to the
    design, too, and an undo of these brings the items back.

    Args:
        change: the change as a dict; None to undo the last change or, with ``undo_all``, all changes.
        seen_state: the hash of the state that the person saw (``state_of_hand_changes``); "" accepts any state.

    Raises:
        WrongState: the study was changed since the person saw it, or it was opened or registered.
        DesignError: the change cannot be applied.
    """
    lock_study(study, no_key=False)  # also against new rows that refer to the study
    if seen_state and seen_state != state_of_hand_changes(study):
        raise WrongState(
            gettext(
                "Nothing was changed, because somebody else changed study %(slug)r after you "
                "opened this page. Reload the page and repeat your change."
            )
            % {"slug": study.slug}
        )
    changes = list(study.design.get("by_hand", []))  # drafts of older releases lack the key
    if change is None and not changes:
        raise WrongState(
            gettext("No items of study %(slug)r were changed by hand, so there is no change to undo.")
            % {"slug": study.slug}
        )
    if change is None:
        changes = [] if undo_all else changes[:-1]
    is_generated = study.state != Study.State.DRAFT
    if is_generated:
        # A withdrawn control item has no place any more. Add a change that removes it from the new draw.
        withdrawn_controls = Unit.objects.filter(study=study, withdrawn=True, places=None).order_by(
            "position"
        )
        changes += [{"item": key, "out": True} for key in withdrawn_controls.values_list("key", flat=True)]
        discard_hits(study=study, by=by)
    if change is not None:
        changes.append(change)
    design = make_design(study.design | {"by_hand": changes})
    batch = None
    if is_generated or change:
        batch = build_batch(design, study.dataset, maker=study.created_by_id)
    # Otherwise, a change of a draft is undone, perhaps because the draft cannot be drawn with it.
    # Without `all_by_hand`, an empty list of changes would keep those of the draft.
    changed_study = change_design(study=study, design=design, user=by, all_by_hand=True)
    if is_generated and batch is not None:
        store_hits(study=changed_study, batch=batch)
    return changed_study
