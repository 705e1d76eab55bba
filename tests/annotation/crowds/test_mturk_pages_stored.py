"""The answers of a self-contained page become the judgments that were meant, whichever layout was shown."""

import pytest

from annotation.crowds.mturk.pages import answers_of_page, html_question
from annotation.models import Judgment
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from annotation.work.worksheet import units_of_hit
from judgments.models import Item
from judgments.studies.studies import design_of
from tests.annotation.casting import joined, make_dataset, make_study
from tests.fakes.mturk.questions import answers_document

HOSTS = ("https://workersandbox.mturk.com",)


@pytest.mark.django_db
@pytest.mark.parametrize("layout", ["0", "1"])
@pytest.mark.parametrize("protocol", ["triplet", "pairwise"])
def test_a_submission_through_mechanical_turk_is_stored_in_the_units_own_order(
    protocol: str, layout: str
) -> None:
    dataset = make_dataset(pictures=False)
    for item in dataset.items.all():
        Item.objects.filter(pk=item.pk).update(url=f"https://pictures.example.org/{item.pk}.jpg")
    study = make_study(dataset, protocol)
    claim = claim_assignment(study=study, worker=joined(study).worker)
    assert claim is not None
    assignment = claim.assignment
    design, hit = design_of(study), assignment.hit
    assert hit is not None
    units = units_of_hit(hit.pk)
    assert html_question(design=design, hit=hit, units=units, hosts=HOSTS)
    fields = [(f"u{n}", "1") for n in range(1, len(units) + 1)]
    found = answers_of_page(
        answers_document([*fields, ("layout", layout)]), design=design, hit=hit, units=units
    )
    assignment.order, assignment.flips = found.layout.order, found.layout.sides
    assignment.save(update_fields=["order", "flips"])
    submit_assignment(assignment=assignment, answers=found.answers)
    stored = dict(Judgment.objects.filter(assignment=assignment).values_list("unit_id", "value"))
    # whoever took the first shown took the second of the unit where sides were swapped
    assert stored == {
        units[unit].pk: 2 if side else 1
        for unit, side in zip(found.layout.order, found.layout.sides, strict=True)
    }
    assert {1, 2} == set(stored.values())


@pytest.mark.django_db
def test_ticks_of_a_self_contained_page_are_stored_for_every_caption_of_its_pictures() -> None:
    dataset = make_dataset(pictures=False)
    dataset.items.update(url="https://pictures.example.org/a.jpg")
    study = make_study(dataset, "relevance")
    claim = claim_assignment(study=study, worker=joined(study).worker)
    assert claim is not None
    assert claim.assignment.hit is not None
    design, units = design_of(study), units_of_hit(claim.assignment.hit.pk)
    none = [(f"none{n}", "1") for n in range(1, len(units) + 1)]
    found = answers_of_page(answers_document(none), design=design, hit=claim.assignment.hit, units=units)
    assert found.missing == []
    submit_assignment(assignment=claim.assignment, answers=found.answers)
    assert set(Judgment.objects.values_list("value", flat=True)) == {0}
    assert Judgment.objects.count() == len(units)
