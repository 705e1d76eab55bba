"""Error analysis: the ranking of disagreements, the page of the list, and that of one pair or caption."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.test import Client

from contrib.error_analysis.ranking import certainty, quantiles, rank_captions, rank_pairs
from contrib.error_analysis.views import side_by_side
from evaluation.models import Analysis, Consensus, MetricScore
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments import cached_figures
from judgments.jobs.claims import run_job
from judgments.models import Job, Study
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.evaluation.test_study_page import IMAGES, pairwise
from tests.judgments.desk import page

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
    assert (row["key"], row["people_answer"]) == ("p2", "text 2, chosen for 1 of 1 item")
    assert row["people_certainty"] == "75\N{NO-BREAK SPACE}%"  # two of two votes
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


def test_captions_whose_ranks_differ_are_listed_for_graded_studies(grades: StudyOf, designer: Client) -> None:
    rows = designer.get(page(grades.study, "closer") + "?metric=bleu-1").context["rows"]
    assert rows[0]["texts"] == [("1", "A zebra", False)]
    assert rows[0]["people_answer"].endswith("(answers: 2)")


def test_before_anything_is_computed_the_page_says_what_to_do(pairs: StudyOf, designer: Client) -> None:
    Analysis.objects.all().delete()
    assert "Nothing to show yet" in words(designer.get(page(pairs.study, "closer")))
    assert "p1" in words(designer.get(look(pairs.study, "p1")))


def test_a_pair_is_seen_with_votes_and_the_stored_scores(pairs: StudyOf, designer: Client) -> None:
    for metric in METRICS:
        response = designer.get(look(pairs.study, "p2", metric))
        shown = words(response)
        assert "text 2 w-1" in shown
        assert "text 1 w-3 (excluded)" in shown
        stored = MetricScore.objects.get(pair__key="p2", metric=metric)
        assert stored.second is not None
        second = "< .001" if 0 < stored.second < 0.0005 else f"{stored.second:.3f}".removeprefix("0")
        (row,) = [row for row in response.context["metric_rows"] if row["name"] == metric]
        assert (row["first"], row["second"]) == (f"{stored.first:.3f}", second)


@pytest.mark.parametrize(
    ("scores", "winner", "agrees"),
    [((0.2, 0.1), "1", False), ((0.1, 0.2), "2", True), ((0.3, 0.1 + 0.2), "tie", False)],
)
def test_a_metric_names_the_winner_that_results_count(
    scores: tuple[float, float], winner: str, agrees: bool, pairs: StudyOf, designer: Client
) -> None:
    MetricScore.objects.filter(pair__key="p2", metric="bleu-1").update(first=scores[0], second=scores[1])
    rows = designer.get(look(pairs.study, "p2")).context["metric_rows"]
    (row,) = [row for row in rows if row["name"] == "bleu-1"]
    assert (row["winner"], row["agrees_with_people"]) == (winner, agrees)


@pytest.mark.parametrize(
    ("made", "compares", "people"),
    [
        ("pairs", True, {"p1": "text 1, chosen for 1 of 1 item", "p2": "text 2, chosen for 1 of 1 item"}),
        ("grades", False, {"u0": "mean 4.00 (answers: 2)", "u3": "mean 2.00 (answers: 2)"}),
    ],
)
def test_people_name_the_winner_of_a_pair_and_give_a_caption_a_mean(
    made: str, compares: bool, people: dict[str, str], pairs: StudyOf, grades: StudyOf, designer: Client
) -> None:
    # Both are made before the test's own transaction begins, in whichever order tests are drawn.
    study = {"pairs": pairs, "grades": grades}[made].study
    shown = {key: designer.get(look(study, key)) for key in people}
    assert {key: one.context["people_answer"] for key, one in shown.items()} == people
    assert {one.context["compares_pairs"] for one in shown.values()} == {compares}


def test_a_tied_pair_has_no_consensus(pairs: StudyOf, designer: Client) -> None:
    Consensus.objects.filter(pair__key="p1").update(value=None, tie=True)
    assert designer.get(look(pairs.study, "p1")).context["people_answer"] == "no consensus"


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


def test_a_large_study_is_ranked_by_a_job_and_new_results_are_ranked_anew(
    pairs: StudyOf, designer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = page(pairs.study, "closer")
    usual = words(designer.get(address))
    monkeypatch.setattr(cached_figures, "MIN_CACHED_ROWS", 1)
    for _ in range(2):
        evaluated(pairs)
        first = designer.get(address)
        assert "computed for the first time" in words(first)
        assert f'hx-get="{address}"' in first.content.decode()
        assert designer.get(address, headers={"HX-Request": "true"}).status_code == 204
        (job,) = Job.objects.filter(kind="figures", state="queued")
        assert run_job(job.pk)
        assert words(designer.get(address)) == usual
