"""Error analysis, the next batch from what metrics and people disagree on, and known items from full agreement."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from common.errors import NotThere, WrongState
from evaluation.models import Analysis, Consensus, MetricScore
from evaluation.planning.follow_up.units import (
    candidate_of,
    make_next_batch,
    take_known_items,
    units_for_known_items,
)
from evaluation.results.aggregation import aggregate_study
from evaluation.results.error_analysis.analysis import (
    certainty,
    quantiles,
    rank_captions,
    rank_pairs,
)
from evaluation.results.error_analysis.views import side_by_side
from evaluation.results.meta_evaluation import evaluate_study
from judgments.drawing.controls import KNOWN_GOOD
from judgments.kinds import KINDS
from judgments.models import Study, StudyEvent, Unit
from judgments.studies.generation import generate_hits
from judgments.studies.studies import design_of
from judgments.templatetags.judgments_tags import coefficient
from tests.annotation.test_control_items import right, work
from tests.doors import signed_in
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.evaluation.test_study_page import IMAGES, pairwise
from tests.judgments.desk import do, page
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db
METRICS = ["bleu-1", "rouge-l", "cider-d"]


def evaluated(made: StudyOf) -> StudyOf:
    aggregate_study(study=made.study)
    evaluate_study(study=made.study, metrics=METRICS)
    return made


@pytest.fixture(scope="module")
def pairs(module_db: None) -> StudyOf:
    """Pair p2 is won by the caption that no metric names; of p1 all say the same."""
    return evaluated(pairwise())


@pytest.fixture(scope="module")
def grades(module_db: None) -> StudyOf:
    return graded()


def graded() -> StudyOf:
    """What people like best, A zebra, metrics like least."""
    made = StudyOf(make_dataset("graded-pets", IMAGES), "graded")
    texts = ["A zebra", "A brown dog .", "The dog is on the grass .", "A dog runs on grass"]
    made.judge_texts(texts, {"w-1": [4, 3, 1, 2], "w-2": [4, 3, 1, 2]})
    return evaluated(made)


def look(study: Study, key: str, metric: str = "") -> str:
    return f"{page(study, 'closer-look')}?id={key}&metric={metric}"


class TestTheRanking:
    def test_votes_say_how_sure_people_are(self) -> None:
        # p = 1 - 1/2 ** (n + 1) where n of n say the same, from a uniform prior
        found = certainty(np.array([0.0, 1, 3, 2, 5]), np.array([0.0, 0, 0, 2, 0]))
        assert found == pytest.approx([0, 0.5, 0.875, 0, 1 - 2 / 64])

    def test_quantiles_count_what_lies_below(self) -> None:
        assert quantiles(np.array([3.0, 1, 1, 9])) == pytest.approx([0.625, 0.25, 0.25, 0.875])
        assert quantiles(np.array([])).size == 0

    def test_only_pairs_that_are_decided_and_opposed_are_listed_the_surest_first(self) -> None:
        first, second = np.array([0.9, 0.5, 0.2, 0.4, 0.1]), np.array([0.1, 0.4, 0.9, 0.4, 0.9])
        winner = np.array([2, 2, 2, 1, 0])
        found = rank_pairs(first, second, winner, np.array([0.0, 0, 0, 3, 1]), np.array([3.0, 3, 3, 0, 1]))
        assert found.rows.tolist() == [0, 1]  # 2 agrees, 3 is a tie of the metric, 4 has no winner
        assert found.compared == 4
        assert found.size == pytest.approx(found.metric * found.people)
        assert found.metric[0] > found.metric[1]

    def test_a_winner_without_votes_is_as_sure_as_one_vote(self) -> None:
        found = rank_pairs(np.array([1.0]), np.array([0.0]), np.array([2]), np.zeros(1), np.zeros(1))
        assert found.people.tolist() == [0.5]

    def test_captions_are_listed_by_how_far_their_ranks_are_apart(self) -> None:
        found = rank_captions(np.array([0.1, 0.2, 0.3, 5.0]), np.array([4.0, 2, 3, np.nan]))
        assert found.rows.tolist() == [0, 1, 2]
        assert found.size == pytest.approx([2 / 3, 1 / 3, 1 / 3])
        assert found.compared == 3


def test_the_list_holds_what_is_opposed_with_votes_and_scores(pairs: StudyOf, designer: Client) -> None:
    address = page(pairs.study, "closer")
    response = designer.get(f"{address}?metric=bleu-1")
    [row] = response.context["rows"]
    assert (row["key"], row["people"]) == ("p2", "2, by 1 of 1 item")
    assert row["sure"] == "75 %"  # two of two votes
    assert [name for name, _, _ in row["scores"]] == [
        "bleu-1",
        *[name for name in METRICS if name != "bleu-1"],
    ]
    assert "1 of 2" in words(response)
    assert designer.get(f"{address}?metric=nonsense&kind=XX&page=99").status_code == 200


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        (0.5, 0.4, (".50", ".40")),
        (0.1234, 0.1236, (".123", ".124")),
        (1e-6, 2e-6, (".00", ".00")),
        (-0.001, None, (".00", "")),
    ],
)
def test_two_scores_have_the_digits_that_part_them(
    first: float, second: float | None, shown: tuple[str, str]
) -> None:
    assert side_by_side(first, second) == shown


def test_a_coefficient_has_no_negative_zero() -> None:
    assert [coefficient(value) for value in (-0.001, -0.05, 0.62, 1.0, None)] == [
        ".00",
        "-.05",
        ".62",
        "1.00",
        "–",
    ]


def test_captions_whose_ranks_differ_are_listed_for_graded_studies(grades: StudyOf, designer: Client) -> None:
    rows = designer.get(page(grades.study, "closer") + "?metric=bleu-1").context["rows"]
    assert rows[0]["texts"] == [("1", "A zebra", False)]
    assert rows[0]["people"].endswith("of 2")


def test_before_anything_is_computed_the_page_says_what_to_do(pairs: StudyOf, designer: Client) -> None:
    Analysis.objects.all().delete()
    assert "Nothing to look at yet" in words(designer.get(page(pairs.study, "closer")))
    assert "p1" in words(designer.get(look(pairs.study, "p1")))


def test_a_pair_is_seen_with_votes_and_the_stored_scores(pairs: StudyOf, designer: Client) -> None:
    for metric in METRICS:
        response = designer.get(look(pairs.study, "p2", metric))
        shown = words(response)
        assert "caption 2 w-1" in shown
        assert "caption 1 w-3 (excluded)" in shown
        stored = MetricScore.objects.get(pair__key="p2", metric=metric)
        assert stored.second is not None
        second = "< .001" if 0 < stored.second < 0.0005 else f"{stored.second:.3f}".removeprefix("0")
        (row,) = [row for row in response.context["metrics"] if row["name"] == metric]
        assert (row["first"], row["second"]) == (f"{stored.first:.3f}", second)


@pytest.mark.parametrize(
    ("made", "compares", "people"),
    [
        ("pairs", True, {"p1": "1, by 1 of 1 item", "p2": "2, by 1 of 1 item"}),
        ("grades", False, {"u0": "mean 4 of 2", "u3": "mean 2 of 2"}),
    ],
)
def test_people_name_the_winner_of_a_pair_and_give_a_caption_a_mean(
    made: str, compares: bool, people: dict[str, str], pairs: StudyOf, grades: StudyOf, designer: Client
) -> None:
    # Both are made before the test's own transaction begins, in whichever order tests are drawn.
    study = {"pairs": pairs, "grades": grades}[made].study
    shown = {key: designer.get(look(study, key)) for key in people}
    assert {key: one.context["people"] for key, one in shown.items()} == people
    assert {one.context["compares_pairs"] for one in shown.values()} == {compares}


def test_captions_are_escaped(pairs: StudyOf, designer: Client) -> None:
    pairs.study.pairs.update(first=candidate(pairs.dataset, "<script>alert(1)</script> dog"))
    for address in (page(pairs.study, "closer"), look(pairs.study, "p2")):
        shown = designer.get(address).content.decode()
        assert "<script>alert(1)" not in shown
        assert "&lt;script&gt;alert(1)" in shown


def test_an_unknown_id_is_not_found(pairs: StudyOf, designer: Client) -> None:
    assert designer.get(look(pairs.study, "nonsense")).status_code == 404
    assert designer.get(page(pairs.study, "closer-look")).status_code == 404


def test_the_pages_cost_as_many_queries_however_much_they_show(
    pairs: StudyOf, designer: Client, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    made = StudyOf(pairs.dataset, "pairwise", slug="many")
    for number in range(40):
        pair = made.pair(f"p{number}", "a.jpg", f"Grey rain {number}", "A brown dog is running .")
        made.answer(made.hit(f"h{number}", [made.unit(f"u{number}", pair=pair)]), f"w-{number}", [1])
    evaluated(made)
    with django_assert_max_num_queries(16):
        assert len(designer.get(page(made.study, "closer")).context["rows"]) == 25
    with django_assert_max_num_queries(20):
        designer.get(look(made.study, "p1", "cider-d"))


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

    def test_what_cannot_be_made_is_refused_in_a_sentence_and_changes_nothing(self, pairs: StudyOf) -> None:
        before = Study.objects.count()
        with pytest.raises(WrongState, match="choose at least one"):
            make_next_batch(study=pairs.study, keys=[])
        with pytest.raises(NotThere, match="has no 'p9'"):
            make_next_batch(study=pairs.study, keys=["p1", "p9"])
        imported = StudyOf(pairs.dataset, "relevance", imported=True)
        imported.unit("u1", "a.jpg", first="A dog")
        with pytest.raises(WrongState, match="imported judgments"):
            make_next_batch(study=imported.study, keys=["u1"])
        written = StudyOf(pairs.dataset, "caption")
        with pytest.raises(WrongState, match="no units that could be chosen"):
            make_next_batch(study=written.study, keys=["u1"])
        assert Study.objects.count() == before + 2


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


@pytest.mark.parametrize("protocol", ["triplet", "pairwise", "relevance", "graded"])
def test_what_everybody_agreed_on_becomes_control_items_of_the_next_study(protocol: str) -> None:
    before = judged(protocol)
    draft = make_study(protocol, opened=False, name="Next", slug="next")
    kind = KINDS[protocol]
    offered = list(units_for_known_items(draft))
    chosen = [one for one in offered if candidate_of(kind, one) is not None][:3]
    assert before.units.filter(control=False)[0].pk not in {
        one.unit_id for one in offered if candidate_of(kind, one) is not None
    }
    assert take_known_items(study=draft, chosen=[one.pk for one in chosen]) == 3
    assert take_known_items(study=draft, chosen=[one.pk for one in chosen]) == 0, (
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
    with pytest.raises(WrongState, match="No known item was added"):
        take_known_items(study=draft, chosen=[odd.pk])
    Consensus.objects.filter(pk=odd.pk).update(source=Consensus.Source.ADJUDICATED, value=4)
    take_known_items(study=draft, chosen=[odd.pk])
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
    shown = designer.get(address).content.decode()
    ticks = shown.count('name="chosen"')
    assert ticks >= 3
    pk = shown.split('name="chosen" value="')[1].split('"')[0]
    answer = designer.post(do, {"chosen": [pk]}, follow=True).content.decode()
    assert "1 known item added to the design" in answer
    assert "holds 1 known item now" in answer
