"""The systems of H13: kernels against slow, obvious forms, KCCA against closed forms, and a run that is imported."""

import json
import math
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from PIL import Image, ImageDraw

from evaluation.results.ranking_systems.kernels import (
    BagOfWords,
    Document,
    Histograms,
    TagRank,
    Trigrams,
    histogram_kernel,
    idf_of,
    idf_overlaps,
    points_of,
    pyramid_kernel,
    words_of,
)
from evaluation.results.ranking_systems.ranking import (
    Kernels,
    fit_kcca,
    joined,
    rank_by_kcca,
    rank_by_neighbours,
)
from evaluation.results.ranking_systems.similarities import (
    SimilarTrigrams,
    alignment_similarity,
    distributional_similarity,
    translation_probabilities,
    vocabulary_of,
)
from judgments.models import Item, Output
from quorum.numeric.arrays import Floats

LARGE, SMALL = (
    ["small", "child", "red", "hair", "play", "large", "brown", "dog"],
    ["small", "white", "dog", "play", "large", "red", "dog"],
)
DOCUMENTS: list[Document] = [[LARGE, ["child", "play"]], [SMALL], [["dog", "run", "dog"], SMALL]]


def test_words_are_stems_without_stop_words() -> None:
    assert words_of(["The dogs are running", "A"]) == [["dog", "run"], []]


def matches(words: list[str], sequence: tuple[str, ...], gap: float) -> float:
    """Try every stretch of words (H13 3.4.3)."""
    total = 0.0
    for begin in range(len(words)):
        for end in range(begin, len(words)):
            stretch = words[begin : end + 1]
            if stretch[0] != sequence[0] or stretch[-1] != sequence[-1] or len(stretch) < len(sequence):
                continue
            if len(sequence) == 1 and len(stretch) > 1:
                continue
            inner = stretch[1:-1]
            if len(sequence) < 3 or sequence[1] in inner:
                total += gap ** (len(stretch) - len(sequence))
    return total


def slow_trigrams(one: Document, other: Document, idf: dict[str, float], match: float, gap: float) -> float:
    vocabulary = sorted({word for document in (one, other) for words in document for word in words})
    sequences = [sequence for length in (1, 2, 3) for sequence in product(vocabulary, repeat=length)]

    def value(first: Document, second: Document) -> float:
        return sum(
            math.prod(idf[word] for word in sequence) ** 0.5
            * sum(matches(list(words), sequence, gap) for words in first)
            * sum(matches(list(words), sequence, gap) for words in second)
            * match ** (2 * len(sequence))
            for sequence in sequences
        )

    return value(one, other) / math.sqrt(value(one, one) * value(other, other))


@pytest.mark.parametrize("gap", [1.0, 0.7])
def test_the_trigram_kernel_counts_the_stretches_that_two_captions_share(gap: float) -> None:
    idf = {word: 0.3 + 0.1 * place for place, word in enumerate(sorted({*LARGE, *SMALL, "run"}))}
    found = Trigrams(idf, gap=gap)(DOCUMENTS, DOCUMENTS)
    expected = [[slow_trigrams(one, other, idf, 0.5, gap) for other in DOCUMENTS] for one in DOCUMENTS]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    plain = Trigrams(gap=gap)(DOCUMENTS[:1], DOCUMENTS[1:2])[0, 0]
    assert plain == pytest.approx(
        slow_trigrams(DOCUMENTS[0], DOCUMENTS[1], dict.fromkeys(idf, 1.0), 0.5, gap)
    )


def test_similar_words_match_in_part_and_others_match_themselves_alone() -> None:
    """Every pair of sequences, by the product of their words' similarities (H13 3.5.1)."""
    names = sorted({*LARGE, *SMALL, "run"})
    idf = {word: 0.3 + 0.1 * place for place, word in enumerate(names)}
    vocabulary = {word: number for number, word in enumerate(names[:6])}  # the others are in none
    drawn = np.random.default_rng(5).uniform(0, 1, (6, 6))
    similarity = (drawn + drawn.T) / 2
    np.fill_diagonal(similarity, 1.0)

    def like(word: str, other: str) -> float:
        if word in vocabulary and other in vocabulary:
            return float(similarity[vocabulary[word], vocabulary[other]])
        return float(word == other)

    def sequences(document: Document) -> dict[tuple[str, ...], float]:
        own = sorted({word for words in document for word in words})
        counts = {
            sequence: sum(matches(list(words), sequence, 1.0) for words in document)
            for length in (1, 2, 3)
            for sequence in product(own, repeat=length)
        }
        weights = {sequence: math.prod(idf[word] for word in sequence) ** 0.25 for sequence in counts}
        return {sequence: n * weights[sequence] * 0.5 ** len(sequence) for sequence, n in counts.items() if n}

    found = [sequences(document) for document in DOCUMENTS]
    sums = np.array(
        [
            [
                sum(
                    n * m * math.prod(map(like, w, v))
                    for (w, n), (v, m) in product(one.items(), other.items())
                    if len(w) == len(v)
                )
                for other in found
            ]
            for one in found
        ]
    )
    lengths = np.sqrt(sums.diagonal())
    kernel = SimilarTrigrams(vocabulary, similarity, idf)
    np.testing.assert_allclose(kernel(DOCUMENTS, DOCUMENTS), sums / np.outer(lengths, lengths), rtol=1e-12)
    np.testing.assert_allclose(kernel(DOCUMENTS[:1], DOCUMENTS[1:]), kernel(DOCUMENTS, DOCUMENTS)[:1, 1:])
    alone = SimilarTrigrams(vocabulary, np.eye(6), idf)
    np.testing.assert_allclose(alone(DOCUMENTS, DOCUMENTS), Trigrams(idf)(DOCUMENTS, DOCUMENTS), rtol=1e-12)


# Of each image two captions; "rare" stands in one of them.
TWINS: list[Document] = [
    *[[["dog", "run"], ["hound", "run"]]] * 4,
    *[[["dog", "sleep"], ["hound", "sleep"]]] * 2,
    *[[["cat", "sleep"], ["cat", "sleep", "rare"]]] * 3,
]


def test_words_of_the_same_contexts_are_alike() -> None:
    """Positive pointwise mutual information over captions, by hand (H13 3.5.3)."""
    vocabulary = vocabulary_of(TWINS)
    assert list(vocabulary) == ["cat", "dog", "hound", "run", "sleep"]
    found = distributional_similarity(TWINS, vocabulary)
    # Of 18 captions, cat, dog and hound are in 6 each, run in 8, sleep in 10.
    dog = {"dog": math.log(3), "run": math.log(4 * 18 / 48), "sleep": 0.0}
    hound = {"hound": math.log(3), "run": math.log(4 * 18 / 48)}
    shared = dog["run"] * hound["run"] / (dog["dog"] ** 2 + dog["run"] ** 2)
    assert found[vocabulary["dog"], vocabulary["hound"]] == pytest.approx(shared)
    cat, sleep = (math.log(3), math.log(1.8)), (math.log(1.8), math.log(1.8))
    cosine = (cat[0] * sleep[0] + cat[1] * sleep[1]) / math.hypot(*cat) / math.hypot(*sleep)
    assert found[vocabulary["cat"], vocabulary["sleep"]] == pytest.approx(cosine)
    assert found[vocabulary["cat"], vocabulary["run"]] == 0.0
    assert found.diagonal().tolist() == [1.0] * 5


def test_words_that_translate_each_other_are_alike() -> None:
    """IBM's model 1 by its definition, five times (Brown et al. 1993; H13 3.5.4)."""
    vocabulary = vocabulary_of(TWINS)
    pairs = [
        (["", *first], second)
        for document in TWINS
        for first, second in ((document[0], document[1]), (document[1], document[0]))
    ]
    pairs = [
        ([w for w in e if not w or w in vocabulary], [w for w in f if w in vocabulary]) for e, f in pairs
    ]
    chance = {(e, f): 1.0 for source, target in pairs for e, f in product(source, target)}
    for _ in range(5):
        counts: defaultdict[tuple[str, str], float] = defaultdict(float)
        for source, target in pairs:
            for f in target:
                total = sum(chance[e, f] for e in source)
                for e in source:
                    counts[e, f] += chance[e, f] / total
        sums: defaultdict[str, float] = defaultdict(float)
        for (e, _), count in counts.items():
            sums[e] += count
        chance = {(e, f): count / sums[e] for (e, f), count in counts.items()}
    found = translation_probabilities(TWINS, vocabulary)
    expected = [[chance.get((e, f), 0.0) for f in vocabulary] for e in vocabulary]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[vocabulary["dog"]].argmax() == vocabulary["hound"]
    alike = alignment_similarity(TWINS, vocabulary)
    assert alike[vocabulary["dog"], vocabulary["run"]] < 0.5
    assert alike.shape == (5, 5)
    assert alignment_similarity([[["dog"]]], {}).shape == distributional_similarity([], {}).shape == (0, 0)


def test_bags_of_words_are_compared_by_cosine_and_by_weighted_f1() -> None:
    idf = idf_of(DOCUMENTS)
    assert idf["run"] == pytest.approx(math.log(3 / 2))
    assert idf["dog"] == 0.0
    idf = {word: 0.5 + weight for word, weight in idf.items()}
    counts = [Counter(word for words in document for word in words) for document in DOCUMENTS]
    cosines, overlaps = BagOfWords()(DOCUMENTS, DOCUMENTS), idf_overlaps(DOCUMENTS, DOCUMENTS, idf)
    for (i, one), (j, other) in product(enumerate(counts), enumerate(counts)):
        dot = sum(one[word] * other[word] for word in one)
        size = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
        assert cosines[i, j] == pytest.approx(dot / size)
        shared = sum(min(n, other[word]) * idf[word] for word, n in one.items())
        precision, recall = (shared / sum(n * idf[word] for word, n in bag.items()) for bag in (one, other))
        f1 = 2 * precision * recall / (precision + recall) if shared else 0.0
        assert overlaps[i, j] == pytest.approx(f1)


def test_tag_rank_weighs_words_by_their_place() -> None:
    kernel = TagRank.of(DOCUMENTS)
    captions = [words for document in DOCUMENTS for words in document]
    places = [(word, place) for words in captions for place, word in enumerate(words, 1)]

    def vectors(words: list[str]) -> tuple[dict[str, float], dict[str, float]]:
        at = {word: np.mean([place for place, own in enumerate(words, 1) if own == word]) for word in words}
        behind = {
            word: float(
                np.mean([place > mean for own, place in places if own == word]) if word in dict(places) else 1
            )
            for word, mean in at.items()
        }
        return {word: float(1 / np.log2(1 + mean)) for word, mean in at.items()}, behind

    def distance(one: dict[str, float], other: dict[str, float]) -> float:
        words = {*one, *other}
        sides = [(one.get(word, 0.0), other.get(word, 0.0)) for word in words]
        return sum((a - b) ** 2 / (a + b) for a, b in sides if a + b)

    scales = [
        np.mean(
            [distance(vectors(list(a))[side], vectors(list(b))[side]) for a in captions for b in captions]
        )
        for side in (0, 1)
    ]
    new: Document = [["cat", "play", "dog"]]
    expected = [
        np.mean(
            [
                math.exp(-distance(vectors(list(a))[side], vectors(list(b))[side]) / scales[side])
                for side in (0, 1)
                for a in new
                for b in document
            ]
        )
        for document in DOCUMENTS
    ]
    np.testing.assert_allclose(kernel([new], DOCUMENTS)[0], expected, rtol=1e-12)


def test_image_kernels_intersect_histograms_region_by_region() -> None:
    generator = np.random.default_rng(3)

    def drawn(pictures: int) -> Histograms:
        levels: dict[str, list[Floats]] = {}
        for name in ("colour", "sift"):
            points = generator.integers(0, 5, size=(pictures, 4, 4, 6))  # 16 regions of 6 points
            whole = [points.reshape(pictures, 1, -1), _quarters(points), points.reshape(pictures, 16, 6)]
            levels[name] = [
                np.stack([[np.bincount(own, minlength=5) / 96 for own in picture] for picture in level])
                for level in whole
            ]
        return Histograms(levels)

    one, other = drawn(3), drawn(2)

    def slow(level: int, name: str, i: int, j: int) -> float:
        first, second = one.levels[name][level][i], other.levels[name][level][j]
        return sum(
            min(a, b) for own, its in zip(first, second, strict=True) for a, b in zip(own, its, strict=True)
        )

    flat, pyramid = histogram_kernel(one, other, 2), pyramid_kernel(one, other, 3)
    for i, j in product(range(3), range(2)):
        whole = [slow(0, name, i, j) for name in ("colour", "sift")]
        assert flat[i, j] == pytest.approx(np.mean(whole) ** 2)
        deep = []
        for name in ("colour", "sift"):
            coarse, middle, fine = (slow(level, name, i, j) for level in range(3))
            deep.append(fine + (middle - fine) / 2 + (coarse - middle) / 4)
        assert pyramid[i, j] == pytest.approx(np.mean(deep) ** 3)


def _quarters(points: np.ndarray) -> np.ndarray:
    parts = [points[:, r : r + 2, c : c + 2].reshape(len(points), 1, -1) for r in (0, 2) for c in (0, 2)]
    return np.concatenate(parts, axis=1)


def test_points_have_lab_colours_and_sift_sees_edges_where_they_are() -> None:
    picture = Image.new("RGB", (80, 40), "white")
    ImageDraw.Draw(picture).rectangle((40, 0, 80, 40), fill=(255, 0, 0))
    points = points_of(picture)
    right = points.places[:, 1] > 0.6
    red = points.features["colour"][right].mean(axis=0)
    assert red[1] > 60  # on the axis from green to red
    assert red[2] > 50  # on the axis from blue to yellow
    near = np.abs(points.places[:, 1] - 0.5) < 0.1
    lengths = np.linalg.norm(points.features["sift"], axis=1)
    assert lengths[near].min() > 0.9
    assert lengths[points.places[:, 1] < 0.2].max() == 0
    assert points.features["texture"][near].max() > 5 * points.features["texture"][~near].max()


def test_kcca_of_equal_kernels_has_the_correlations_of_its_eigenvalues() -> None:
    values = np.array([4.0, 2.0, 1.0, 0.5])
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    kernel = (basis * values) @ basis.T
    fitted = fit_kcca(kernel, kernel, 0.5, centred=False)
    np.testing.assert_allclose(fitted.correlations, values / (values + 0.5))


def test_kcca_of_linear_kernels_is_canonical_correlation_and_solves_the_regularised_problem() -> None:
    generator = np.random.default_rng(2)
    shared = generator.normal(size=(40, 2))
    x = np.hstack([shared + 0.5 * generator.normal(size=(40, 2)), generator.normal(size=(40, 1))])
    y = np.hstack([shared @ [[1.0, 0.3], [0.2, 1.0]] + 0.5 * generator.normal(size=(40, 2))])
    q_x, q_y = (np.linalg.qr(side - side.mean(axis=0))[0] for side in (x, y))
    classical = np.linalg.svd(q_x.T @ q_y, compute_uv=False)
    fitted = fit_kcca(x @ x.T, y @ y.T, 0.0)
    np.testing.assert_allclose(fitted.correlations, classical, atol=1e-9)
    new = generator.normal(size=(5, 3))
    moved = fitted.project_first(new @ x.T)
    weights = (
        x - x.mean(axis=0)
    ).T @ fitted.first  # of a linear kernel the projection is that of the features
    np.testing.assert_allclose(moved, (new - x.mean(axis=0)) @ weights, atol=1e-9)

    k, first, second = 0.7, x @ x.T + np.eye(40), y @ y.T + np.eye(40)
    found = fit_kcca(first, second, k, centred=False)
    left = np.linalg.solve(first + k * np.eye(40), second)
    problem = left @ np.linalg.solve(second + k * np.eye(40), first)
    np.testing.assert_allclose(problem @ found.first, found.first * found.correlations**2, atol=1e-9)


def test_systems_find_planted_neighbours_and_borda_joins_them() -> None:
    near = np.array([[0.9, 0.1, 0.2], [0.1, 0.2, 0.8], [0.0, 0.7, 0.1]])
    order = rank_by_neighbours(near, near, "annotation")
    assert order[:, 0].tolist() == [0, 1, 2]
    assert rank_by_neighbours(near, near, "search")[:, 0].tolist() == [0, 1, 2]
    tie = joined([np.array([[0, 1, 2]]), np.array([[0, 2, 1]]), np.array([[1, 0, 2]])])
    assert tie.tolist() == [[0, 1, 2]]
    generator = np.random.default_rng(4)
    topics = generator.normal(size=(60, 4))
    sides = [topics @ generator.normal(size=(4, 6)) + 0.05 * generator.normal(size=(60, 6)) for _ in range(2)]
    images, captions = (Kernels(*(part @ side[:30].T for part in np.split(side, [30, 45]))) for side in sides)
    ranking, settings = rank_by_kcca(images, captions, "annotation")
    assert (ranking[:, 0] == np.arange(15)).mean() > 0.8
    assert sorted(setting.regularisation for setting in settings) == [0.1, 0.5, 1.0, 5.0]  # one model each
    assert settings[0].recalls[0] == max(setting.recalls[0] for setting in settings)


@pytest.mark.django_db
def test_a_run_of_the_systems_is_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    colours = ("red", "green", "blue", "white", "black")
    rows = []
    for split, count in (("train", 3), ("dev", 1), ("test", 1)):
        for colour, number in product(colours, range(count)):
            name = f"{split}-{colour}-{number}.png"
            Image.new("RGB", (24, 24), colour).save(tmp_path / name)
            words = {"train": "square", "dev": "thing", "test": "picture"}[split]
            for caption in (f"a {colour} {words}", f"{words} in {colour} paint"):
                rows.append({"image": name, "caption": caption, "split": split})
    (tmp_path / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    call_command(
        "import_dataset", "jsonl", str(tmp_path / "captions.jsonl"), name="squares", images=str(tmp_path)
    )
    run = tmp_path / "squares.run"
    for task in ("annotation", "search"):
        call_command(
            "rank_captions", "squares", task=task, output=run, systems="nn,tri5,tri5sem,borda", caption=1
        )
        call_command("import_rankings", str(run), dataset="squares", task=task)
    assert "15 images for training, 5 for choosing settings, 5 in the pool." in capsys.readouterr().out
    found = Output.objects.filter(system__name="nn", rank=Output.objects.order_by("rank")[0].rank)
    for output in found.select_related("item", "caption"):
        colour = output.item.name.split("-")[1]
        assert output.caption.text == f"picture in {colour} paint"
    assert found.count() == 10
    assert set(Output.objects.values_list("system__name", flat=True)) == {"nn", "tri5", "tri5sem", "borda"}
    runs = set()
    for kernels in ({}, {"image_power": 3}, {"text_diagonal": 15.0}):
        call_command(
            "rank_captions", "squares", task="search", output=run, systems="tri5", caption=1, **kernels
        )
        runs.add(run.read_text())
    assert len(runs) == 3
    for wrong, words in (
        ({"text_diagonal": 0.5}, r"--text-diagonal is 0\.5; expected 1 or more"),
        ({"systems": "nn,borda"}, "joins two or more"),
        ({"systems": "knn"}, "names knn"),
        ({"caption": 7}, "has 2 captions, expected caption number 7"),
        ({"seed": -1}, "expected 0 or more"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("rank_captions", "squares", task="search", output=run, **wrong)
    Item.objects.filter(name="test-red-0.png").update(name="my red.png")
    with pytest.raises(CommandError, match=r"'my red\.png' .* has a blank in its name"):
        call_command("rank_captions", "squares", task="search", output=run)
