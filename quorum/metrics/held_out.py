"""Scores of people's captions and of unrelated texts, by a metric (Wang, Gaizauskas 2016: WG16).

Every caption of an image is held out in turn and scored against the image's other captions. Replacements of the
caption are scored in the same way: a caption of another image or dataset, a sentence from a corpus, or words drawn
one by one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from quorum.metrics.inputs import InvalidInput, check_lists, check_texts
from quorum.metrics.registry.scoring import score
from quorum.metrics.text.tokenizers import tokenizer_named
from quorum.metrics.text.tokens import encode_texts
from quorum.numeric.arrays import Floats, Ints, starts_of

# WG16 keep only sentences of a corpus that have at least this many tokens and characters.
MIN_TOKENS, MIN_CHARACTERS = 5, 10


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutCaptions:
    """n held-out captions, image by image.

    images: for each image with two captions or more, its captions in alphabetical order. texts: (n,) held-out
    captions. references: (n,) lists of the other captions of the same image. image_of: (n,) positions in `images` of
    the captions' images. single_caption_images: number of images with a single caption, which are not used.
    """

    images: list[list[str]]
    texts: list[str]
    references: list[list[str]]
    image_of: Ints
    single_caption_images: int

    @property
    def counts(self) -> Ints:
        """The (images,) numbers of held-out captions."""
        return np.bincount(self.image_of, minlength=len(self.images))


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScores:
    """Scores of n held-out captions and of their replacements.

    caption_scores: (n,) scores of the captions, by metric. replacement_scores: (n,) scores of the replacements, by
    the replacement's name and the metric. signatures, warnings: as in `Scores`.
    """

    caption_scores: Mapping[str, Floats]
    replacement_scores: Mapping[str, Mapping[str, Floats]]
    signatures: Mapping[str, str]
    warnings: tuple[str, ...]


def hold_out(
    captions: Sequence[Sequence[str]],
    *,
    max_per_image: int | None = None,
    generator: np.random.Generator | None = None,
) -> HeldOutCaptions:
    """Hold out every caption of every image in turn, or `max_per_image` random ones of an image that has more.

    `captions` has a list for each image. Captions are drawn with `generator`, by default a new one with the seed 0.
    """
    check_lists(captions, "captions")
    if max_per_image is not None and max_per_image < 1:
        raise InvalidInput(
            f"max_per_image is {max_per_image}, expected 1 or more captions to leave out of each image"
        )
    images = [sorted(texts) for texts in captions if len(texts) > 1]
    texts: list[str] = []
    references: list[list[str]] = []
    counts = []
    random = generator or np.random.default_rng(0)
    for captions_of_image in images:
        positions: Sequence[int] = range(len(captions_of_image))
        if max_per_image is not None and max_per_image < len(captions_of_image):
            positions = sorted(
                random.choice(len(captions_of_image), size=max_per_image, replace=False).tolist()
            )
        texts += [captions_of_image[position] for position in positions]
        references += [
            captions_of_image[:position] + captions_of_image[position + 1 :] for position in positions
        ]
        counts.append(len(positions))
    single_caption_images = sum(len(captions_of_image) == 1 for captions_of_image in captions)
    image_of = np.repeat(np.arange(len(images)), counts)
    return HeldOutCaptions(images, texts, references, image_of, single_caption_images)


def score_held_out(
    held_out: HeldOutCaptions,
    metrics: Iterable[str],
    tokenizer: str = "ptb",
    *,
    replacements: Mapping[str, Sequence[str]] | None = None,
) -> HeldOutScores:
    """Score the held-out captions, and the (n,) texts of each entry of `replacements`, against the same references.

    The documents for CIDEr are the images with all their captions.
    """
    replacements = replacements or {}
    n = len(held_out.texts)
    for name, texts in replacements.items():
        if len(texts) != n:
            raise InvalidInput(
                f"replacements[{name!r}] has {len(texts)} texts, expected {n}, one a caption left out"
            )
    candidates = [*held_out.texts, *chain.from_iterable(replacements.values())]
    # Repeat the same list objects, so that the words of references are counted once for all candidates.
    references = held_out.references * (1 + len(replacements))
    scores = score(candidates, references, metrics, tokenizer, document_corpus=held_out.images)
    # The first n scores are those of the captions. The next n are those of the first replacement, and so on.
    score_blocks = {
        name: np.split(metric_score.images, 1 + len(replacements))
        for name, metric_score in scores.scores.items()
    }
    return HeldOutScores(
        caption_scores={name: blocks[0] for name, blocks in score_blocks.items()},
        replacement_scores={
            replacement: {name: blocks[number] for name, blocks in score_blocks.items()}
            for number, replacement in enumerate(replacements, start=1)
        },
        signatures={name: metric_score.signature for name, metric_score in scores.scores.items()},
        warnings=scores.warnings,
    )


def draw_from_other_images(held_out: HeldOutCaptions, generator: np.random.Generator) -> list[str]:
    """Return, for each held-out caption, a random caption of another image (WG16: random intra-dataset).

    Raise InvalidInput if there is only one image.
    """
    if len(held_out.images) < 2:
        raise InvalidInput("there is one image with two captions, expected two or more to exchange captions")
    pool = list(chain.from_iterable(held_out.images))
    starts = starts_of(list(map(len, held_out.images)))
    # Draw a position among the captions of other images, and add the captions of the image itself, which are skipped.
    skipped_counts, skipped_starts = np.diff(starts)[held_out.image_of], starts[held_out.image_of]
    draws = generator.integers(0, len(pool) - skipped_counts)
    positions = np.where(draws < skipped_starts, draws, draws + skipped_counts)
    return [pool[position] for position in positions.tolist()]


def draw_from_other_sources(
    held_out: HeldOutCaptions, sources: Sequence[Sequence[str]], generator: np.random.Generator
) -> list[str]:
    """Return, for each held-out caption, a random text of a random source (WG16: random inter-dataset, Brown)."""
    check_lists(sources, "sources")
    for position, texts in enumerate(sources):
        check_texts(texts, f"sources[{position}]")
    drawn_sources = generator.integers(0, len(sources), size=len(held_out.texts))
    drawn_texts = generator.integers(0, np.array([len(texts) for texts in sources])[drawn_sources])
    return [
        sources[source][text]
        for source, text in zip(drawn_sources.tolist(), drawn_texts.tolist(), strict=True)
    ]


def draw_gibberish(
    held_out: HeldOutCaptions,
    texts: Sequence[str],
    length: int,
    generator: np.random.Generator,
    tokenizer: str = "ptb",
) -> list[str]:
    """Return, for each held-out caption, `length` words, each drawn in proportion to how often it occurs in `texts`."""
    check_texts(texts, "texts")
    if length < 1:
        raise InvalidInput(f"length is {length}, expected 1 or more words")
    tokens = encode_texts(texts, tokenizer_named(tokenizer))
    if not tokens.tokens.size:
        raise InvalidInput("texts holds no word, expected texts to draw words from")
    drawn_tokens = tokens.tokens[
        generator.integers(0, tokens.tokens.size, size=(len(held_out.texts), length))
    ]
    vocabulary = tokens.vocabulary
    return [" ".join(vocabulary[word] for word in row) for row in drawn_tokens.tolist()]


def mean_length(texts: Sequence[str], tokenizer: str = "ptb") -> int:
    """Return the mean number of words of texts, rounded; at least 1."""
    lengths = encode_texts(texts, tokenizer_named(tokenizer)).lengths
    return max(1, round(float(lengths.mean()))) if lengths.size else 1


def select_long_texts(texts: Iterable[str], tokenizer: str = "ptb") -> list[str]:
    """Return the texts with at least MIN_TOKENS tokens and MIN_CHARACTERS characters, as WG16 select from Brown."""
    all_texts = list(texts)
    lengths = encode_texts(all_texts, tokenizer_named(tokenizer)).lengths.tolist()
    return [
        text
        for text, length in zip(all_texts, lengths, strict=True)
        if length >= MIN_TOKENS and len(text) >= MIN_CHARACTERS
    ]
