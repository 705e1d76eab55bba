"""A snapshot does twice the work for twice the judgments, and reads few of those that it has read."""

from functools import partial

import pytest

from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
from evaluation.data.judgment_sets import blocks
from judgments.models import Caption
from tests.evaluation.test_growth import study_of
from tests.growth import check_linear, work_of


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_a_snapshot_does_twice_the_work_for_twice_the_judgments() -> None:
    compute_snapshot(study=study_of(100))  # fills caches that all sizes share
    studies = [study_of(1_200 * times) for times in (1, 2, 4)]
    check_linear([work_of(partial(compute_snapshot, study=study)) for study in studies])


@pytest.mark.django_db(transaction=True)
@pytest.mark.long
def test_a_snapshot_of_the_dashboard_reads_what_has_come_since(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the judgments of the same people are hardly a row more, once they are in blocks.

    The right answers of control items, and the texts of which the signature's digest of the material is, are read each
    time: these are as many as the design has.
    """
    monkeypatch.setattr(blocks, "IDS_PER_BLOCK", 1)
    rows = []
    for judgments in (6_000, 24_000):
        study = study_of(judgments)
        blocks.extend_blocks(study)
        store_snapshot(compute_snapshot(study=study))  # with the scores of captions, which are computed once
        controls = 2 * study.units.filter(control=True).count()  # to count right answers, and to hash
        captions = Caption.objects.filter(dataset=study.dataset_id)
        references = captions.filter(role=Caption.Role.REFERENCE).count()
        texts = study.dataset.items.count() + captions.count() + references  # and where references stand
        rows.append(work_of(partial(compute_snapshot, study=study)).rows - controls - texts)

    assert rows[1] - rows[0] < (24_000 - 6_000) / 50, rows
