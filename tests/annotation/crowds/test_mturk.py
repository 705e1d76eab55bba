"""A study's whole way through the emulated Mechanical Turk."""

from annotation.crowds.publishing import close_study, open_study
from annotation.models import Assignment, CrowdSession, Judgment, Publication
from annotation.quality.reviews import approve_assignments, reject_assignments
from judgments.models import HIT
from tests.annotation.crowds.turking import (
    Crowd,
    books,
    kinds_of,
    make_turk_study,
    same_money,
    sync,
    up,
)
from tests.fakes.mturk import MTurkEmulator


def test_a_study_is_published_worked_through_and_paid(turk: MTurkEmulator) -> None:
    study = make_turk_study()
    hits = HIT.objects.filter(study=study).count()
    said = open_study(study=study)
    assert (
        said
        == "Participants find it at https://workersandbox.mturk.com, the sandbox; no money is paid there."
    )
    assert study.platform == "mturk-sandbox"
    there = turk.dump()["hits"]
    assert len(there) == len(up(study)) == hits
    assert {one["max_assignments"] for one in there} == {2}
    assert books(study) == (hits * 2 * 12, 0)
    same_money(study, turk)

    Crowd(turk, study).do_all("ada", "ben")
    synced = sync(study)
    assert synced.discrepancies == []
    assert synced.assignments == {"submitted": hits * 2}
    assert set(CrowdSession.objects.values_list("status", "confirmed")) == {("submitted", True)}
    assert Judgment.objects.filter(assignment__study=study).count() == hits * 2 * 4

    pages = list(Assignment.objects.order_by("pk").values_list("pk", flat=True))
    approve_assignments(study=study, assignments=pages[1:])
    reject_assignments(study=study, assignments=pages[:1], reason="All first.")
    assert sync(study).discrepancies == []
    assert books(study) == (0, (hits * 2 - 1) * 12)
    same_money(study, turk)
    assert set(Publication.objects.values_list("state", flat=True)) == {"finished"}
    assert Assignment.objects.get(pk=pages[0]).reason == "All first."

    again = sync(study, thorough=True)
    assert kinds_of(again) == []
    assert again.assignments == {"approved": hits * 2 - 1, "rejected": 1}
    close_study(study=study)
    same_money(study, turk)
