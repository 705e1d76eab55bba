"""Written captions held against each other (WG16 §4), as numbers, on the results page and in the terminal."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from common.errors import QuorumError
from evaluation.metrics import score
from evaluation.models import Analysis, Consensus
from evaluation.results.aggregation import aggregate_study
from evaluation.results.meta_evaluation import evaluate_study
from judgments.kinds.caption import METRICS, leave_one_out
from judgments.models import Job, Study
from tests.annotation.writing import written_study
from tests.judgments.desk import do, page

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
    found = {bound.metric: bound for bound in leave_one_out(DIFFERENT).bounds}
    assert list(found) == list(METRICS)
    for name, most in {"bleu-1": 1.0, "bleu-4": 1.0, "rouge-l": 1.0, "cider-d": 10.0}.items():
        assert found[name].micro == found[name].macro == pytest.approx(most, abs=1e-6)
        assert found[name].deviation == pytest.approx(0.0, abs=1e-6)
        assert (found[name].low, found[name].high) == pytest.approx((most, most), abs=1e-6)


def test_captions_that_share_no_word_reach_nothing() -> None:
    images = [["a dog runs", "two cats sleep"], ["old men walk", "the red car drives"]]
    found = {bound.metric: bound for bound in leave_one_out(images).bounds}
    assert found["cider-d"].micro == found["rouge-l"].micro == 0
    assert found["bleu-1"].micro == pytest.approx(0, abs=1e-6)


def test_each_caption_is_scored_against_the_others_of_its_image_alone() -> None:
    images = [
        ["a dog runs through snow", "a brown dog runs fast", "the dog is in the snow"],
        ["a man rides a bike", "a man on a bike"],
    ]
    one = leave_one_out(images, metrics=["rouge-l", "bleu-1"])
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
    apart = {bound.metric: bound for bound in leave_one_out(DIFFERENT).bounds}
    assert apart["cider-d"].floor == pytest.approx(0.0, abs=1e-6)
    assert apart["rouge-l"].floor < 0.2 < apart["rouge-l"].macro
    alike = leave_one_out([["a dog runs here"] * 3] * 3, metrics=["rouge-l"]).bounds[0]
    assert alike.floor == alike.macro == pytest.approx(1.0)


def test_the_floor_does_not_rest_on_who_wrote_first() -> None:
    turned = [texts[::-1] for texts in IMAGES]
    one, other = leave_one_out(IMAGES, seed=4), leave_one_out(turned, seed=4)
    assert [bound.floor for bound in one.bounds] == pytest.approx([bound.floor for bound in other.bounds])


def test_one_image_has_no_floor() -> None:
    found = leave_one_out([["a dog runs", "the dog runs"]], metrics=["rouge-l"]).as_json()["metrics"][
        "rouge-l"
    ]
    assert found["floor"] is found["floor_low"] is found["floor_high"] is None


def test_an_image_with_one_caption_is_left_out_and_counted() -> None:
    found = leave_one_out([["a dog runs"], ["a man rides a bike", "a man on a bike"], []])
    assert (found.images, found.captions, found.left_out) == (1, 2, 1)
    assert found.as_json()["metrics"]["bleu-1"]["low"] is None  # one image has no interval


def test_nothing_to_hold_against_each_other_is_said_in_words() -> None:
    found = leave_one_out([["a dog runs"], []]).as_json()
    assert found["metrics"] == {}
    assert found["reason"] == "No image has two captions, so none can be held against the others."


def test_the_same_captions_and_seed_give_the_same_interval() -> None:
    images = [[f"a dog {word} here", f"the dog {word} there", "a dog"] for word in ("runs", "eats", "sits")]
    assert leave_one_out(images, seed=3) == leave_one_out(images, seed=3)


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
    assert "sentences have no parts" in alpha["reason"]
    assert Analysis.objects.get(study=study).result["counts"]["units_with_consensus"] == 4


@pytest.mark.django_db
def test_the_command_prints_what_people_reach(
    study: Study, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call_command("aggregate", study.slug, "--output", str(tmp_path / "out.json"))
    said = capsys.readouterr().out
    assert "Each caption against the others of its image" in said
    assert "cider-d" in said
    assert "Alpha is undefined: sentences have no parts" in said
    written = json.loads((tmp_path / "out.json").read_text())
    assert set(written["figures"]["leave_one_out"]["metrics"]) == set(METRICS)


@pytest.mark.django_db
def test_metrics_are_not_held_against_captions_that_nobody_judged(study: Study) -> None:
    with pytest.raises(QuorumError, match="adopt_captions lets later studies judge them"):
        evaluate_study(study=study)


@pytest.mark.django_db
def test_the_results_page_shows_what_people_reach_and_asks_for_no_evaluation(
    study: Study, admin_client: Client
) -> None:
    admin_client.post(do(study, "compute"), {"page": "results"})
    assert set(Job.objects.values_list("kind", flat=True)) == {"aggregate"}
    aggregate_study(study=study)
    shown = admin_client.get(page(study, "results")).content.decode()
    assert "What do people reach?" in shown
    assert "Each of 12 captions is held against the others of its image (4 images)" in shown
    assert "Agreement is not measured: sentences have no parts" in shown
