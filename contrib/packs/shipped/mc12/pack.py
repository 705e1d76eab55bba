"""MC12, Mason and Charniak 2012: keywords of texts with images.

The measures of SemEval-2007 task 10 are compared with its own scorer. The paper's baselines are computed on its data if
these are there, and else on simulated keywords. `Run.number` records Quorum's value of a number in the paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contrib.packs.references import references_by_image
from contrib.packs.rehearsal import rehearse_votes
from contrib.packs.running import Run
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Cell, Estimate
from judgments.importers import open_dataset
from judgments.importers.notes import ImportNotes
from judgments.importers.records.columns import Columns
from judgments.importers.records.json_records import read_json_lines
from quorum.metrics.keyword_baselines import (
    KeywordList,
    corpus_frequency,
    document_title,
    sentence_extraction,
    term_frequency,
    tf_idf,
    topic_words,
)
from quorum.metrics.keywords import (
    KeywordScore,
    frequent_words,
    gold_tags,
    keyword_best,
    keyword_best_mode,
    keyword_f1,
    keyword_oot,
    keyword_oot_mode,
    keyword_terms,
    read_answers,
    read_gold,
    substitution_scores,
)
from quorum.metrics.text.word_lists import smart_stop_words
from quorum.statistics.significance import bootstrap_interval

SEMEVAL, BBC, UNT, PASCAL = "semeval-2007-task10", "bbc", "unt", "pascal-50s"
# Files of systems' answers, with their measures.
SYSTEM_FILES = (("baseline.best", "best"), ("baseline-two.best", "best"), ("baseline.oot", "oot"))
MEASURES: Mapping[str, Callable[..., KeywordScore]] = {
    "best": keyword_best,
    "best-mode": keyword_best_mode,
    "oot": keyword_oot,
    "oot-mode": keyword_oot_mode,
}
# For the rehearsal:
TEXT_CAPTIONS = 40  # captions that form an image's text
KEYWORD_SHARE = 0.25  # least share of these captions in which a keyword occurs
ANNOTATORS = 5
MAX_IMAGES = 300  # test images

Terms = list[str]  # words, in some texts stemmed or without stop words


@dataclass(frozen=True, slots=True)
class ImageTexts:
    """Texts of I test images, and of training images, as terms.

    Attributes:
        sentences: for each test image, the sentences of its text.
        titles: the title of each text.
        gold: for each test image, how many people gave each keyword.
        training_terms, training_gold: the text and the keywords of each training image.
    """

    sentences: list[list[Terms]]
    titles: list[Terms]
    gold: list[Counter[str]]
    training_terms: list[Terms]
    training_gold: list[Terms]

    @property
    def documents(self) -> list[Terms]:
        """The text of each test image."""
        return [[term for sentence in text for term in sentence] for text in self.sentences]


def analyse(run: Run) -> None:
    _add_semeval(run)
    for number in run.pack.numbers:
        if "/mix-lda/" in number.id:
            run.missing(
                number.id, "Mix LDA learns from features of the pictures, too, and the data hold texts alone"
            )
    if run.has_data(BBC):
        texts = _read_images(run.data[BBC] / "articles.jsonl", stem="none")
        _add_overlaps(run, BBC, "BBC", texts, are_published=True)
    if run.has_data(UNT):
        texts = _read_images(run.data[UNT] / "pages.jsonl", stem="porter")
        _add_substitution_measures(run, UNT, "UNT", texts, are_published=True)
    if run.has_data(PASCAL):
        run.progress(0.5, "rehearsing keywords")
        texts = _simulated_texts(run)
        title = "captions as texts, rehearsed annotators"
        _add_overlaps(run, "rehearsed", title, texts, are_published=False)
        _add_substitution_measures(run, "rehearsed", title, texts, are_published=False)
    else:
        run.note_judgments(
            "None: the keywords of both data sets are not released, and the texts of the rehearsal are not there."
        )


def _add_semeval(run: Run) -> None:
    """Compare the measures with the output of the task's own scorer."""
    folder = run.data[SEMEVAL]
    gold = read_gold(_read_lines(folder / "lst_test.gold"))
    rows: list[tuple[Cell, ...]] = []
    for file, measure in SYSTEM_FILES:
        scores = substitution_scores(read_answers(_read_lines(folder / file), measure), gold, measure)
        run.add_signature(file, scores.normal.signature)
        run.number(f"semeval/{file}/{measure}", Estimate(scores.normal.precision, n=scores.normal.attempted))
        run.number(f"semeval/{file}/mode", Estimate(scores.mode.precision, n=scores.mode.attempted))
        rows.append(
            (file, scores.normal.precision, scores.normal.recall, scores.mode.precision, scores.mode.recall)
        )
    run.number("semeval/items", Estimate(len(gold.answers)))
    run.number("semeval/modes", Estimate(sum(mode is not None for mode in gold.modes.values())))
    measures = ("precision", "recall", "mode precision", "mode recall")
    run.add_table_section(
        "semeval",
        "SemEval-2007 task 10",
        "The same measures as for keywords, on the task's own files.",
        "The measures on three system files",
        [("file", "text"), *((measure, "coefficient") for measure in measures)],
        rows,
    )


def _read_lines(file: Path) -> list[str]:
    return file.read_text("latin-1").splitlines()


def _baselines(texts: ImageTexts, vocabulary: frozenset[str] | None, seed: int) -> dict[str, KeywordList]:
    """Return the keywords that each baseline gives the test images, all of them in ``vocabulary``, if it is given."""
    training = texts.training_terms or None  # with None, the baselines learn from the test images
    training_with_keywords = [
        [*text, *gold] for text, gold in zip(texts.training_terms, texts.training_gold, strict=True)
    ]
    return {
        "term-frequency": term_frequency(texts.documents, vocabulary=vocabulary),
        "tf-idf": tf_idf(texts.documents, training=training, vocabulary=vocabulary),
        "title": document_title(texts.titles, vocabulary=vocabulary),
        "corpus": corpus_frequency(texts.gold, training=texts.training_gold or None, vocabulary=vocabulary),
        "sentence": sentence_extraction(texts.sentences, vocabulary=vocabulary),
        "text-lda": topic_words(
            texts.documents, training=training_with_keywords or None, vocabulary=vocabulary, seed=seed
        ),
    }


def _add_overlaps(run: Run, name: str, title: str, texts: ImageTexts, *, are_published: bool) -> None:
    """Compute precision, recall and F1 of ten keywords, with and without infrequent words (Table 2).

    ``are_published`` says whether the paper publishes numbers for these texts.
    """
    rows: list[tuple[Cell, ...]] = []
    for evaluation, vocabulary in (
        ("standard", frequent_words(texts.training_terms)),
        ("include-infrequent", None),
    ):
        for baseline, keywords in _baselines(texts, vocabulary, run.seed).items():
            overlap = keyword_f1(keywords.annotations, texts.gold, vocabulary=vocabulary)
            figures = {"precision": overlap.precision, "recall": overlap.recall, "f1": overlap.f1}
            rows.append((evaluation, baseline, *figures.values()))
            for figure, value in figures.items():
                if are_published:
                    run.number(f"{name}/{evaluation}/{baseline}/{figure}", Estimate(value))
    coefficients = ((figure, "coefficient") for figure in ("precision", "recall", "F1"))
    run.add_table_section(
        f"{name}-overlap",
        f"Precision, recall and F1 of ten keywords: {title}",
        "Standard evaluation keeps words that occur five times or more in training texts.",
        f"Baselines on {title}",
        [("evaluation", "text"), ("baseline", "text"), *coefficients],
        rows,
    )


def _add_substitution_measures(
    run: Run, name: str, title: str, texts: ImageTexts, *, are_published: bool
) -> None:
    """Compute the measures of SemEval-2007 task 10, in which a keyword counts as often as people gave it (Table 5)."""
    rows: list[tuple[Cell, ...]] = []
    for baseline, keywords in _baselines(texts, None, run.seed).items():
        cells = []
        for measure, keyword_measure in MEASURES.items():
            # "best" measures take only the first keyword as the system's answer.
            takes_first = measure.startswith("best")
            guesses = [terms[:1] if takes_first else terms for terms in keywords.annotations]
            score = keyword_measure(guesses, texts.gold)
            image_scores = score.images[~np.isnan(score.images)]
            interval = bootstrap_interval(image_scores, seed=run.seed) if image_scores.size else None
            low, high = (interval.low, interval.high) if interval else (None, None)
            cells.append(Estimate(score.recall, low, high, score.counted))
            if are_published and any(
                number.id == f"{name}/{baseline}/{measure}" for number in run.pack.numbers
            ):
                run.number(f"{name}/{baseline}/{measure}", cells[-1])
        rows.append((baseline, *cells))
    mode_count = sum(_has_mode(tags) for tags in texts.gold)
    if are_published:
        run.number(f"{name}/modes", Estimate(mode_count))
    run.add_table_section(
        f"{name}-substitution",
        f"Best, out of ten, and mode: {title}",
        f"{mode_count:,} of {len(texts.gold):,} images have a single most frequent keyword, which the mode measures "
        "take.",
        f"Baselines on {title}",
        [("baseline", "text"), *((measure, "coefficient") for measure in MEASURES)],
        rows,
    )


def _has_mode(tags: Mapping[str, int]) -> bool:
    """Return whether one keyword was given more often than any other."""
    counts = sorted(tags.values(), reverse=True)
    return bool(counts) and (len(counts) == 1 or counts[0] > counts[1])


def _read_images(file: Path, *, stem: str) -> ImageTexts:
    """Read the images of a JSON lines file, whose columns pack.toml describes.

    ``stem`` is the stemmer, or "none". Stop words are left out if words are stemmed.
    """
    stop_words = smart_stop_words() if stem != "none" else frozenset()
    texts = ImageTexts([], [], [], [], [])
    for record in read_json_lines(
        file, Columns(("image", "title", "text", "keywords"), ("split",)), ImportNotes(), None
    ):
        row: Mapping[str, Any] = record.values
        people = row["keywords"]
        if not (isinstance(people, list) and all(isinstance(keywords, list) for keywords in people)):
            raise EvaluationError(
                f"{file}, line {record.line}: keywords is {people!r}, expected a list for each annotator."
            )
        sentences = keyword_terms(str(row["text"]).splitlines() or [""], stem=stem, stop_words=stop_words)
        gold = gold_tags([people], stem=stem)[0]
        if row.get("split") == "train":
            texts.training_terms.append([term for sentence in sentences for term in sentence])
            texts.training_gold.append(list(gold))
        else:
            texts.sentences.append(sentences)
            texts.titles.append(keyword_terms([str(row["title"])], stem=stem, stop_words=stop_words)[0])
            texts.gold.append(gold)
    if not texts.gold:
        raise EvaluationError(f"{file} has no test images, expected some whose split is not train.")
    return texts


def _simulated_texts(run: Run) -> ImageTexts:
    """Return captions of PASCAL-50S as texts of images, with keywords that simulated annotators choose among the words.

    The first half of the images is for training, and the second half for tests.
    """
    captions = references_by_image(open_dataset(PASCAL, run.data[PASCAL]).rows()).values()
    stop_words = smart_stop_words()
    images = [keyword_terms(texts, stop_words=stop_words) for texts in list(captions)[: 2 * MAX_IMAGES]]
    half = len(images) // 2
    training_images, test_images = images[:half], images[half:]
    run.note_judgments(
        f"Simulated: the keywords of the BBC and UNT data are not released, so that {ANNOTATORS} rehearsed annotators "
        f"choose among the words of {TEXT_CAPTIONS} captions of {len(test_images):,} images of PASCAL-50S; a word is "
        "right if a quarter of the captions has it. They show the analyses, and say nothing about people."
    )
    return ImageTexts(
        sentences=[image[:TEXT_CAPTIONS] for image in test_images],
        titles=[image[-1] for image in test_images],  # the last caption, which is not in the text
        gold=_simulated_keywords([image[:TEXT_CAPTIONS] for image in test_images], run.seed),
        training_terms=[
            [term for sentence in image[:TEXT_CAPTIONS] for term in sentence] for image in training_images
        ],
        # The words of the last caption serve as keywords.
        training_gold=[image[-1] for image in training_images],
    )


def _simulated_keywords(texts: list[list[Terms]], seed: int) -> list[Counter[str]]:
    """Return, for each text, how many simulated annotators give each of its words as a keyword.

    A word is a right keyword if at least KEYWORD_SHARE of TEXT_CAPTIONS sentences have it.
    """
    words_by_text = [sorted({term for sentence in sentences for term in sentence}) for sentences in texts]
    is_keyword = [
        int(sum(word in sentence for sentence in sentences) >= KEYWORD_SHARE * TEXT_CAPTIONS)
        for sentences, words in zip(texts, words_by_text, strict=True)
        for word in words
    ]
    judgments = rehearse_votes(is_keyword, (0, 1), ANNOTATORS, crowd=RehearsalCrowd(workers=30, seed=seed))
    # Answers come text by text, and word by word for each text.
    counts = (judgments.value.reshape(-1, ANNOTATORS) == 1).sum(axis=1)
    keywords, start = [], 0
    for words in words_by_text:
        word_counts = counts[start : start + len(words)].tolist()
        keywords.append(
            Counter({word: count for word, count in zip(words, word_counts, strict=True) if count})
        )
        start += len(words)
    return keywords
