"""Measures of how well a system's keywords of images agree with people's tags (Mason, Charniak 2012, MC12, §5.2, §6.2).

R_j is the multiset of the tags that the annotators of image j gave, and |a in R_j| the count of tag a in it. A_j are
the keywords that a system guesses. Over the images I that have tags,

    best = sum_j |a_j in R_j| / |R_j| / |I|                  one guess for each image; several share the credit
    oot  = sum_j sum_(a in A_j) |a in R_j| / |R_j| / |I|     "out of ten": ten guesses

The *mode* variants are shares of the images that have a single most frequent tag: the share where this tag is the first
guess (best), or one of the guesses (oot). As in SemEval-2007 task 10 (McCarthy, Navigli 2007), an image without guesses
counts only in the recall (MC12's figure), and a repeated guess is credited each time (with `duplicates="once"`, only
once).

All measures take a list with an entry for each image, of keywords that `keyword_forms` has normalised:

    annotations    the system's guesses, best first, such as ["dog", "run"]
    gold           R_j, the counts of tags, such as {"dog": 4, "run": 1}
    vocabulary     the words that count in MC12's standard evaluation; None counts all words

The scores of an image without a gold keyword are undefined.

A keyword is cut into runs of letters and digits, lower-cased and stemmed word by word. A keyword without letters or
digits (an emoji) is not changed. `stem` is "porter" (Porter's released program), "porter-1980" (his paper) or "none".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np

from quorum.metrics.inputs import (
    InvalidInput,
    UnknownName,
    are_texts,
    check_collection,
    check_lists_of,
    checked_count,
)
from quorum.metrics.signatures import measure_signature, vocabulary_name
from quorum.metrics.text.porter import porter, porter_1980
from quorum.metrics.text.tokenizers import tokenizer_named
from quorum.numeric.arrays import Flags, Floats, Ints, ratio
from quorum.numeric.signatures import Value

MIN_FREQUENCY = 5  # MC12: words that occur less often in the training articles are infrequent

STEMS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "porter": porter,
    "porter-1980": porter_1980,
    "none": list,
}

Tags = Mapping[str, int]  # how often each tag was given
Vocabulary = Collection[str] | None
DEFAULT_GUESSES = 10
# The choices of `duplicates`: a repeated guess is credited each time, or once.
CREDITED = "credited"
CREDITED_ONCE = "once"
DUPLICATES = (CREDITED, CREDITED_ONCE)
NO_TAGS = "images without tags"
NO_MODE = "images without a single most frequent tag"
NO_GUESS = "images without guesses"


def keyword_forms(keywords: Sequence[str], *, stem: str = "porter") -> list[str]:
    """Return the normalised form of each keyword or collocation: the stems of its words, joined by blanks."""
    _check_texts(keywords, "keywords")
    tokenize, stem_words = tokenizer_named("h13").cut, _stemmer(stem)
    # Porter's published rules turn the word "s" into an empty text.
    return [" ".join(filter(None, stem_words(tokenize(keyword)))) or keyword.strip() for keyword in keywords]


def keyword_terms(
    texts: Sequence[str], *, stem: str = "porter", stop_words: Collection[str] = frozenset()
) -> list[list[str]]:
    """Return the stemmed words of each text in order, without `stop_words` (such as `smart_stop_words()`)."""
    _check_texts(texts, "texts")
    tokenize, stem_words = tokenizer_named("h13").cut, _stemmer(stem)
    dropped_words = frozenset(stop_words)
    stems: dict[str, str] = {}  # of all words so far, so that each is stemmed once
    terms = []
    for text in texts:
        tokens = [word for word in tokenize(text) if word not in dropped_words]
        new_words = [word for word in tokens if word not in stems]
        stems.update(zip(new_words, stem_words(new_words), strict=True))
        terms.append([stems[word] for word in tokens if stems[word]])
    return terms


def gold_tags(
    annotations: Sequence[Sequence[Collection[str]]], *, stem: str = "porter"
) -> list[Counter[str]]:
    """Return R_j for each image: how often its annotators gave each tag (MC12 section 3.2).

    `annotations[j][i]` are the keywords that person i gave for image j; the measures take those of a system. A keyword
    that a person repeats counts once. Counts of keywords with the same form are added, as in the paper.
    """
    tags_of_images = []
    for image, keyword_lists in enumerate(annotations):
        tags: Counter[str] = Counter()
        for annotator, keywords in enumerate(keyword_lists):
            _check_texts(keywords, f"annotations[{image}][{annotator}]")
            tags.update(filter(None, keyword_forms(list(dict.fromkeys(keywords)), stem=stem)))
        tags_of_images.append(tags)
    return tags_of_images


def frequent_words(documents: Iterable[Sequence[str]], *, least: int = MIN_FREQUENCY) -> frozenset[str]:
    """Return the terms that occur `least` times or more in the documents: MC12's standard vocabulary (section 3.1)."""
    min_count = checked_count(least, "least")
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(document)
    return frozenset(word for word, count in counts.items() if count >= min_count)


def _check_texts(texts: Any, name: str) -> None:
    check_collection(texts, name, "a list of texts")
    for text in texts:
        if not isinstance(text, str):
            raise InvalidInput(f"{name} holds a {type(text).__name__}, expected texts")


def _stemmer(name: str) -> Callable[[Sequence[str]], list[str]]:
    if name not in STEMS:
        raise UnknownName("stem", name, STEMS)
    return STEMS[name]


@dataclass(frozen=True, slots=True, eq=False)
class KeywordScore:
    """Mean credits of a system's keywords by one of the measures.

    images: (images,) credit of each image: 0 if the system made no guess, nan if the credit is not defined. counted:
    number of images whose credit is defined; recall: their mean credit. attempted: number of these that have a guess;
    precision: their mean credit. undefined: number of images whose credit is not defined. repeated: number of attempted
    images with a repeated guess. reason: why images do not count.
    """

    precision: float
    recall: float
    images: Floats
    counted: int
    attempted: int
    undefined: int
    repeated: int
    reason: str
    signature: str


@dataclass(frozen=True, slots=True, eq=False)
class KeywordOverlap:
    """Precision, recall and F1 of a system's keywords. A repeated guess counts once.

    image_precision, image_recall, image_f1: (images,) values. For an image without a guess only the recall is defined.
    precision, recall: means over images. f1: their harmonic mean (MC12). mean_f1: the mean of `image_f1`. Other fields
    are as in `KeywordScore`.
    """

    precision: float
    recall: float
    f1: float
    mean_f1: float
    image_precision: Floats
    image_recall: Floats
    image_f1: Floats
    counted: int
    attempted: int
    undefined: int
    repeated: int
    reason: str
    signature: str


def keyword_best(
    annotations: Sequence[Sequence[str]],
    gold: Sequence[Tags],
    *,
    vocabulary: Vocabulary = None,
    duplicates: str = CREDITED,
) -> KeywordScore:
    """Return the credits by the measure "best": several guesses share the credit (MC12 section 6.2, "best normal")."""
    guess_data = _read_guesses(annotations, gold, vocabulary, duplicates)
    guess_counts = np.array([len(guesses) for guesses in guess_data.guesses], dtype=np.int64)
    credit = guess_data.credits() / np.maximum(guess_counts, 1)
    signature = measure_signature("keyword-best", **evaluation_fields(vocabulary), duplicates=duplicates)
    return _make_score(guess_data, credit, guess_data.tag_totals > 0, NO_TAGS, signature)


def keyword_best_mode(
    annotations: Sequence[Sequence[str]],
    gold: Sequence[Tags],
    *,
    vocabulary: Vocabulary = None,
    modes: Sequence[str | None] | None = None,
) -> KeywordScore:
    """Return how often the first guess is the most frequent tag, or the tag given in `modes` (MC12 section 6.2)."""
    guess_data = _read_guesses(annotations, gold, vocabulary)
    targets = _target_tags(guess_data, modes)
    hits = [
        bool(guesses) and guesses[0] == tag for guesses, tag in zip(guess_data.guesses, targets, strict=True)
    ]
    signature = measure_signature("keyword-best-mode", **evaluation_fields(vocabulary, modes))
    return _mode_score(guess_data, hits, targets, signature)


def keyword_oot(
    annotations: Sequence[Sequence[str]],
    gold: Sequence[Tags],
    *,
    guesses: int = DEFAULT_GUESSES,
    vocabulary: Vocabulary = None,
    duplicates: str = CREDITED,
) -> KeywordScore:
    """Return the credit of up to `guesses` keywords in any order (MC12 section 6.2, "oot normal")."""
    guesses = checked_count(guesses, "guesses")
    guess_data = _read_guesses(annotations, gold, vocabulary, duplicates, guesses)
    signature = measure_signature(
        "keyword-oot", guesses=guesses, **evaluation_fields(vocabulary), duplicates=duplicates
    )
    return _make_score(guess_data, guess_data.credits(), guess_data.tag_totals > 0, NO_TAGS, signature)


def keyword_oot_mode(
    annotations: Sequence[Sequence[str]],
    gold: Sequence[Tags],
    *,
    guesses: int = DEFAULT_GUESSES,
    vocabulary: Vocabulary = None,
    modes: Sequence[str | None] | None = None,
) -> KeywordScore:
    """Return how often the most frequent tag, or the tag in `modes`, is a guess (MC12 section 6.2, "oot mode")."""
    guesses = checked_count(guesses, "guesses")
    guess_data = _read_guesses(annotations, gold, vocabulary, max_guesses=guesses)
    targets = _target_tags(guess_data, modes)
    hits = [mode in keywords for keywords, mode in zip(guess_data.guesses, targets, strict=True)]
    signature = measure_signature("keyword-oot-mode", guesses=guesses, **evaluation_fields(vocabulary, modes))
    return _mode_score(guess_data, hits, targets, signature)


def keyword_f1(
    annotations: Sequence[Sequence[str]],
    gold: Sequence[Collection[str]],
    *,
    guesses: int = DEFAULT_GUESSES,
    vocabulary: Vocabulary = None,
) -> KeywordOverlap:
    """Compare the first `guesses` keywords of each image with its gold keywords (MC12 section 5.2)."""
    guesses = checked_count(guesses, "guesses")
    check_collection(gold, "gold", "the keywords of each image")
    # Only the keywords of `gold` count here, so lists of keywords are accepted as well as counts of tags.
    tag_counts = [
        tags if isinstance(tags, Mapping) else _as_tags(tags, image) for image, tags in enumerate(gold)
    ]
    guess_data = _read_guesses(annotations, tag_counts, vocabulary, CREDITED_ONCE, guesses)
    guess_counts = np.array([len(keywords) for keywords in guess_data.guesses], dtype=np.int64)
    gold_counts = np.array([len(tags) for tags in guess_data.gold], dtype=np.int64)
    hits = np.zeros(len(guess_counts), dtype=np.int64)  # number of guesses that are gold keywords
    for image, (keywords, tags) in enumerate(zip(guess_data.guesses, guess_data.gold, strict=True)):
        hits[image] = sum(keyword in tags for keyword in keywords)
    is_defined = gold_counts > 0
    is_attempted = is_defined & (guess_counts > 0)
    precision = ratio(hits, guess_counts, where=is_attempted)
    recall = ratio(hits, gold_counts, where=is_defined)
    f1 = ratio(2 * hits, guess_counts + gold_counts, where=is_attempted)
    mean_precision, mean_recall = _mean(precision[is_attempted]), _mean(recall[is_defined])
    total = mean_precision + mean_recall
    for image_values in (precision, recall, f1):
        image_values.flags.writeable = False
    return KeywordOverlap(
        precision=mean_precision,
        recall=mean_recall,
        f1=2 * mean_precision * mean_recall / total if total else 0.0,  # nan if a mean is nan
        mean_f1=_mean(f1[is_attempted]),
        image_precision=precision,
        image_recall=recall,
        image_f1=f1,
        counted=int(is_defined.sum()),
        attempted=int(is_attempted.sum()),
        undefined=int((~is_defined).sum()),
        repeated=int((guess_data.has_repeated & is_attempted).sum()),
        reason=_reason({"images without gold keywords": ~is_defined, NO_GUESS: is_defined & ~is_attempted}),
        signature=measure_signature("keyword-f1", guesses=guesses, **evaluation_fields(vocabulary)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _GuessedKeywords:
    """The guesses for each image, and the gold tags to compare them with.

    tag_totals: (images,) sums of the counts of tags, |R_j|. has_repeated: (images,) flags of the images with a repeated
    guess.
    """

    guesses: Sequence[Sequence[str]]
    gold: Sequence[Tags]
    tag_totals: Ints
    has_repeated: Flags

    def credits(self) -> Floats:
        """Return the (images,) sums over the guesses a of |a in R_j| / |R_j|; 0 for an image without tags."""
        hits = np.zeros(len(self.guesses))
        for image, (guesses, tags) in enumerate(zip(self.guesses, self.gold, strict=True)):
            hits[image] = sum(tags.get(guess, 0) for guess in guesses)
        return hits / np.maximum(self.tag_totals, 1)


def _read_guesses(
    annotations: Sequence[Sequence[str]],
    gold: Sequence[Tags],
    vocabulary: Vocabulary,
    duplicates: str = CREDITED,
    max_guesses: int | None = None,
) -> _GuessedKeywords:
    """Return the first `max_guesses` keywords of each image, and its tags, both only with words of the vocabulary.

    Raise UnknownName or InvalidInput if an argument cannot be used.
    """
    if duplicates not in DUPLICATES:
        raise UnknownName("duplicates", duplicates, DUPLICATES)
    check_lists_of(annotations, "annotations", "keywords", "a list of keywords for each image")
    check_gold(gold)
    if len(annotations) != len(gold):
        raise InvalidInput(f"annotations has {len(annotations)} images, expected {len(gold)} as in gold")
    if len(gold) == 0:
        raise InvalidInput("gold is empty, expected the tags of at least one image")
    if vocabulary is not None:
        known_terms = frozenset(vocabulary)
        annotations = [[word for word in words if word in known_terms] for words in annotations]
        gold = [{tag: count for tag, count in tags.items() if tag in known_terms} for tags in gold]
    first_guesses: Sequence[Sequence[str]]
    if duplicates == CREDITED_ONCE:
        # Drop repeats before the cut, so that further guesses take their places. `has_repeated` still reads them.
        first_guesses = [list(dict.fromkeys(words))[:max_guesses] for words in annotations]
    else:
        first_guesses = annotations = [words[:max_guesses] for words in annotations]
    tag_totals = np.array([sum(tags.values()) for tags in gold], dtype=np.int64)
    has_repeated = np.array([len(set(words)) < len(words) for words in annotations], dtype=np.bool_)
    return _GuessedKeywords(first_guesses, gold, tag_totals, has_repeated)


def _target_tags(guess_data: _GuessedKeywords, modes: Sequence[str | None] | None) -> Sequence[str | None]:
    """Return the tag of each image that must be guessed, or None if there is no such tag.

    It is taken from `modes`. Without `modes`, it is the single most frequent tag.
    """
    if modes is None:
        return [_single_mode(tags) for tags in guess_data.gold]
    if len(modes) != len(guess_data.gold):
        raise InvalidInput(f"modes has {len(modes)} images, expected {len(guess_data.gold)} as in gold")
    for image, mode in enumerate(modes):
        if not (mode is None or isinstance(mode, str)):
            raise InvalidInput(f"modes[{image}] is a {type(mode).__name__}, expected a tag or None")
    return modes


def _single_mode(tags: Tags) -> str | None:
    """Return the most frequent tag, or None if several are equally frequent."""
    largest_count = max(tags.values(), default=0)
    modes = [tag for tag, count in tags.items() if count == largest_count]
    return modes[0] if len(modes) == 1 else None


def _mode_score(
    guess_data: _GuessedKeywords, hits: list[bool], targets: Sequence[str | None], signature: str
) -> KeywordScore:
    """Return the share of the images with a target tag in which the guesses hit it."""
    has_mode = np.array([mode is not None for mode in targets], dtype=np.bool_)
    return _make_score(guess_data, np.array(hits, dtype=np.float64), has_mode, NO_MODE, signature)


def _make_score(
    guess_data: _GuessedKeywords, credit: Floats, is_defined: Flags, undefined_reason: str, signature: str
) -> KeywordScore:
    """Return the means of (images,) credits, of which those in `is_defined` (images,) are defined.

    `undefined_reason` says why the others are not defined.
    """
    has_guess = np.array([len(guesses) > 0 for guesses in guess_data.guesses], dtype=np.bool_)
    is_attempted = is_defined & has_guess
    image_credits = np.where(is_defined, credit, np.nan)
    image_credits.flags.writeable = False
    return KeywordScore(
        precision=_mean(image_credits[is_attempted]),
        recall=_mean(image_credits[is_defined]),
        images=image_credits,
        counted=int(is_defined.sum()),
        attempted=int(is_attempted.sum()),
        undefined=int((~is_defined).sum()),
        repeated=int((guess_data.has_repeated & is_attempted).sum()),
        reason=_reason({undefined_reason: ~is_defined, NO_GUESS: is_defined & ~has_guess}),
        signature=signature,
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")  # without a warning


def _reason(images_by_reason: Mapping[str, Flags]) -> str:
    """Return the reasons that apply to some images, with their numbers, such as "images without tags: 3"."""
    return "; ".join(
        f"{reason}: {int(flags.sum())}" for reason, flags in images_by_reason.items() if flags.any()
    )


def evaluation_fields(vocabulary: Vocabulary, modes: Sequence[str | None] | None = None) -> dict[str, Value]:
    """Return the fields of signatures that say by which vocabulary and modes keywords were evaluated."""
    fields: dict[str, Value] = {"eval": "include-infrequent" if vocabulary is None else "standard"}
    if vocabulary is not None:
        fields["vocabulary"] = vocabulary_name(frozenset(vocabulary))
    if modes is not None:
        fields["modes"] = "given"
    return fields


def _as_tags(keywords: Collection[str], image: int) -> Tags:
    if isinstance(keywords, str | bytes) or not isinstance(keywords, Collection):
        raise InvalidInput(f"gold[{image}] is a {type(keywords).__name__}, expected the keywords of an image")
    return dict.fromkeys(keywords, 1)


def check_gold(gold: Sequence[Any]) -> None:
    """Raise InvalidInput unless `gold` has a mapping of tags to counts for each image."""
    check_collection(gold, "gold", "the count of each tag for each image")
    for image, tags in enumerate(gold):
        if not isinstance(tags, Mapping):
            raise InvalidInput(f"gold[{image}] is a {type(tags).__name__}, expected the count of each tag")
    # Checking all images at once is faster; only if something is wrong, find the image.
    all_tags, all_counts = chain.from_iterable(gold), chain.from_iterable(tags.values() for tags in gold)
    if are_texts(all_tags) and _are_counts(all_counts):
        return
    image = next(
        image for image, tags in enumerate(gold) if not (are_texts(tags) and _are_counts(tags.values()))
    )
    raise InvalidInput(f"gold[{image}] is {gold[image]!r}, expected texts with whole counts from 1 on")


def _are_counts(values: Iterable[Any]) -> bool:
    distinct_values = set(values)
    return all(isinstance(value, Integral) and int(value) >= 1 for value in distinct_values)


# The functions by the names in their signatures.
CALLS: dict[str, Callable[..., KeywordScore | KeywordOverlap]] = {
    "keyword-best": keyword_best,
    "keyword-best-mode": keyword_best_mode,
    "keyword-oot": keyword_oot,
    "keyword-oot-mode": keyword_oot_mode,
    "keyword-f1": keyword_f1,
}
