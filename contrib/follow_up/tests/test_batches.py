"""Drafts that follow a study: chosen rows again, and new items."""

import pytest
from django.test import Client
from django.urls import reverse

from common.errors import ObjectNotFound, WrongState
from contrib.follow_up.batches import make_batch_of_new_items, make_next_batch
from judgments.drawing.material import screen_of
from judgments.models import Study, StudyEvent, Unit
from judgments.studies.designs import design_of
from judgments.studies.generation.batches import build_batch
from judgments.studies.generation.hand_changes import change_by_hand
from judgments.studies.generation.hits import generate_hits
from tests.annotation.casting import make_study as make_drawn
from tests.annotation.sourcing import make_texts, side_by_side
from tests.evaluation.studies import StudyOf
from tests.evaluation.test_scales import better_and_worse, rehearsed
from tests.evaluation.test_study_page import pairwise
from tests.judgments.desk import do, page
from tests.refusals import refuses
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db


class TestTheNextBatch:
    def test_one_click_makes_a_draft_of_the_chosen_pairs_and_both_logs_say_so(self, designer: Client) -> None:
        study = make_study("pairwise")
        keys = sorted(study.pairs.values_list("key", flat=True))[:2]
        response = designer.post(
            do(study, "next-batch"),
            {"chosen": keys, "why": "metrics say the opposite", "page": "closer"},
        )
        batch = Study.objects.latest("pk")
        assert response["Location"] == page(batch, "change")
        assert (batch.state, batch.dataset_id) == ("draft", study.dataset_id)
        assert {**batch.design["sampling"], "only": []} == study.design["sampling"]
        generate_hits(study=batch)
        assert sorted(batch.pairs.values_list("key", flat=True)) == keys
        assert set(batch.units.filter(control=False).values_list("key", flat=True)) == set(
            study.units.filter(pair__key__in=keys).values_list("key", flat=True)
        )
        for event, other in ((study.slug, batch.slug), (batch.slug, study.slug)):
            noted = StudyEvent.objects.get(slug=event, what="next-batch")
            assert other in noted.words
            assert noted.why == "metrics say the opposite"
            assert noted.by is not None

    def test_what_cannot_be_made_is_refused_in_a_sentence_and_changes_nothing(self) -> None:
        pairs = pairwise()
        before = Study.objects.count()
        with pytest.raises(WrongState, match="select at least"):
            make_next_batch(study=pairs.study, keys=[])
        with refuses(ObjectNotFound, "'p9'"):
            make_next_batch(study=pairs.study, keys=["p1", "p9"])
        imported = StudyOf(pairs.dataset, "relevance", imported=True)
        imported.unit("u1", "a.jpg", first="A dog")
        with pytest.raises(WrongState, match="were imported"):
            make_next_batch(study=imported.study, keys=["u1"])
        written = StudyOf(pairs.dataset, "caption")
        with pytest.raises(WrongState, match="chosen"):
            make_next_batch(study=written.study, keys=["u1"])
        assert Study.objects.count() == before + 2


def test_a_follow_up_asks_the_text_beside_again_too() -> None:
    study = side_by_side()
    keys = list(study.units.filter(control=False).order_by("item", "position").values_list("key", flat=True))
    batch = make_next_batch(study=study, keys=[keys[0], keys[2]])
    generate_hits(study=batch)
    assert sorted(batch.units.filter(control=False).values_list("key", flat=True)) == sorted(keys[:4])

    odd = make_drawn(
        make_texts("odd", systems=3), "spans", slug="odd", judged="translation", controls={"per_hit": 0},
        units_per_hit=6, spans={"contrastive": True},
    )  # fmt: skip
    alone = next(unit.key for unit in odd.units.all() if screen_of(unit) is None)
    followed = make_next_batch(study=odd, keys=[alone])
    assert not design_of(followed).spans.contrastive
    generate_hits(study=followed)
    assert [unit.key for unit in followed.units.all()] == [alone]


def test_a_batch_of_chosen_items_does_not_name_their_chances_of_being_chosen() -> None:
    make_dataset(images=12, systems=3)
    study = make_study("graded", opened=False)
    units = [unit for hit in build_batch(design_of(study), study.dataset).hits for unit in hit.units]
    chances = {unit.key: 1.0 for unit in units if not unit.control}
    study.design["chosen"] = {
        "method": "even", "scores": {}, "seed": 0, "floor": 1.0, "per": "images", "budget": 12, "population": 12,
        "chances": chances,
    }  # fmt: skip
    study.design["sampling"]["only"] = sorted(chances)
    study.save()
    generate_hits(study=study)
    key = study.units.filter(control=False)[0].key
    assert "chosen" in study.design
    assert "chosen" not in make_next_batch(study=study, keys=[key]).design


def test_changes_by_hand_are_not_made_to_new_items() -> None:
    make_dataset(images=12)
    study = make_study("relevance", opened=False, sampling={"images": 2})
    batch = build_batch(design_of(study), study.dataset)
    item = next(unit.key for unit in batch.hit_units() if not unit.control)
    study = change_by_hand(study=study, change={"item": item, "out": True})
    generate_hits(study=study)
    new_batch = make_batch_of_new_items(study=study, items=2)
    generate_hits(study=new_batch)
    assert new_batch.units.filter(control=False).exists()


def test_new_items_become_a_draft_without_the_old_ones(admin_client: Client) -> None:
    better_and_worse()
    study = rehearsed("slider", "halves", accuracy=0.6, sampling={"images": 3})
    Study.objects.filter(pk=study.pk).update(simulated=False)
    study.refresh_from_db()
    address = reverse("admin:judgments_study_do", args=[study.pk, "more-items"])
    response = admin_client.post(address, {"items": "2", "page": "results"})
    assert response.status_code == 302
    batch = Study.objects.exclude(pk=study.pk).latest("pk")
    generate_hits(study=batch)

    def judged(of: Study) -> set[int]:
        return set(Unit.objects.filter(study=of, control=False).values_list("item", flat=True))

    assert len(judged(batch)) == 2
    assert not judged(batch) & judged(study)
    with refuses(WrongState, "Upload more items first", "3", "4"):
        make_batch_of_new_items(study=study, items=4)
