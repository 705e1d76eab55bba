"""A study on pages of Mechanical Turk's own: answers come by the service alone."""

import re

import pytest
from django.utils.translation import gettext, override

from annotation.crowds.publishing import close_study, open_study
from annotation.models import Assignment, Judgment, Participation
from common.errors import WrongState
from judgments.design.reading import make_design
from judgments.models import Item, Study
from judgments.studies.generation import generate_hits
from judgments.studies.studies import create_study
from tests.annotation.casting import make_dataset
from tests.annotation.crowds.turking import CROWD, kinds_of, same_money, sync, up
from tests.fakes.mturk import MTurkEmulator


def page_study(**values: object) -> Study:
    dataset = make_dataset(pictures=False)
    for item in Item.objects.all():
        item.url = f"https://pictures.example/{item.position}.jpg"
        item.save()
    wanted = {
        "name": "Pages", "dataset": dataset.name, "protocol": "triplet", "judgments_per_unit": 2, "units_per_hit": 4,
        "sampling": {"pairs": {"MM": 4}, "references": 1}, "controls": {"per_hit": 0},
        "crowd": CROWD | {"question": "html"}, "question": "Which is closer?",
    }  # fmt: skip
    study = create_study(design=make_design(wanted | values))
    generate_hits(study=study)
    return study


def answers_on(turk: MTurkEmulator, external_id: str, *, layout: str = "0", leave: int = 0) -> dict[str, str]:
    """The first answer to every question of the page as the service holds it."""
    page = turk.world.hits[external_id].question.xml
    fields: dict[str, str] = {}
    for name, value in re.findall(r'<input type="radio" name="([^"]+)" value="([^"]+)"', page):
        fields.setdefault(name, value)
    kept = dict(list(fields.items())[: len(fields) - leave])
    return kept | {"layout": layout}


def test_answers_become_judgments_as_they_were_shown(turk: MTurkEmulator) -> None:
    study = page_study()
    open_study(study=study)
    (publication,) = up(study)
    for name, layout in (("ada", "0"), ("ben", "1")):
        turk.turker(f"A{name.upper()}").work(
            publication.external_id, answers_on(turk, publication.external_id, layout=layout)
        )
    assert sync(study).discrepancies == []
    assert set(Assignment.objects.values_list("state", flat=True)) == {"submitted"}
    drawn, mirrored = Assignment.objects.order_by("session__pk")
    assert drawn.order == mirrored.order
    assert [not side for side in drawn.flips] == mirrored.flips
    # the same place was pressed on the page and on its mirror
    pairs = zip(
        Judgment.objects.filter(assignment=drawn).order_by("unit"),
        Judgment.objects.filter(assignment=mirrored).order_by("unit"),
        strict=True,
    )
    assert all({first.value, second.value} == {1, 2} for first, second in pairs)
    assert sync(study, thorough=True).assignments == {"submitted": 2}
    assert Judgment.objects.count() == 8


def test_the_page_is_in_the_study_s_language(turk: MTurkEmulator) -> None:
    arabic = {"question": "أيهما أقرب؟", "instructions": "اقرأ كل شيء."}
    study = page_study(language="ar-EG", instructions="Read all.", translations={"ar": arabic})
    open_study(study=study)
    (publication,) = up(study)
    page = turk.world.hits[publication.external_id].question.xml
    assert '<html lang="ar" dir="rtl">' in page
    with override("ar"):
        assert gettext("Comment (optional)") in page
    assert "أيهما أقرب؟" in page
    assert "Read all." not in page
    turk.turker("AADA").work(publication.external_id, answers_on(turk, publication.external_id))
    assert sync(study).assignments == {"submitted": 1}


def test_work_that_leaves_questions_out_is_named_and_stores_nothing(turk: MTurkEmulator) -> None:
    study = page_study()
    open_study(study=study)
    (publication,) = up(study)
    fields = answers_on(turk, publication.external_id, leave=1)
    turk.turker("AADA").work(publication.external_id, fields)
    turk.turker("ABEN").work(publication.external_id, {"layout": "9"})
    assert kinds_of(sync(study)) == ["no-answers", "no-answers"]
    assert not Judgment.objects.exists()
    same_money(study, turk)


def test_who_did_not_agree_to_the_consent_text_leaves_nothing(turk: MTurkEmulator) -> None:
    study = page_study(consent="You may **stop** at any time.")
    open_study(study=study)
    (publication,) = up(study)
    fields = answers_on(turk, publication.external_id)
    turk.turker("AADA").work(publication.external_id, {**fields, "consent": "1"})
    turk.turker("ABEN").work(publication.external_id, fields)
    (found,) = sync(study).discrepancies
    assert found.kind == "no-answers"
    assert "did not agree to the study's consent text" in found.words
    assert Assignment.objects.get().state == "submitted"
    assert Participation.objects.get(study=study).consented_at is not None


def test_a_quiz_that_such_a_page_could_not_ask_is_refused_before_anything_is_put_up(
    turk: MTurkEmulator,
) -> None:
    study = page_study(quiz={"items": 2})
    with pytest.raises(WrongState, match=r"quiz\.items"):
        open_study(study=study)
    assert turk.world.hits == {}


def test_who_hands_in_after_the_study_closed_here_is_taken(turk: MTurkEmulator) -> None:
    study = page_study()
    open_study(study=study)
    (publication,) = up(study)
    taken = turk.turker("AADA").accept(publication.external_id)
    close_study(study=study)
    turk.turker("AADA").submit(taken.assignment_id, answers_on(turk, publication.external_id))
    assert sync(study).discrepancies == []
    assert Assignment.objects.get().state == "submitted"


def test_pictures_that_workers_cannot_load_are_refused_before_anything_is_published(
    turk: MTurkEmulator,
) -> None:
    study = page_study(protocol="graded", sampling={})
    Item.objects.update(url="")
    with pytest.raises(
        WrongState, match=r"Nothing was published: HIT .* can show pictures with an https address only"
    ):
        open_study(study=study)
    assert turk.dump()["hits"] == []
