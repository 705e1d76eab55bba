"""The report of a study on its page and over HTTP: what is shown, whose it is, and each of its files."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evaluation.results.meta_evaluation import evaluate_study
from judgments.access.tokens import create_token
from judgments.models import Job, Study
from tests.evaluation.reporting import address, graded, make_report, pairwise, run_report_job, words
from tests.evaluation.studies import StudyOf

pytestmark = pytest.mark.django_db


def test_the_page_shows_the_report_and_gives_its_files_to_who_may_see_the_study(
    designer: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EXPORT_ROOT = tmp_path
    study = pairwise().study
    assert "No report yet" in words(designer.get(address(study)))
    make_report(designer, study)
    shown = designer.get(address(study))
    assert "Krippendorff's alpha" in words(shown)
    assert "came in or changed" not in words(shown)
    assert b'id="report-accuracy-title"' in shown.content
    archive = designer.get(address(study, "report-file"))
    assert archive["Content-Type"] == "application/zip"
    archive.close()  # it is sent as it is read
    picture = designer.get(address(study, "report-file"), {"name": "figures/accuracy.pdf"})
    assert picture.content.startswith(b"%PDF")
    assert picture["Content-Disposition"] == 'attachment; filename="accuracy.pdf"'
    for name in ("../db.sqlite3", "/etc/passwd", "figures/none.svg"):
        assert designer.get(address(study, "report-file"), {"name": name}).status_code == 404
    stranger, anybody = Client(), Client()
    stranger.force_login(User.objects.create_user("stranger", is_staff=True))
    for name in ("report", "report-file"):
        assert stranger.get(address(study, name)).status_code in (403, 404)
        assert anybody.get(address(study, name)).status_code == 302
    step = reverse("admin:judgments_study_do", args=[study.pk, "make-report"])
    assert stranger.post(step).status_code in (403, 404)
    assert Job.objects.filter(kind="report").count() == 1
    Path(next(tmp_path.glob("*.zip"))).unlink()
    assert "not there any more" in words(designer.get(address(study)))


@pytest.mark.usefixtures("undrawn")
def test_the_page_says_when_judgments_came_in_since_and_costs_the_same_for_any_number(
    designer: Client, settings: Any, tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    settings.EXPORT_ROOT = tmp_path
    made = graded()
    make_report(designer, made.study)
    with django_assert_max_num_queries(25):
        designer.get(address(made.study))
    hit = made.hit("h2", [made.unit("u5", "a.jpg", first="A dog")])
    made.answer(hit, "w-1", [3])
    assert "came in or changed since" in words(designer.get(address(made.study)))


def test_the_numbers_and_every_file_of_a_report_are_fetched_with_a_token(
    designer: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EXPORT_ROOT = tmp_path
    study = pairwise().study
    _, secret = create_token(
        user=User.objects.get(username="designer"), name="program", scopes=["reports:read", "reports:write"]
    )
    program, headers = Client(), {"Authorization": f"Token {secret}"}
    draft = StudyOf(study.dataset, "graded", name="Draft").study
    Study.objects.filter(pk=draft.pk).update(state=Study.State.DRAFT)
    asked = [
        program.post(f"/api/studies/{one.slug}/report/", content_type="application/json", headers=headers)
        for one in (draft, study, study)
    ]
    assert [answer.status_code for answer in asked] == [409, 202, 409]  # no draft, and no second at once
    run_report_job()
    (head,) = program.get("/api/reports/", {"what": "report"}, headers=headers).json()["results"]
    found = program.get(f"/api/reports/{head['id']}/", headers=headers).json()["result"]
    (section,) = [one for one in found["sections"] if one["name"] == "metrics"]
    assert section["tables"][0]["columns"][:5] == ["metric", "HM", "HM low", "HM high", "HM n"]
    listed = program.get(f"/api/reports/{head['id']}/files/", headers=headers).json()["files"]
    names = {one["name"]: one for one in listed}
    assert {"index.html", "figures/accuracy.pdf", "tables/accuracy.csv", "manifest.json"} <= names.keys()
    for one in listed:
        answer = program.get(one["url"], headers=headers)
        assert answer.status_code == 200, one["name"]
        assert len(answer.content) == one["bytes"]
        assert answer["Content-Type"] == one["content_type"]
        assert answer["Content-Disposition"].startswith("attachment")
    one = names["figures/accuracy.pdf"]
    first = program.get(one["url"], headers=headers)
    again = {"Range": "bytes=10-", "If-Range": first["ETag"], **headers}
    rest = program.get(one["url"], headers=again)
    assert (rest.status_code, rest.content) == (206, first.content[10:])
    assert rest["Content-Range"] == f"bytes 10-{one['bytes'] - 1}/{one['bytes']}"
    assert program.get(one["url"], headers={**headers, "If-None-Match": first["ETag"]}).status_code == 304
    other = names["tables/accuracy.csv"]["url"]
    assert program.get(other, headers=again).status_code == 200  # another file: whole
    behind = program.get(one["url"], headers={**headers, "Range": f"bytes={one['bytes']}-"})
    assert behind.status_code == 416
    whole = program.get(f"/api/reports/{head['id']}/download/", headers=headers)
    assert whole.getvalue().startswith(b"PK")
    for name in ("none.txt", "../db.sqlite3", "figures/"):
        assert program.get(f"/api/reports/{head['id']}/files/{name}/", headers=headers).status_code == 404, (
            name
        )
    evaluate_study(study=study, metrics=["bleu-1"])
    (analysis,) = program.get("/api/reports/", {"what": "meta-evaluation"}, headers=headers).json()["results"]
    refused = program.get(f"/api/reports/{analysis['id']}/files/", headers=headers)
    assert refused.status_code == 404
    assert "is no report" in refused.json()["detail"]
    _, narrow = create_token(
        user=User.objects.get(username="designer"), name="other", scopes=["exports:read"]
    )
    closed = program.get(f"/api/reports/{head['id']}/files/", headers={"Authorization": f"Token {narrow}"})
    assert closed.status_code == 403
