"""Upper and lower bounds of a dataset's captions, and how metrics order them (WG16), from the command."""

import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from scipy.stats import kendalltau, rankdata, spearmanr, t

from contrib.bounds.bounds import compute_bounds
from contrib.bounds.corpora import read_corpus
from judgments.jobs.claims import run_job
from judgments.models import Dataset, DatasetRole
from quorum.metrics import score
from quorum.statistics.meta.grouped import mean_within

IMAGES = [
    ["a dog runs through snow", "a brown dog runs fast", "the dog is in the snow"],
    ["a man rides a bike", "a man on a bike"],
    ["two dogs play in the snow", "dogs and a man", "a white dog and a black dog play"],
    ["a lonely caption"],
]
METRICS = ["bleu-2|smoothing:nist", "rouge-l"]


def one_by_one(metric: str) -> list[list[float]]:
    return [
        [
            float(
                score([text], [[*texts[:place], *texts[place + 1 :]]], [metric], "h13")
                .scores[metric]
                .images[0]
            )
            for place, text in enumerate(texts)
        ]
        for texts in IMAGES[:3]
    ]


def test_the_figures_are_those_of_each_caption_scored_alone() -> None:
    bounds = compute_bounds(IMAGES, metrics=METRICS)
    assert (bounds.images, bounds.captions, bounds.left_out) == (3, 8, 1)
    plain = {metric: one_by_one(metric) for metric in METRICS}
    for metric, images in plain.items():
        own, flat = bounds.upper[metric], np.concatenate(images)
        means = np.array([np.mean(image) for image in images])
        within = [np.std(image, ddof=1) for image in images]
        found = (
            own.micro,
            own.macro,
            own.deviation,
            own.median,
            own.least,
            own.most,
            own.image_most,
            own.within,
        )
        expected = (
            flat.mean(), means.mean(), flat.std(ddof=1), np.median(flat), flat.min(), flat.max(), means.max(),
            np.mean(within),
        )  # fmt: skip
        assert found == pytest.approx(expected)
    first, second = ([np.mean(image) for image in plain[metric]] for metric in METRICS)
    assert bounds.image_taus[0, 1] == pytest.approx(kendalltau(first, second).statistic)


def test_unrelated_texts_reach_less_than_people_and_the_same_seed_draws_the_same() -> None:
    others = {"b": ["the parliament met on friday"], "c": ["prices rose sharply last year"]}
    corpus = ["the jury said that no evidence was found"]
    one, same, other = (
        compute_bounds(IMAGES, metrics=["rouge-l"], others=others, corpus=corpus, seed=seed)
        for seed in (1, 1, 2)
    )
    assert list(one.lower) == [
        *(
            "other-image",
            "other-dataset",
            "corpus",
            "words-10",
            "words-mean",
            "corpus-words-10",
            "corpus-words-mean",
        )
    ]
    assert all(own["rouge-l"].macro < one.upper["rouge-l"].macro for own in one.lower.values())
    assert one.lower == same.lower != other.lower
    assert one.upper == other.upper
    few = compute_bounds(IMAGES, metrics=["rouge-l"], max_replaced=1)
    assert (few.captions, few.lower["other-image"]["rouge-l"].n) == (8, 3)
    assert math.isnan(few.lower["other-image"]["rouge-l"].within)


def test_a_corpus_is_read_without_its_tags_and_short_sentences(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("What this corpus is and who made it .\n")
    (tmp_path / "ca01").write_text(
        "\n\tThe/at Fulton/np-tl County/nn-tl Grand/jj-tl Jury/nn-tl said/vbd 1/2/cd ./.\n\tToo/ql short/jj ./.\n"
    )
    assert read_corpus(tmp_path) == ["The Fulton County Grand Jury said 1/2 ."]


def import_twice(tmp_path: Path) -> None:
    rows = [
        {"image": f"{place}.jpg", "caption": text, "split": "test" if place else "dev"}
        for place, texts in enumerate(IMAGES)
        for text in texts
    ]
    (tmp_path / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name in ("one", "two"):
        call_command("import_dataset", "jsonl", str(tmp_path / "captions.jsonl"), name=name)


@pytest.mark.django_db
def test_the_command_writes_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import_twice(tmp_path)
    output = tmp_path / "bounds.json"
    call_command("leave_one_out", "one", metrics="rouge-l", others="two", split="test", output=output)
    written = json.loads(output.read_text())
    figures = written["metrics"]["rouge-l"]
    assert (written["images"], written["captions"]) == (2, 5)
    assert list(figures["lower"]) == ["other-image", "other-dataset", "words-10", "words-mean"]
    assert figures["upper"]["low"] <= figures["upper"]["macro"] <= figures["upper"]["high"]
    said = capsys.readouterr().out
    assert "5 captions of 2 items" in said
    assert "The captions of 1.jpg, ranked by each metric" in said
    assert (written["item"], {row["caption"] for row in written["ranked"]}) == ("1.jpg", set(IMAGES[1]))
    for wrong, words in (
        ({"others": "one"}, "looked"),
        ({"item": "3.jpg"}, r"3\.jpg"),
        ({"split": "train"}, "train"),
        ({"metrics": "blue-4"}, "bleu-4"),
        ({"corpus": tmp_path / "nothing"}, "cannot be read"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("leave_one_out", "one", **{"metrics": "rouge-l", **wrong})


@pytest.mark.django_db
def test_a_job_does_the_same_for_those_who_may_read_the_dataset(tmp_path: Path, client: Client) -> None:
    import_twice(tmp_path)
    asked = {"metrics": ["rouge-l"], "others": ["two"], "captions": 2, "seed": 3}
    ask = partial(client.post, "/api/datasets/one/bounds/", content_type="application/json")
    assert ask(asked).status_code in (401, 403)
    member = User.objects.create_user("member", is_staff=True)
    client.force_login(member)
    assert ask(asked).status_code == 403
    DatasetRole.objects.create(dataset=Dataset.objects.get(name="one"), user=member, role="viewer")
    assert ask(asked).status_code == 404  # whose captions would be drawn may not be read
    assert ask({"metrics": ["rouge-x"]}).status_code == 400
    answer = ask({name: value for name, value in asked.items() if name != "others"})
    assert answer.status_code == 202
    assert run_job(answer.json()["id"])
    found = client.get(f"/api/jobs/{answer.json()['id']}/").json()
    assert (found["state"], found["result"]["captions"]) == ("done", 8)
    assert found["result"]["metrics"]["rouge-l"]["lower"]["other-image"]["n"] == 6


def test_metrics_rank_the_captions_of_an_item_as_each_caption_scored_alone() -> None:
    """V15 appendices II and IV: rho is scipy's, and its mean has t intervals over items on Fisher's scale."""
    bounds = compute_bounds(IMAGES, metrics=METRICS, ranked_image=2)
    texts = [text for captions in IMAGES[:3] for text in captions]
    by_metric = {
        metric: dict(zip(texts, np.concatenate(one_by_one(metric)), strict=True)) for metric in METRICS
    }
    lengths = [len(text.split()) for text in texts]
    columns = [*by_metric.values(), dict(zip(texts, lengths, strict=True))]
    assert bounds.orders["names"] == [*METRICS, "number of words"]
    for row, first in zip(bounds.orders["rho"], columns, strict=True):
        for figure, second in zip(row, by_metric.values(), strict=True):
            tables = [[(first[text], second[text]) for text in captions] for captions in IMAGES[:3]]
            # Two captions have one score by a metric of their overlap, so that they have no order.
            rhos = [spearmanr(table).statistic for table in tables if len(table) > 2]
            assert figure["n"] == len(rhos) == 2
            assert figure["value"] == pytest.approx(np.mean(rhos))
    ranked = bounds.as_json()["ranked"]
    assert {row["caption"] for row in ranked} == set(IMAGES[2])
    for name, scores in by_metric.items():
        own = [scores[row["caption"]] for row in ranked]
        assert [row["scores"][name] for row in ranked] == pytest.approx(own)
        assert [row["ranks"][name] for row in ranked] == rankdata(np.negative(own), "min").tolist()
    assert [row["ranks"][METRICS[0]] for row in ranked] == [1, 2, 3]


def test_a_mean_over_items_has_the_interval_of_other_items() -> None:
    """Rho is 1, .5 and -.5; t of three items on the scale of atanh, as of a correlation."""
    first = np.array([1.0, 2, 3] * 3)
    second = np.array([1.0, 2, 3, 1, 3, 2, 2, 3, 1])
    found = mean_within(first, second, np.array([0, 3, 6, 9]))
    value, deviation = 1 / 3, math.sqrt(((2 / 3) ** 2 + (1 / 6) ** 2 + (5 / 6) ** 2) / 2)
    half = t.ppf(0.975, 2) * deviation / math.sqrt(3) / (1 - value**2)
    assert found.value == pytest.approx(value)
    assert (found.low, found.high) == pytest.approx(
        tuple(np.tanh(np.arctanh(value) + np.array([-half, half])))
    )
    assert found.n == 3
    nothing = mean_within(np.ones(3), second[:3], np.array([0, 3]))
    assert nothing.as_json() == {"value": None, "low": None, "high": None, "n": 0}
