"""Change the pages of work of a study by hand, until it is opened or registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext

from common.errors import WrongState
from judgments.design.reading import make_design
from judgments.drawing.material import content_key
from judgments.models import Study, Unit
from judgments.studies.generation import build_batch, store_hits
from judgments.studies.studies import change_design, discard_hits, lock_study


def state_of_hand_changes(study: Study) -> str:
    """Return what a page of the study shows: its design and state, in short."""
    return content_key(study.design, study.state)


@transaction.atomic
def change_by_hand(
    *,
    study: Study,
    change: Mapping[str, Any] | None,
    every: bool = False,
    seen: str = "",
    by: User | None = None,
) -> Study:
    """Add a change (``HandChange``) to the design, and draw its pages of work again if it has any.

    A withdrawn control item stays out.

    Args:
        change: None takes the last one back, or ``every`` one.
        seen: the state that was changed (``state_of_hand_changes``); "" for any.

    Raises:
        WrongState: somebody changed the study meanwhile, or it was opened or registered. DesignError: the change
            cannot be applied.
    """
    lock_study(study, no_key=False)
    if seen and seen != state_of_hand_changes(study):
        raise WrongState(
            gettext(
                "Nothing was changed: somebody changed study %(slug)r since you opened this page; look again, and "
                "repeat your change."
            )
            % {"slug": study.slug}
        )
    changes = list(study.design.get("by_hand", []))
    if change is None and not changes:
        raise WrongState(gettext("Study %(slug)r has no change by hand to take back.") % {"slug": study.slug})
    if change is None:
        del changes[0 if every else -1 :]
    if drawn := study.state != Study.State.DRAFT:
        withdrawn = Unit.objects.filter(study=study, withdrawn=True, places=None).order_by("position")
        changes += [{"item": key, "out": True} for key in withdrawn.values_list("key", flat=True)]
        discard_hits(study=study, by=by)
    changes += [change] if change is not None else []
    design = make_design(study.design | {"by_hand": changes})
    # to take changes back mends a draft that cannot be drawn any more; else what cannot be applied is refused
    batch = build_batch(design, study.dataset, maker=study.created_by_id) if drawn or change else None
    changed = change_design(study=study, design=design, user=by, all_by_hand=True)
    if drawn and batch is not None:
        store_hits(study=changed, batch=batch)
    return changed
