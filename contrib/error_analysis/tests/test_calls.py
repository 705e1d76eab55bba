"""Error analysis over HTTP."""

import pytest
from django.contrib.auth.models import User

from contrib.error_analysis.tests.test_error_analysis import graded
from evaluation.models import Analysis
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from tests.doors import call, key_of
from tests.evaluation.studies import StudyOf
from tests.evaluation.test_study_page import pairwise

pytestmark = pytest.mark.django_db
METRICS = ["bleu-1", "rouge-l"]


@pytest.fixture
def designer() -> dict[str, str]:
    return key_of(User.objects.create_superuser("designer"))


@pytest.fixture(scope="module")
def evaluated(module_db: None) -> StudyOf:
    """Pair p2 is won by the caption that no metric names."""
    made = pairwise()
    aggregate_study(study=made.study)
    evaluate_study(study=made.study, metrics=METRICS)
    return made


def test_disagreements_are_listed_and_one_is_seen_from_all_sides(
    evaluated: StudyOf, designer: dict[str, str]
) -> None:
    path = f"studies/{evaluated.study.slug}/disagreements/"
    told = call("get", f"{path}?metric=bleu-1", designer).json()
    (row,) = told["results"]
    assert (row["id"], row["value"], len(row["captions"])) == ("p2", 2, 2)
    assert (told["metric"], told["metrics"], told["compared"]) == ("bleu-1", METRICS, 2)
    assert set(row["scores"]) == set(METRICS)
    one = call("get", f"{path}p2/", designer).json()
    assert one["scores"] == row["scores"]
    assert {vote["worker"] for vote in one["votes"]} >= {"w-1"}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("metric=none", 404),
        ("page_size=0", 400),
        ("page_size=x", 400),
        ("cursor=x", 400),
        ("cursor=WzEsICJvbGQiXQ==", 400),
        ("metrik=bleu-1", 400),
    ],
)
def test_what_no_list_of_disagreements_knows_is_refused(
    evaluated: StudyOf, designer: dict[str, str], query: str, status: int
) -> None:
    answer = call("get", f"studies/{evaluated.study.slug}/disagreements/?{query}", designer)
    assert answer.status_code == status


def test_pages_of_disagreements_follow_each_other(designer: dict[str, str]) -> None:
    path = f"studies/{graded().study.slug}/disagreements/?page_size=1&metric=bleu-1"
    seen, sizes, back = [], [], None
    while path:
        told = call("get", path, designer).json()
        seen += [row["id"] for row in told["results"]]
        sizes += [row["size"] for row in told["results"]]
        path, back = (told["next"] or "").partition("/api/")[2], told["previous"]
    assert len(seen) == len(set(seen)) > 1
    assert sizes == sorted(sizes, reverse=True)
    assert back
    assert call("get", back.partition("/api/")[2], designer).json()["results"][0]["id"] == seen[-2]


def test_before_anything_is_evaluated_the_answer_says_what_to_do(
    evaluated: StudyOf, designer: dict[str, str]
) -> None:
    Analysis.objects.all().delete()
    path = f"studies/{evaluated.study.slug}/disagreements/"
    answer = call("get", path, designer)
    assert (answer.status_code, "evaluate it first" in answer.json()["detail"]) == (404, True)
    one = call("get", f"{path}p1/", designer).json()
    assert one["scores"] == {}
    assert call("get", f"{path}none/", designer).status_code == 404
