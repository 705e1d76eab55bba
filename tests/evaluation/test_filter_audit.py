"""What an audit of the filter says: the missed share with its interval, and what it comes to in all."""

from typing import Any

import pytest
from django.test import Client

from evaluation.results.aggregation import aggregate_study
from evaluation.results.rankings import audit_filter, audit_sentence
from evaluation.statistics.meta import wilson_interval
from judgments.kinds import KINDS, Consensus, RelevanceScale
from judgments.models import Study
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, make_dataset
from tests.evaluation.test_study_page import IMAGES
from tests.judgments.desk import page


def said(value: float | None, yes: int, no: int) -> Consensus:
    votes = {"0": no, "1": yes}
    return Consensus(n=yes + no, value=value, share=None, margin=None, tie=False, votes=votes)


def relevance_of(name: str) -> RelevanceScale:
    relevance = KINDS[name].relevance
    assert relevance is not None
    return relevance


def test_the_missed_share_has_wilson_s_interval_and_a_weight() -> None:
    found = {1: said(1, 3, 0), 2: said(0, 0, 3), 3: said(1, 2, 1), 11: said(0, 0, 3), 12: said(0, 1, 2)}
    found |= {13: said(1, 3, 0), 14: said(0, 0, 3)}
    audit = audit_filter(
        relevance_of("relevance"),
        found,
        passed=[1, 2, 3],
        audited=[11, 12, 13, 14, 15],
        pairs=1030,
        passed_pairs=30,
    )
    assert (audit["dropped"], audit["sampled"], audit["judged"], audit["missed"]) == (1000, 5, 4, 1)
    assert audit["share"] == 0.25
    assert (audit["low"], audit["high"]) == pytest.approx(wilson_interval(1, 4))
    assert audit["unanimous_no"] == 2
    assert audit["weight"] == 200
    assert audit["missed_in_all"]["value"] == 250
    # two of three that passed are good, so 20 of 30; with 250 missed
    assert audit["recall"]["value"] == pytest.approx(20 / 270)
    assert audit["recall"]["low"] < audit["recall"]["value"] < audit["recall"]["high"]
    sentence = audit_sentence(audit)
    assert "Of 1,000 pairs" in sentence
    assert "25\N{NO-BREAK SPACE}% (95" in sentence


def test_h13_s_audit_of_its_filter_reads_as_published() -> None:
    # H13 §4.3.2: 98.3 % of the audited pairs were no by everybody
    found = {unit: said(0, 0, 3) if unit < 983 else said(0, 1, 2) for unit in range(1000)}
    audit = audit_filter(
        relevance_of("relevance"), found, passed=[], audited=range(1000), pairs=5000, passed_pairs=0
    )
    assert audit["unanimous_no"] / audit["judged"] == 0.983
    assert audit["missed"] == 0
    assert audit["recall"]["value"] is None
    assert "nobody said so" in audit_sentence(audit)


def test_nothing_is_said_before_anything_is_judged() -> None:
    audit = audit_filter(relevance_of("graded"), {}, passed=[1], audited=[2, 3], pairs=10, passed_pairs=1)
    assert (audit["share"], audit["recall"]["value"], audit["missed_in_all"]["high"]) == (None, None, None)
    assert "none of them is yet" in audit_sentence(audit)


@pytest.mark.parametrize(("mean", "good"), [(2.5, False), (2.6, True), (4.0, True), (1.0, False)])
def test_a_graded_caption_describes_its_image_from_the_third_grade_on(mean: float, good: bool) -> None:
    assert relevance_of("graded").describes(mean) is good


def test_a_slider_says_so_from_its_upper_half_on() -> None:
    assert [relevance_of("slider").describes(mean) for mean in (50.0, 50.5, 100.0)] == [False, True, True]


@pytest.mark.django_db
def test_the_results_say_what_the_filter_misses(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "relevance", filter={"bleu_pre": 0.25, "audit": 2})
    units = [
        made.unit("u1", "a.jpg", first="A dog runs"),
        made.unit("u2", "a.jpg", first="Quick brown animal", audited=True),
        made.unit("u3", "a.jpg", first="Cars", audited=True),
    ]
    hit = made.hit("h1", units)
    for name in ("w-1", "w-2", "w-3"):
        made.answer(hit, name, [1, 1, 0])
    notes = {"candidate_pairs": 9, "passed_filter": 1, "audited": 2}
    Study.objects.filter(pk=made.study.pk).update(notes=notes)
    made.study.refresh_from_db()
    result = aggregate_study(study=made.study)
    assert result["filter_audit"]["share"] == 0.5
    assert [unit.get("weight") for unit in result["units"]] == [None, 4.0, 4.0]
    shown = words(designer.get(page(made.study, "results")))
    assert "What does the filter miss?" in shown
    assert "Of 8 pairs of image and caption that the filter left out, 2 drawn at random were judged" in shown


@pytest.mark.django_db
def test_without_an_audit_nothing_is_said_of_it(designer: Client) -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "relevance")
    made.answer(made.hit("h1", [made.unit("u1", "a.jpg", first="A dog runs")]), "w-1", [1])
    result: dict[str, Any] = aggregate_study(study=made.study)
    assert "filter_audit" not in result
    assert "weight" not in result["units"][0]
    assert "What does the filter miss?" not in words(designer.get(page(made.study, "results")))
