"""The checklist for an ethics board, and ready texts, by page and command; and what a study has without them."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from contrib.ethics.checklist import build_checklist
from judgments.models import Study, StudyRole
from judgments.studies.designs import design_of
from tests.annotation.test_launch_page import checked
from tests.annotation.test_privacy_doors import study_of
from tests.judgments.desk import do, page, words
from tests.marks import long_except
from tests.studies import make_study

pytestmark = pytest.mark.django_db


def answers_of(study: Study) -> dict[str, str]:
    """The answers of the checklist, by the design's key or the question."""
    return {
        line.key or line.question: line.answer for section in build_checklist(study) for line in section.lines
    }


def test_the_checklist_says_what_the_design_says_and_what_is_missing(designer: Client) -> None:
    study = study_of(
        crowd={"reward_cents": 50, "currency": "EUR"},
        seconds_per_unit=30,
        units_per_hit=4,
        contact="board@example.org",
        ethics={"board": "IRB 7 of Example, no. 12", "minimum_age": 18},
        retention={"identities_days": 90},
        workers={"countries": ["DE"]},
    )
    lines = answers_of(study)
    assert lines["ethics.board"] == "IRB 7 of Example, no. 12"
    assert lines["ethics.risks"] == ""
    assert lines["ethics.minimum_age"] == "18 years."
    assert "90 days after" in lines["retention.identities_days"]
    # four items of 30 seconds, one of them a check question, for 50 cents: 50 * 3600 / 120
    assert "0.50 EUR" in lines["What participants are paid"]
    assert "15.00 EUR per hour" in lines["What participants are paid"]
    assert "Germany" in lines["Requirements"]
    call_command("ethics", study.slug, stdout=(out := StringIO()))
    assert (
        "**Risks and how they are reduced** (CR (b)(2), ARR A2)\n\n**You must fill in this line.**"
        in out.getvalue()
    )
    shown = words(designer.get(page(study, "ethics")))
    assert "IRB 7 of Example" in shown
    assert designer.get(page(study, "ethics-file") + "?format=html").content.startswith(b"<!doctype html>")
    missing = sum(1 for answer in lines.values() if not answer)
    assert f"{missing} lines are left for you to fill in." in shown


@pytest.mark.parametrize("case", long_except(["eu", "us", "course", "panel"], "eu", "panel"))
def test_a_usual_case_fills_the_texts_in_every_language_without_typing(designer: Client, case: str) -> None:
    User.objects.filter(username="designer").update(
        first_name="Ada", last_name="Long", email="ada@example.org"
    )
    crowd = {"reward_cents": 30, "currency": "EUR", "floor_cents_per_hour": 1200}
    study = make_study(opened=False, crowd=crowd, seconds_per_unit=60, retention={"identities_days": 30})
    assert 'id="ready-texts" open' in designer.get(page(study, "launch")).content.decode()
    designer.post(do(study, "ready-texts"), {"page": "launch", "case": case})
    points = checked(designer, study)
    assert (points["Consent"][0], points["Contact"][0]) == ("ready", "ready")
    study.refresh_from_db()
    design = design_of(study)
    texts = {"en": design.consent} | {code: words.consent for code, words in design.translations.items()}
    assert len(set(texts.values())) == 6
    shared = ("30", "12", "EUR", design.name, design.question, "Ada Long, ada@example.org", "18")
    for language, text in texts.items():
        assert [part for part in shared if part not in text] == [], language
        others = design.consent.split("\n\n") if language != "en" else []
        assert [part for part in text.split("\n\n") if part in others and len(part) > 30] == [], language
    own = {"eu": "Data Protection Regulation", "us": "IRB", "course": "Your grade", "panel": "your panel"}[
        case
    ]
    assert own in design.consent
    assert sum(part in design.consent for part in ("Data Protection Regulation", "IRB", "Your grade")) == (
        case != "panel"
    )
    # a text of one's own stays; a ready one is said to be of an earlier design
    again = designer.post(do(study, "ready-texts"), {"page": "launch", "case": case}, follow=True)
    assert "already has a consent text" in words(again)
    study.design["crowd"]["reward_cents"] = 40
    study.save()
    assert "design has changed since the ready text" in checked(designer, study)["Consent"][1]
    designer.post(do(study, "ready-texts"), {"page": "launch", "case": case, "replace": "true"})
    assert checked(designer, study)["Consent"][0] == "ready"


@pytest.mark.parametrize(
    ("workers", "requirements"),
    [
        ({"approved_at_least": 1}, "Participants have at least 1 approved page of work."),
        ({"approval_above": 0.95}, "More than 95 % of the participants’ earlier work was approved."),
    ],
)
def test_the_checklist_states_only_requirements_that_are_set(
    workers: dict[str, float], requirements: str
) -> None:
    assert answers_of(study_of(workers=workers))["Requirements"] == requirements


def test_the_checklist_counts_each_caption_of_a_check_question_s_picture() -> None:
    study = make_study(
        "relevance", opened=False, units_per_hit=4, captions_per_image=3, controls={"per_hit": 1}
    )
    assert "contains 3 check questions" in answers_of(study)["Is anything not told to participants?"]


def test_the_checklist_names_every_owner_and_counts_people_by_role() -> None:
    study = study_of()
    for number in range(25):
        user = User.objects.create_user(f"owner-{number:02d}")
        StudyRole.objects.create(study=study, user=user, role=StudyRole.Role.OWNER)
    answers = answers_of(study)
    assert answers["Responsible researchers"].count("owner-") == 25
    assert "(owner: 25)" in answers["People who have access to the data"]
