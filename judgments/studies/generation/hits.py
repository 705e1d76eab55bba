"""Generate the pages of work of a study. This freezes the study's design."""

from __future__ import annotations

from dataclasses import asdict

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from common.amounts import with_noun
from common.errors import WrongState
from common.rows.loads import large_cache, many_objects, trusted_keys
from judgments.access.study_log import note_event
from judgments.drawing.controls.pool import count_control_pool
from judgments.drawing.material import Batch
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.generation.batches import build_batch
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.generation.storage import store_batch


def generate_hits(*, study: Study, progress: Progress = no_progress) -> Batch:
    """Draw and store units, controls and HITs, and freeze the design.

    Drawing only reads, so it does not block workers of other studies. All rows are stored in one transaction.

    Raises:
        WrongState: the study already has HITs.
        DesignError: the dataset cannot supply the design.
    """
    batch = draw_hits(study=study, progress=progress)
    store_hits(study=study, batch=batch, progress=progress)
    return batch


def already_generated_error(study: Study) -> WrongState:
    sentence = gettext("Study %(slug)r is %(state)s. Pages of work can be generated only once, from a draft.")
    return WrongState(sentence % {"slug": study.slug, "state": gettext(study.state)})


def draw_hits(*, study: Study, progress: Progress = no_progress) -> Batch:
    """Draw the batch of a draft, also from its maker's unpublished systems. Raise WrongState if the study has HITs."""
    if study.state != Study.State.DRAFT:
        raise already_generated_error(study)
    progress(0.05, "drawing")
    return build_batch(design_of(study), study.dataset, maker=study.created_by_id)


@many_objects()  # without the cyclic garbage collector; the next two speed up SQLite
@large_cache()
@trusted_keys()
@transaction.atomic
def store_hits(*, study: Study, batch: Batch, progress: Progress = no_progress) -> None:
    """Store a batch. Raise WrongState if the study already has HITs, or if its design changed since the draw."""
    drawn_design = study.design
    notes = study.notes | batch.notes
    if batch.control_count:
        # The pool counts the HITs that a worker can do before a control item repeats. In ``grouped`` kinds, which show
        # several captions with each image, control items with the same image count as the same.
        pool = count_control_pool(batch.hits, grouped=KINDS[study.protocol].grouped)
        notes = notes | {"control_pool": asdict(pool)}
    # the conditional update locks the row, so that only one of two simultaneous calls stores its batch
    updated_count = Study.objects.filter(pk=study.pk, state=Study.State.DRAFT).update(
        state=Study.State.GENERATED, generated_at=timezone.now(), notes=notes
    )
    study.refresh_from_db()
    if not updated_count:
        raise already_generated_error(study)
    if study.design != drawn_design:
        raise WrongState(
            gettext(
                "The design of study %(slug)r changed while its pages of work were being generated; try again."
            )
            % {"slug": study.slug}
        )
    store_batch(study, design_of(study), batch, progress)
    note_event(
        study=study,
        what="generated",
        sentence=f"Generated: {with_noun(len(batch.hits), 'page')} of work, with "
        f"{with_noun(batch.unit_count, 'item')} and {with_noun(batch.control_count, 'check question')}.",
    )
