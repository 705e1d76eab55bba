"""Worked examples before and during the work, and the versions of texts that stand with each assignment."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import Assignment
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from common.errors import DesignError
from evaluation.data.export.exporting import export_judgments
from judgments.design.reading import PRESETS, make_design
from judgments.models import Study, StudyRole
from judgments.studies.generation import generate_hits
from judgments.studies.studies import create_study
from tests.annotation.casting import joined, make_dataset, make_study, with_person

pytestmark = pytest.mark.django_db
EXAMPLE = {
    "image": "secret-file-00.jpg",
    "shown": ["A red square.", "A <b>blue</b> one."],
    "answer": "B",
    "why": "It *is* red. <script>alert(1)</script>",
}


def shown(study: Study, person: Any, path: str) -> str:
    return str(person.client.get(f"/s/{study.slug}/{path}/").content.decode())


def test_examples_stand_before_the_work_and_in_its_panel_of_instructions() -> None:
    study, ada = with_person(make_study(make_dataset(), "pairwise", examples=[EXAMPLE]))
    for path in ("start", "work"):
        html = shown(study, ada, path)
        assert "A worked example" in html
        assert '<span class="label">B</span>' in html
        assert "A &lt;b&gt;blue&lt;/b&gt; one." in html
        assert "It <em>is</em> red." in html
        assert "alert(1)" not in html


def test_the_picture_of_an_example_is_for_those_who_joined_and_who_may_see_the_study() -> None:
    study = make_study(make_dataset(), "pairwise", examples=[EXAMPLE])
    other = joined(make_study(study.dataset, name="Other"), "eve")
    ada = joined(study)
    path = f"/s/{study.slug}/examples/1/picture/"
    assert f'src="{path}"' in shown(study, ada, "start")
    picture = ada.client.get(path)
    assert (picture.status_code, picture["Content-Type"]) == (200, "image/jpeg")
    picture.close()
    viewer, elsewhere = Client(), Client()
    viewer.force_login(viewing := User.objects.create_user("viewer", is_staff=True))
    StudyRole.objects.create(study=study, user=viewing, role="viewer")
    elsewhere.force_login(User.objects.create_user("elsewhere", is_staff=True))
    seen = viewer.get(path)
    assert seen.status_code == 200
    seen.close()
    for stranger in (Client(), elsewhere, other.client):
        assert stranger.get(path).status_code == 404
    for number in (0, 2):
        assert ada.client.get(f"/s/{study.slug}/examples/{number}/picture/").status_code == 404


def test_an_example_with_a_picture_that_is_not_there_is_refused_before_anything_is_stored() -> None:
    dataset = make_dataset()
    values = {"name": "n", "dataset": dataset.name, "protocol": "graded"}
    study = create_study(design=make_design(values | {"examples": [EXAMPLE | {"image": "gone.jpg"}]}))
    with pytest.raises(DesignError, match=r"example 1 names image 'gone.jpg'"):
        generate_hits(study=study)
    study.refresh_from_db()
    assert study.state == "draft"


def test_no_preset_of_a_paper_shows_an_example_that_the_paper_lacks() -> None:
    """V15 gives workers "no explicit concept" of similarity, and asks for the better description without a word."""
    for name in PRESETS:
        assert make_design({"name": "n", "dataset": "d", "preset": name}).examples == ()
    for name in ("vedantam-2015-triplet", "vedantam-2015-pairwise"):
        assert make_design({"name": "n", "dataset": "d", "preset": name}).instructions == ""


def test_the_preset_of_grades_says_what_each_grade_means_in_the_paper() -> None:
    preset = PRESETS["hodosh-2013-graded"]
    lines = preset.values["instructions"].strip().splitlines()
    assert [line[:7] for line in lines] == ["- **4**", "- **3**", "- **2**", "- **1**"]
    assert "instructions" in preset.ours  # the paper's guidelines are in an appendix; these words are not


def test_each_assignment_keeps_which_texts_its_worker_read() -> None:
    dataset = make_dataset()
    texts: list[dict[str, Any]] = [
        {"consent": "You may stop.", "instructions": "Read both."},
        {"consent": "You may stop.", "instructions": "Read both twice."},
        {"consent": "You may stop at any time.", "instructions": "Read both."},
        {"consent": "You may stop.", "instructions": "Read both.", "examples": [EXAMPLE]},
    ]
    versions = []
    for number, values in enumerate(texts):
        study = make_study(dataset, name=f"Study {number}", **values)
        worker = joined(study, f"worker-{number}", consent=True).worker
        claim_assignment(study=study, worker=worker)
        held = Assignment.objects.get(study=study)
        versions.append((held.consent_version, held.instructions_version))
    consents, instructions = zip(*versions, strict=True)
    assert len(set(consents)) == 2
    assert consents[0] == consents[1] == consents[3]
    assert instructions[0] == instructions[2]
    assert len(set(instructions)) == 3
    assert all(len(version) == 16 for version in consents + instructions)


def test_designers_see_the_versions_with_the_assignment(admin_client: Client) -> None:
    study = make_study(make_dataset(), consent="You may stop.")
    claim_assignment(study=study, worker=joined(study, consent=True).worker)
    held = Assignment.objects.get()
    page = admin_client.get(f"/admin/annotation/assignment/{held.pk}/change/").content.decode()
    assert held.consent_version in page
    assert held.instructions_version in page


def test_an_export_s_manifest_counts_the_versions_that_were_read(tmp_path: Path) -> None:
    study = make_study(make_dataset(), consent="You may stop.")
    for name in ("ada", "bob"):
        claim = claim_assignment(study=study, worker=joined(study, name, consent=True).worker)
        assert claim is not None
        claim.assignment.study = study
        answers = [{"position": place.position, "value": 1} for place in claim.page_units]
        submit_assignment(assignment=claim.assignment, answers=answers)
    made = export_judgments(study=study, format="jsonl", output=tmp_path / "out.jsonl")
    one = Assignment.objects.filter(study=study)[0]
    assert made.manifest["texts_read"] == [
        {
            "consent_version": one.consent_version,
            "instructions_version": one.instructions_version,
            "assignments": 2,
        }
    ]
