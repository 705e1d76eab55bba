"""Reviews by file of work that Mechanical Turk pays: asked of it once, to the cent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from annotation.crowds.publishing import open_study
from annotation.importing.reviews import ReviewCounts, import_reviews
from annotation.models import Assignment, CrowdCall
from evaluation.export.exporting import export_judgments
from judgments.models import Study
from tests.annotation.crowds.test_reviews_by_file import reviewed, rows_of
from tests.annotation.crowds.turking import Crowd, books, make_turk_study, same_money, sync
from tests.fakes.mturk import MTurkEmulator


def worked(turk: MTurkEmulator) -> Study:
    study = make_turk_study()
    open_study(study=study)
    Crowd(turk, study).do_all("ada", "ben")
    sync(study)
    return study


def test_a_file_of_reviews_pays_and_rejects_there_once(turk: MTurkEmulator, tmp_path: Path) -> None:
    study, path = worked(turk), tmp_path / "work.csv"
    export_judgments(study=study, format="mturk", output=path)
    rows = rows_of(path)
    there = turk.dump()
    assert {row["HITId"] for row in rows} == {hit["hit_id"] for hit in there["hits"]}
    assert {row["Reward"] for row in rows} == {"$0.10"}
    assert not [row for row in rows if row["WorkerId"] in ("AADA", "ABEN")]
    for number, row in enumerate(rows):
        row["Reject" if number == 0 else "Approve"] = "Every answer was B." if number == 0 else "x"
    paid = len(rows) - 1
    assert import_reviews(study=study, path=reviewed(path, rows)) == ReviewCounts(
        approved=paid, rejected=1, open=0
    )
    assert Counter(Assignment.objects.values_list("state", flat=True)) == {"approved": paid, "rejected": 1}
    assert books(study) == (0, paid * 12)
    same_money(study, turk)
    calls = CrowdCall.objects.count()
    assert import_reviews(study=study, path=path) == ReviewCounts(approved=0, rejected=0, open=0)
    assert CrowdCall.objects.count() == calls
    same_money(study, turk)
    assert sync(study).discrepancies == []
