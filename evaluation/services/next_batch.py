"""A draft that asks again about a few pairs or captions of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import transaction

from judgments.design import make_design
from judgments.errors import NotThere, WrongState
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.services.events import note_event
from judgments.services.studies import create_study, next_copy

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MOST = 10_000


@transaction.atomic
def make_next_batch(*, study: Study, keys: Sequence[str], why: str = "", by: User | None = None) -> Study:
    """A new draft with the design of ``study``, limited to these candidate pairs, or units. Nothing is opened.

    Raises:
        WrongState: nothing is chosen, or the study's kind or import leaves nothing that could be drawn again.
        NotThere: the study has no pair or unit of one of the ids.
    """
    kind = KINDS[study.protocol]
    chosen = list(dict.fromkeys(keys))
    if not chosen:
        raise WrongState("No batch was made: choose at least one row.")
    if len(chosen) > MOST:
        raise WrongState(
            f"No batch was made: {len(chosen):,} rows are chosen, at most {MOST:,} fit in one design."
        )
    if not kind.chosen_by_id:
        raise WrongState(f"No batch was made: {kind.name} has no units that could be chosen one by one.")
    if study.source == Study.Source.IMPORTED and not kind.compares_pairs:
        raise WrongState(
            f"No batch was made: study {study.slug!r} holds imported judgments; no design draws its captions again."
        )
    rows = study.pairs.all() if kind.compares_pairs else study.units.filter(control=False)
    there = set(rows.filter(key__in=chosen).values_list("key", flat=True))
    lacking = [key for key in chosen if key not in there]
    if lacking:
        raise NotThere(f"No batch was made: study {study.slug!r} has no {lacking[0]!r}.")
    number = next_copy(study)
    sampling: dict[str, Any] = {"only": sorted(chosen)}
    values = study.design | {
        "slug": f"{study.slug[:75]}-{number}",
        "name": f"{study.name[:180]} (closer, {number})",
    }
    if kind.judges_one_caption:  # what is chosen is judged, whatever drew it and whatever the filter says
        units = study.units.filter(key__in=chosen).order_by("position")
        sampling = {
            "pairs_from": "list",
            "listed": list(units.values_list("item__name", "first__key")),
            "only": [],
            "images": "all",
        }
        full = study.design["captions_per_image"] if kind.grouped else 0  # as many as a control image has
        values["filter"] = study.design["filter"] | {"bleu_pre": 0.0, "fill_to": full, "audit": 0}
    values["sampling"] = study.design["sampling"] | sampling
    batch = create_study(design=make_design(values), user=by)
    what = f"{len(chosen):,} candidate pairs" if kind.compares_pairs else f"{len(chosen):,} captions"
    note_event(
        study=study, what="next-batch", words=f"{what} were chosen for a new draft, {batch.slug}.", by=by,
        why=why, batch=batch.slug, only=sorted(chosen),
    )  # fmt: skip
    note_event(
        study=batch,
        what="next-batch",
        words=f"Made of {what} of {study.slug}.",
        by=by,
        why=why,
        source=study.slug,
    )
    return batch
