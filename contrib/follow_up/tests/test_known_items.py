"""Known items of a draft, from items on which everybody agreed."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from common.errors import WrongState
from contrib.follow_up.known_items import candidate_of, take_known_items, units_for_known_items
from evaluation.models import Consensus
from evaluation.results.aggregation import aggregate_study
from judgments.drawing.controls.makers import KNOWN_GOOD
from judgments.kinds import KINDS
from judgments.models import Study, Unit
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from tests.annotation.test_control_items import right, work
from tests.doors import signed_in
from tests.marks import long_except
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


def judged(protocol: str) -> Study:
    """Three workers who agree on everything but the first unit."""
    study = make_study(protocol)
    odd = Unit.objects.filter(study=study, control=False)[0].pk
    kind, answer = KINDS[protocol], right(study)
    for number in range(3):
        worker, _ = make_worker(study, f"{protocol}-{number}")
        last = number == 2
        work(
            study,
            worker,
            lambda place, last=last: (
                kind.sides.from_canonical(kind.values[-1], side=place.side)
                if last and place.unit.pk == odd
                else answer(place)
            ),
        )
    aggregate_study(study=study)
    return study


@pytest.mark.parametrize(
    "protocol", long_except(["triplet", "pairwise", "relevance", "graded"], "pairwise", "graded")
)
def test_what_everybody_agreed_on_becomes_control_items_of_the_next_study(protocol: str) -> None:
    before = judged(protocol)
    draft = make_study(protocol, opened=False, name="Next", slug="next")
    kind = KINDS[protocol]
    offered = list(units_for_known_items(draft))
    chosen = [one for one in offered if candidate_of(kind, one) is not None][:3]
    assert before.units.filter(control=False)[0].pk not in {
        one.unit_id for one in offered if candidate_of(kind, one) is not None
    }
    assert take_known_items(study=draft, consensus_ids=[one.pk for one in chosen]) == 3
    assert take_known_items(study=draft, consensus_ids=[one.pk for one in chosen]) == 0, (
        "the same again changes nothing"
    )
    draft.refresh_from_db()
    known = design_of(draft).controls.known
    assert [item.image for item in known] == [one.unit.item.name for one in chosen if one.unit]
    generate_hits(study=draft)
    made = Unit.objects.filter(study=draft, control_kind=KNOWN_GOOD)
    assert made.exists()
    texts = {one.unit.first_id for one in chosen if one.unit} | {
        one.unit.second_id for one in chosen if one.unit
    }
    assert {unit.first_id for unit in made} <= texts, "found among the dataset's captions, not made again"


def test_a_decision_of_an_adjudicator_is_enough() -> None:
    study = judged("graded")
    odd = Consensus.objects.get(unit=study.units.filter(control=False)[0])
    draft = make_study("graded", opened=False, name="Next", slug="next")
    with pytest.raises(WrongState, match="item was added"):
        take_known_items(study=draft, consensus_ids=[odd.pk])
    Consensus.objects.filter(pk=odd.pk).update(source=Consensus.Source.ADJUDICATED, value=4)
    take_known_items(study=draft, consensus_ids=[odd.pk])
    draft.refresh_from_db()
    assert [item.expected for item in design_of(draft).controls.known] == ["3-4"]


def test_the_page_offers_them_to_designers_alone(django_assert_max_num_queries: object) -> None:
    judged("pairwise")
    draft = make_study("pairwise", opened=False, name="Next", slug="next")
    address = reverse("admin:judgments_study_known", args=[draft.pk])
    stranger = Client()
    assert stranger.get(address).status_code == 302
    do = reverse("admin:judgments_study_do", args=[draft.pk, "take-known"])
    assert stranger.post(do, {"chosen": "1"}).status_code == 302
    designer = signed_in(User.objects.create_superuser("designer"))
    controls = designer.get(reverse("admin:judgments_study_controls", args=[draft.pk])).content.decode()
    assert f'<a href="{address}">Choose known items</a>' in controls
    shown = designer.get(address).content.decode()
    ticks = shown.count('name="chosen"')
    assert ticks >= 3
    pk = shown.split('name="chosen" value="')[1].split('"')[0]
    answer = designer.post(do, {"chosen": [pk]}, follow=True).content.decode()
    assert "1 known item added to the design" in answer
    assert "has 1 known item" in answer
