"""Metrics against people: on small studies counted by hand, and on the published figures of PASCAL-50S."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import DjangoDbBlocker
from scipy.stats import kendalltau

from evaluation.errors import EvaluationError
from evaluation.models import Analysis, Consensus, MetricScore
from evaluation.presentation.content import Estimate
from evaluation.reports.loading import load_inputs
from evaluation.reports.sections import pairs
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from evaluation.results.metrics.tables import correlation_table
from judgments.kinds.upper_bound import METRICS, leave_one_out_scores
from judgments.models import Caption, Job, Study
from quorum.metrics import score
from quorum.numeric.signatures import parse
from tests.annotation.writing import written_study
from tests.evaluation.reporting import rolled_back
from tests.evaluation.studies import StudyOf, make_dataset
from tests.judgments.desk import do, page
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
REFERENCES = {
    "a.jpg": ["a brown dog runs", "the dog runs over the grass", "a dog in the park"],
    "b.jpg": ["a grey cat sleeps", "the cat sleeps on a chair", "a cat at home"],
    "c.jpg": ["two men ride bikes", "men on bikes in the street", "bikes and two men"],
}


def test_cider_and_its_report_reach_the_published_accuracies_on_pascal_50s(
    shared: Path, tmp_path: Path
) -> None:
    """V15 table 2 at 48 references: 71.8, 99.7, 92.1 (91.9 when recomputed on the released data) and 72.2."""
    folder = str(shared / "data" / "pascal-50s")
    call_command("import_dataset", "pascal-50s", folder, "--name", "pascal-50s")
    call_command(
        "import_judgments", "pascal-50s", folder, "--dataset", "pascal-50s", "--study", "winners",
        "--protocol", "triplet",
    )  # fmt: skip
    output = tmp_path / "accuracy.json"
    call_command("evaluate", "winners", "--tokenizer", "v15", "--metrics", "cider", "--output", str(output))
    found = json.loads(output.read_text())
    accuracy = found["metrics"]["cider"]["accuracy"]
    published = {"HC": 71.8, "HI": 99.7, "HM": 91.9, "MM": 72.2}
    assert {kind: 100 * accuracy[kind]["value"] for kind in published} == pytest.approx(published, abs=0.05)
    for kind in published:
        assert accuracy[kind]["n"] == 1000
        assert accuracy[kind]["low"] < accuracy[kind]["value"] < accuracy[kind]["high"]
    assert accuracy["all"]["n"] == 4000
    # V15 appendix III, counted apart.
    won = {kind: [0, 0] for kind in published}
    for line in Path(folder, "pairs.jsonl").read_text().splitlines():
        row = json.loads(line)
        more = len(row["first"].split()) - len(row["second"].split())
        if more:
            won[row["kind"]][(more > 0) == (row["triplet_winner"] == 1)] += 1
    for kind, (shorter, longer) in won.items():
        liked, rule = (found["longer"][kind][name] for name in ("liked", "rule"))
        assert (liked["value"], liked["n"]) == (pytest.approx(longer / (shorter + longer)), shorter + longer)
        assert liked["low"] < liked["value"] < liked["high"]
        assert (rule["value"], rule["n"]) == (pytest.approx(longer / 1000), 1000)
    signature = found["signatures"]["cider"]
    assert "tok:v15" in signature
    assert "refs:48" in signature
    assert "df:given-1000-" in signature
    inputs = load_inputs(Study.objects.get(slug="winners"), metrics=["cider"], tokenizer="v15")
    table = pairs.pair_metrics_section(inputs, pairs.earlier_human_levels(inputs)).tables[0]
    shown = [cell.value for cell in table.rows[0] if isinstance(cell, Estimate)]
    assert shown == [accuracy[kind]["value"] for kind in (*published, "all")]
    assert shown[-1] == pytest.approx(0.839, abs=0.0005)


def judged_pairs() -> StudyOf:
    """Pairs in which the metric is right, wrong, tied, and without a consensus, in this order; all of kind HM."""
    study = StudyOf(make_dataset("toy", REFERENCES), "pairwise")
    pairs = [
        study.pair("right", "a.jpg", "a dog runs", "a cat sleeps"),
        study.pair("wrong", "b.jpg", "a cat", "nothing of this"),
        study.pair("tied", "c.jpg", "no such words", "nor these here"),
        study.pair("undecided", "a.jpg", "a dog", "a cow"),
    ]
    hit = study.hit("h1", [study.unit(pair.key, pair=pair) for pair in pairs], required=2)
    study.answer(hit, "alma", [1, 2, 1, 1])
    study.answer(hit, "bela", [1, 2, 1, 2])
    return study


def test_a_metric_s_tie_is_wrong_and_a_pair_without_consensus_is_left_out() -> None:
    found = evaluate_study(study=judged_pairs().study, metrics=["bleu-h13"])["metrics"]["bleu-h13"][
        "accuracy"
    ]
    assert list(found) == ["HM", "all"]
    figure = found["HM"]
    assert (figure["n"], figure["correct"]) == (3, 1)
    assert (figure["metric_ties"], figure["no_consensus"]) == (1, 1)
    assert figure["value"] == pytest.approx(1 / 3)
    assert figure["value_ties_half"] == pytest.approx(1.5 / 3)
    # two people: t with one degree of freedom leaves nearly everything open
    assert 0 < figure["low"] < 0.0614  # where Wilson's interval of 1 in 3 begins
    assert 0.7923 < figure["high"] < 1


def test_how_often_people_choose_the_longer_text_stands_below_the_accuracies(
    capsys: pytest.CaptureFixture[str], designer: Client
) -> None:
    study = judged_pairs().study
    call_command("evaluate", study.slug, "--metrics", "bleu-h13")
    # Of "a cat" and "nothing of this" people choose the longer; the texts of the two other pairs have three words each.
    said = capsys.readouterr().out
    assert "How often people choose the longer of two texts" in said
    assert re.search(r"HM +100 \[\d+, 100\] +1 +33 \[", said)
    shown = designer.get(page(study, "results")).content.decode()
    assert "<summary>How often people choose the longer of two texts</summary>" in shown
    inputs = load_inputs(study)
    table = pairs.pair_metrics_section(inputs, pairs.earlier_human_levels(inputs)).tables[-1]
    assert (table.name, [row[0] for row in table.rows], table.rows[0][2]) == ("longer", ["HM"], 1)


def test_all_pairs_and_fewer_references_stand_beside_the_usual_figures() -> None:
    study = judged_pairs().study
    usual = evaluate_study(study=study, metrics=["bleu-h13"])
    found = evaluate_study(study=study, metrics=["bleu-h13"], all_pairs=True, references=[1, 2])
    assert found["metrics"] == usual["metrics"]
    whole = found["readings"]["all_pairs"]["bleu-h13"]["all"]
    # One of three is right; the pair that people leave open is right by half where the metric names a winner.
    assert (whole["value"], whole["n"]) == (pytest.approx(1.5 / 4), 4)
    one, two = found["readings"]["references"]["bleu-h13"]["all"]
    assert [(row["references"], row["n"]) for row in (one, two)] == [(1, 3), (2, 3)]
    assert one["draws"] > 1
    assert one["low"] < one["value"] < one["high"]
    signatures = set(Analysis.objects.filter(study=study).values_list("signature", flat=True))
    assert len(signatures) == 2
    assert any("all-pairs:yes|references:1,2" in one for one in signatures)


def test_a_reading_of_another_protocol_and_too_many_references_are_refused() -> None:
    study = judged_pairs().study
    with refuses(EvaluationError, "tau_c", "pairs"):
        evaluate_study(study=study, metrics=["bleu-1"], tau_c=True)
    with refuses(EvaluationError, "references", "9"):
        evaluate_study(study=study, metrics=["bleu-1"], references=[9])
    assert not Analysis.objects.exists()


def test_both_candidates_are_scored_against_the_pair_s_own_references() -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "triplet", imported=True)
    keys = ["a.jpg#2", "a.jpg#0"]
    study.pair("p1", "a.jpg", "a dog runs", "the dog", references=keys, published_winner=1)
    evaluate_study(study=study.study, metrics=["bleu-1", "cider"])
    own = [Caption.objects.get(key=key).text for key in keys]
    documents = [list(texts) for texts in REFERENCES.values()]
    expected = score(["a dog runs", "the dog"], [own, own], ["bleu-1", "cider"], document_corpus=documents)
    for metric in ("bleu-1", "cider"):
        stored = MetricScore.objects.get(metric=metric, pair__key="p1")
        assert [stored.first, stored.second] == pytest.approx(list(expected.scores[metric].images))


def test_documents_hold_the_leading_references_where_all_pairs_do() -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "triplet", imported=True)
    for image in ("a.jpg", "b.jpg"):
        study.pair(
            image, image, "a dog", "a cat", references=[f"{image}#0", f"{image}#1"], published_winner=1
        )
    evaluate_study(study=study.study, metrics=["cider"])
    leading = [list(texts[:2]) for texts in REFERENCES.values()]
    expected = score(["a dog"], [leading[0]], ["cider"], document_corpus=leading)
    assert MetricScore.objects.get(pair__key="a.jpg").first == pytest.approx(
        expected.scores["cider"].images[0]
    )
    assert "refs:first-2" in Analysis.objects.get().signature


def test_a_metric_s_own_options_stay_one_field_of_the_study_s_signature() -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "triplet", imported=True)
    study.pair("p1", "a.jpg", "a dog runs", "two men", published_winner=1)
    evaluate_study(study=study.study, metrics=["cider-d|n:3", "bleu-1"])
    assert "cider-d|n:3" in str(parse(Analysis.objects.get().signature).fields["metrics"])


def test_documents_are_the_images_of_the_judged_split() -> None:
    dataset = make_dataset("toy", REFERENCES, split="test")
    dataset.items.filter(name="c.jpg").update(split="train")
    study = StudyOf(dataset, "triplet", imported=True)
    study.pair("p1", "a.jpg", "a dog runs", "two men", published_winner=1)
    evaluate_study(study=study.study, metrics=["cider"])
    documents = [list(REFERENCES["a.jpg"]), list(REFERENCES["b.jpg"])]
    expected = score(["a dog runs"], [documents[0]], ["cider"], document_corpus=documents)
    assert MetricScore.objects.get().first == pytest.approx(expected.scores["cider"].images[0])
    assert "split:test" in Analysis.objects.get().signature


def test_single_grades_tau_c_own_captions_and_thresholds_are_read_besides() -> None:
    made = StudyOf(make_dataset("toy", REFERENCES), "graded")
    texts = ["a brown dog runs", "the dog runs over the park", "a cat over there", "two cats"]
    grades = {"alma": [4, 4, 2, 1], "bela": [3, 4, 2, 2]}
    made.judge_texts(texts, grades)
    found = evaluate_study(
        study=made.study, metrics=["bleu-h13"], tau_c=True, single_grades=True, own_kept=True,
        people_at_least=[3.5, 2], metric_at_least=[0.5],
    )  # fmt: skip
    scores = list(MetricScore.objects.order_by("pk").values_list("first", flat=True))
    means = np.mean(list(grades.values()), axis=0)
    readings = found["readings"]
    assert readings["tau_c"]["bleu-h13"]["value"] == pytest.approx(kendalltau(scores, means, variant="c")[0])
    single = readings["single_grades"]["bleu-h13"]
    every = [grade for own in zip(*grades.values(), strict=True) for grade in own]
    repeated = np.repeat(scores, 2).tolist()
    assert single["kendall_tau_b"]["value"] == pytest.approx(kendalltau(repeated, every, variant="b")[0])
    assert single["kendall_tau_c"]["value"] == pytest.approx(kendalltau(repeated, every, variant="c")[0])
    assert single["kendall_tau_c"]["n"] == 8
    cells = readings["thresholds"]["bleu-h13"]
    assert [(cell["metric_at_least"], cell["people_at_least"]) for cell in cells] == [(0.5, 3.5), (0.5, 2.0)]
    assert len(found["metrics"]["bleu-h13"]["kappa"]) > len(cells)
    usual = found["metrics"]["bleu-h13"]["kendall_tau_b"]["value"]
    assert readings["own_kept"]["bleu-h13"]["kendall_tau_b"]["value"] != usual

    left = evaluate_study(study=made.study, metrics=["bleu-h13"], single_grades=True, without_own=True)
    assert left["counts"] == {
        "units": 4, "no_consensus": 0, "no_reference": 0, "own_reference_dropped": 0, "own_left_out": 1,
    }  # fmt: skip
    assert left["readings"]["single_grades"]["bleu-h13"]["kendall_tau_c"]["value"] == pytest.approx(
        kendalltau(repeated[2:], every[2:], variant="c")[0]
    )
    signature = Analysis.objects.order_by("pk").last()
    assert signature is not None
    assert "own:left-out" in signature.signature
    with pytest.raises(EvaluationError):
        evaluate_study(study=made.study, metrics=["bleu-h13"], own_kept=True, without_own=True)


@pytest.fixture(scope="module")
def graded(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> dict[str, Any]:
    """The evaluation of six captions whose grades fall as their words leave the references; the first is one."""
    texts = [
        "a brown dog runs",
        "the dog runs over the park",
        "a dog over the hill",
        "a cat over there",
        "two cats",
        "x",
    ]
    with rolled_back(django_db_blocker):
        made = StudyOf(make_dataset("toy", REFERENCES), "graded")
        made.judge_texts(texts, {"alma": [4, 4, 3, 2, 1, 1], "bela": [4, 3, 3, 2, 2, 1]})
        found = evaluate_study(study=made.study, metrics=["bleu-h13", "bleu-1"])
        scores = MetricScore.objects.filter(metric="bleu-h13").order_by("pk").values_list("first", flat=True)
        return {**found, "scores": list(scores)}


def test_metrics_are_correlated_with_mean_grades(graded: dict[str, Any]) -> None:
    # people: 4, 3.5, 3, 2, 1.5, 1
    tau = graded["metrics"]["bleu-h13"]["kendall_tau_b"]
    assert tau["n"] == 6
    assert (tau["low"], tau["high"]) == (None, None)
    assert tau["reason"] == "there is 1 item, expected 2 or more to say what others would give"
    assert graded["scores"] == pytest.approx([3 / 4, 1, 4 / 5, 2 / 4, 0, 0])
    # pairs of captions: 15, of which one is tied in the metric; the first two stand the other way round,
    # and so do the first and the third: 12 concordant, 2 discordant
    assert tau["value"] == pytest.approx((12 - 2) / (14 * 15) ** 0.5)


def test_a_caption_s_own_reference_is_dropped_and_the_signature_says_so(graded: dict[str, Any]) -> None:
    assert graded["counts"]["own_reference_dropped"] == 1
    assert graded["signatures"]["bleu-1"].endswith("|own:dropped|v:1.0")


def test_kappa_is_given_on_a_grid_of_thresholds(graded: dict[str, Any]) -> None:
    cells = graded["metrics"]["bleu-h13"]["kappa"]
    assert {cell["people_at_least"] for cell in cells} == {4.0, 3.66, 3.33, 3.0, 2.66, 2.33, 2.0}
    assert {"metric_at_least", "people_at_least", "value"} <= set(cells[0])
    # precision at least 3/4 picks the three captions that people grade 3 or more
    best = max(
        (cell for cell in cells if cell["people_at_least"] == 3.0), key=lambda cell: cell["value"] or -1
    )
    assert best["value"] == pytest.approx(1)


def test_relevance_is_held_against_the_share_of_yes() -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "relevance")
    texts = ["the dog runs", "a dog", "two cats", "nothing"]
    study.judge_texts(texts, {"alma": [1, 1, 0, 0], "bela": [1, 1, 1, 0], "clara": [1, 0, 0, 0]})
    found = evaluate_study(study=study.study, metrics=["bleu-h13"])["metrics"]["bleu-h13"]
    assert {cell["people_at_least"] for cell in found["kappa"]} == {0.33, 0.66, 1.0}
    # people order 1, 2/3, 1/3, 0; the metric 1, 1, 0, 0: four concordant pairs, two tied in the metric
    assert found["kendall_tau_b"]["value"] == pytest.approx(4 / (4 * 6) ** 0.5)
    # the covariance is 1/3 over the deviations' 1/2 and sqrt(5/36)
    r = found["pearson"]
    assert r["value"] == pytest.approx((1 / 6) / (1 / 2 * (5 / 36) ** 0.5))
    assert (r["n"], r["clusters"]) == (4, found["spearman"]["clusters"])
    table = correlation_table({"metrics": {"bleu-h13": found}})
    assert [column.name for column in table.columns][1:4] == ["tau-b", "rho", "r"]
    assert table.rows[0][3] == Estimate(r["value"], r["low"], r["high"])
    older = {name: cell for name, cell in found.items() if name != "pearson"}  # as 0.5.0 stored them
    columns = correlation_table({"metrics": {"bleu-h13": older}}).columns
    assert "r" not in [column.name for column in columns]


def test_the_default_metrics_and_a_signature_for_each() -> None:
    found = evaluate_study(study=judged_pairs().study)
    assert list(found["metrics"]) == ["bleu-1", "bleu-4", "rouge-l", "cider", "cider-d"]
    assert list(found["signatures"]) == list(found["metrics"])
    assert found["people"]["HM"]["n"] == 8
    assert any("distinct documents" in note for note in found["notes"])


def test_evaluating_again_replaces_scores() -> None:
    study = judged_pairs()
    first = evaluate_study(study=study.study, metrics=["bleu-1"])
    assert evaluate_study(study=study.study, metrics=["bleu-1"]) == first
    assert MetricScore.objects.count() == 4
    assert Analysis.objects.count() == 1
    evaluate_study(study=study.study, metrics=["bleu-1"], tokenizer="v15")
    assert Analysis.objects.count() == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metrics": ["cidre"]}, "cidre.*cider"),
        ({"tokenizer": "ptp"}, "ptp.*ptb"),
        ({"metrics": []}, "Metrics is empty"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest_known_one(options: dict[str, Any], said: str) -> None:
    study = judged_pairs()
    with pytest.raises(EvaluationError, match=said):
        evaluate_study(study=study.study, **options)
    assert not Analysis.objects.exists()


def test_a_study_without_a_consensus_is_refused_in_one_sentence() -> None:
    study = StudyOf(make_dataset("toy", REFERENCES), "triplet")
    study.pair("p1", "a.jpg", "a dog", "a cat")
    with pytest.raises(CommandError, match="no candidate pair"):
        call_command("evaluate", study.study.slug)
    graded = StudyOf(study.dataset, "graded")
    graded.unit("u1", "a.jpg", first="a dog")
    with pytest.raises(CommandError, match="judged text"):
        call_command("evaluate", graded.study.slug)


def test_the_command_prints_figures_and_signatures(capsys: Any) -> None:
    call_command("evaluate", judged_pairs().study.slug, "--metrics", "bleu-1,rouge-l")
    said = capsys.readouterr().out
    assert "rouge-l|beta:1.2|tok:ptb" in said
    assert "4 pairs" not in said
    assert "3 pairs; 1 without a consensus was left out." in said


DIFFERENT = [
    ["a dog runs through deep white snow"] * 3,
    ["two children play on the green grass"] * 3,
    ["an old man repairs his red bicycle"] * 3,
]

IMAGES = [
    ["a dog runs through snow", "a brown dog runs fast", "the dog is in the snow"],
    ["a man rides a bike", "a man on a bike"],
    ["two dogs in the snow", "dogs and a man"],
]


def test_equal_captions_reach_the_most_that_each_metric_gives() -> None:
    found = {bound.metric: bound for bound in leave_one_out_scores(DIFFERENT).bounds}
    assert list(found) == list(METRICS)
    for name, most in {"bleu-1": 1.0, "bleu-4": 1.0, "rouge-l": 1.0, "cider-d": 10.0}.items():
        assert found[name].micro == found[name].macro == pytest.approx(most, abs=1e-6)
        assert found[name].deviation == pytest.approx(0.0, abs=1e-6)
        assert (found[name].low, found[name].high) == pytest.approx((most, most), abs=1e-6)


def test_captions_that_share_no_word_reach_nothing() -> None:
    images = [["a dog runs", "two cats sleep"], ["old men walk", "the red car drives"]]
    found = {bound.metric: bound for bound in leave_one_out_scores(images).bounds}
    assert found["cider-d"].micro == found["rouge-l"].micro == 0
    assert found["bleu-1"].micro == pytest.approx(0, abs=1e-6)


def test_each_caption_is_scored_against_the_others_of_its_image_alone() -> None:
    images = [
        ["a dog runs through snow", "a brown dog runs fast", "the dog is in the snow"],
        ["a man rides a bike", "a man on a bike"],
    ]
    one = leave_one_out_scores(images, metrics=["rouge-l", "bleu-1"])
    by_hand = [
        score([texts[left]], [[text for index, text in enumerate(texts) if index != left]], ["rouge-l"])
        for texts in images
        for left in range(len(texts))
    ]
    values = [found.scores["rouge-l"].images[0] for found in by_hand]
    rouge = one.bounds[0]
    assert rouge.micro == pytest.approx(sum(values) / 5)
    assert rouge.macro == pytest.approx((sum(values[:3]) / 3 + sum(values[3:]) / 2) / 2)
    assert (rouge.least, rouge.most) == pytest.approx((min(values), max(values)))
    assert (one.images, one.captions, one.left_out) == (2, 5, 0)
    assert rouge.signature.startswith("rouge-l|beta:1.2|tok:ptb|refs:1-2|v:")


def test_the_floor_is_what_captions_of_another_image_get_in_their_place() -> None:
    """WG16 §5: nothing where images share no word, and as much as people where all images are described alike."""
    apart = {bound.metric: bound for bound in leave_one_out_scores(DIFFERENT).bounds}
    assert apart["cider-d"].floor == pytest.approx(0.0, abs=1e-6)
    assert apart["rouge-l"].floor < 0.2 < apart["rouge-l"].macro
    alike = leave_one_out_scores([["a dog runs here"] * 3] * 3, metrics=["rouge-l"]).bounds[0]
    assert alike.floor == alike.macro == pytest.approx(1.0)


def test_the_floor_does_not_rest_on_who_wrote_first() -> None:
    turned = [texts[::-1] for texts in IMAGES]
    one, other = leave_one_out_scores(IMAGES, seed=4), leave_one_out_scores(turned, seed=4)
    assert [bound.floor for bound in one.bounds] == pytest.approx([bound.floor for bound in other.bounds])


def test_one_image_has_no_floor() -> None:
    found = leave_one_out_scores([["a dog runs", "the dog runs"]], metrics=["rouge-l"]).as_json()["metrics"][
        "rouge-l"
    ]
    assert found["floor"] is found["floor_low"] is found["floor_high"] is None


def test_an_image_with_one_caption_is_left_out_and_counted() -> None:
    found = leave_one_out_scores([["a dog runs"], ["a man rides a bike", "a man on a bike"], []])
    assert (found.images, found.captions, found.left_out) == (1, 2, 1)
    assert found.as_json()["metrics"]["bleu-1"]["low"] is None  # one image has no interval


def test_nothing_to_hold_against_each_other_is_said_in_words() -> None:
    found = leave_one_out_scores([["a dog runs"], []]).as_json()
    assert found["metrics"] == {}
    assert "has two captions" in found["reason"]


def test_the_same_captions_and_seed_give_the_same_interval() -> None:
    images = [[f"a dog {word} here", f"the dog {word} there", "a dog"] for word in ("runs", "eats", "sits")]
    assert leave_one_out_scores(images, seed=3) == leave_one_out_scores(images, seed=3)


@pytest.fixture(scope="module")
def study(module_db: None) -> Study:
    """Three people wrote a caption of each of four images."""
    return written_study("ada", "ben", "cleo", images=4)


@pytest.mark.django_db
def test_aggregating_keeps_the_captions_in_order_and_holds_them_against_each_other(study: Study) -> None:
    result = aggregate_study(study=study)
    unit = result["units"][0]
    assert (unit["n"], unit["value"], unit["tie"]) == (3, None, False)
    assert [text.split("by ")[1].split()[0] for text in unit["answer"]] == ["ada", "ben", "cleo"]
    assert list(Consensus.objects.filter(study=study).values_list("answer", flat=True)[:1]) == [
        unit["answer"]
    ]
    figures = result["figures"]["leave_one_out"]
    assert (figures["images"], figures["captions"]) == (4, 12)
    # ten of eleven words are shared with the others of the image: all but the writer's name
    assert figures["metrics"]["bleu-1"]["macro"] == pytest.approx(10 / 11, abs=1e-6)
    assert figures["metrics"]["cider-d"]["signature"].startswith("cider-d|")
    alpha = result["agreement"]["alpha"]
    assert alpha["value"] is None
    assert "two good captions may have no word in common" in alpha["reason"]
    assert Analysis.objects.get(study=study).result["counts"]["units_with_consensus"] == 4


@pytest.mark.django_db
def test_the_command_prints_what_people_reach(
    study: Study, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call_command("aggregate", study.slug, "--output", str(tmp_path / "out.json"))
    said = capsys.readouterr().out
    assert "Each caption against the others of its item" in said
    assert "cider-d" in said
    assert "Alpha is undefined: two good captions may have no word in common" in said
    written = json.loads((tmp_path / "out.json").read_text())
    assert set(written["figures"]["leave_one_out"]["metrics"]) == set(METRICS)


@pytest.mark.django_db
def test_metrics_are_not_held_against_captions_that_nobody_judged(study: Study) -> None:
    with pytest.raises(EvaluationError, match="Adopt"):
        evaluate_study(study=study)


@pytest.mark.django_db
def test_the_results_page_shows_what_people_reach_and_asks_for_no_evaluation(
    study: Study, admin_client: Client
) -> None:
    admin_client.post(do(study, "compute"), {"page": "results"})
    assert set(Job.objects.values_list("kind", flat=True)) == {"aggregate"}
    aggregate_study(study=study)
    shown = admin_client.get(page(study, "results")).content.decode()
    assert "What scores do captions by people get?" in shown
    assert "How metrics rank the captions of an item" in shown
    assert "number of words" in shown.lower()
    assert "Each caption is scored against the other captions of its item (captions: 12; items: 4)" in shown
    assert "Agreement is not available: two good captions may have no word in common" in shown
