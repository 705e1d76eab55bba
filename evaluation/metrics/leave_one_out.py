"""People's captions held against each other, and other texts in their place (WG16 sections 4 and 5; V15 App. II).

Every caption of an image is left out in turn and scored against the image's other captions, and so are the texts in
its place: a caption of another image or dataset, a sentence of a corpus, or words drawn one by one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from evaluation.arrays import Floats, Ints, starts_of
from evaluation.metrics.comparison import check_lists, check_texts
from evaluation.metrics.errors import InvalidInput
from evaluation.metrics.scoring import score
from evaluation.metrics.text.words import encode, tokenizer_named

# Of a corpus, WG16 retain sentences of so many tokens and characters.
LEAST_TOKENS, LEAST_CHARACTERS = 5, 10


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Captions left out, image by image.

    images: the captions of images that have two or more, in alphabetical order. texts: (n,) captions left out.
    references: (n,) the others of the same image. image_of: (n,) positions in `images`. alone: images with a single
    caption, which are left out.
    """

    images: list[list[str]]
    texts: list[str]
    references: list[list[str]]
    image_of: Ints
    alone: int

    @property
    def counts(self) -> Ints:
        return np.bincount(self.image_of, minlength=len(self.images))


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScores:
    """(n,) scores of each metric, of the captions left out and of what stood in their place."""

    upper: Mapping[str, Floats]
    lower: Mapping[str, Mapping[str, Floats]]
    signatures: Mapping[str, str]
    warnings: tuple[str, ...]


def hold_out(
    captions: Sequence[Sequence[str]],
    *,
    most: int | None = None,
    generator: np.random.Generator | None = None,
) -> HeldOut:
    """Leave out every caption of every image in turn, or `most` of each image, drawn with `generator`."""
    check_lists(captions, "captions")
    if most is not None and most < 1:
        raise InvalidInput(f"most is {most}, expected 1 or more captions to leave out of each image")
    images = [sorted(texts) for texts in captions if len(texts) > 1]
    texts: list[str] = []
    references: list[list[str]] = []
    counts = []
    draw = generator or np.random.default_rng(0)
    for own in images:
        places: Sequence[int] = range(len(own))
        if most is not None and most < len(own):
            places = sorted(draw.choice(len(own), size=most, replace=False).tolist())
        texts += [own[place] for place in places]
        references += [own[:place] + own[place + 1 :] for place in places]
        counts.append(len(places))
    alone = sum(len(own) == 1 for own in captions)
    return HeldOut(images, texts, references, np.repeat(np.arange(len(images)), counts), alone)


def score_held_out(
    held: HeldOut,
    metrics: Iterable[str],
    tokenizer: str = "ptb",
    *,
    instead: Mapping[str, Sequence[str]] | None = None,
) -> HeldOutScores:
    """Score the captions left out, and the (n,) texts of each name of `instead`, against the same references.

    CIDEr counts documents over the images with all their captions.
    """
    instead = instead or {}
    n = len(held.texts)
    for name, texts in instead.items():
        if len(texts) != n:
            raise InvalidInput(
                f"instead[{name!r}] has {len(texts)} texts, expected {n}, one a caption left out"
            )
    candidates = [*held.texts, *chain.from_iterable(instead.values())]
    # The lists are the same objects, so that the words of references are counted once for all candidates.
    references = held.references * (1 + len(instead))
    found = score(candidates, references, metrics, tokenizer, document_corpus=held.images)
    parts = {name: np.split(one.images, 1 + len(instead)) for name, one in found.scores.items()}
    return HeldOutScores(
        upper={name: own[0] for name, own in parts.items()},
        lower={
            what: {name: own[number] for name, own in parts.items()}
            for number, what in enumerate(instead, start=1)
        },
        signatures={name: one.signature for name, one in found.scores.items()},
        warnings=found.warnings,
    )


def of_other_images(held: HeldOut, generator: np.random.Generator) -> list[str]:
    """Return for each caption left out one of another image (WG16: random intra-dataset)."""
    if len(held.images) < 2:
        raise InvalidInput("there is one image with two captions, expected two or more to exchange captions")
    pool = list(chain.from_iterable(held.images))
    starts = starts_of(list(map(len, held.images)))
    own = np.diff(starts)[held.image_of]
    drawn = generator.integers(0, len(pool) - own)
    first = starts[held.image_of]
    return [pool[place] for place in np.where(drawn < first, drawn, drawn + own).tolist()]


def of_other_sources(
    held: HeldOut, sources: Sequence[Sequence[str]], generator: np.random.Generator
) -> list[str]:
    """Return for each caption left out a text of a source drawn first (WG16: random inter-dataset, Brown)."""
    check_lists(sources, "sources")
    for position, texts in enumerate(sources):
        check_texts(texts, f"sources[{position}]")
    source = generator.integers(0, len(sources), size=len(held.texts))
    place = generator.integers(0, np.array([len(texts) for texts in sources])[source])
    return [sources[one][at] for one, at in zip(source.tolist(), place.tolist(), strict=True)]


def gibberish(
    held: HeldOut, texts: Sequence[str], length: int, generator: np.random.Generator, tokenizer: str = "ptb"
) -> list[str]:
    """Return for each caption left out `length` words, each drawn from the words of `texts` as often as they occur."""
    check_texts(texts, "texts")
    if length < 1:
        raise InvalidInput(f"length is {length}, expected 1 or more words")
    words = encode(texts, tokenizer_named(tokenizer))
    if not words.words.size:
        raise InvalidInput("texts holds no word, expected texts to draw words from")
    drawn = words.words[generator.integers(0, words.words.size, size=(len(held.texts), length))]
    vocabulary = words.vocabulary
    return [" ".join(vocabulary[word] for word in row) for row in drawn.tolist()]


def mean_length(texts: Sequence[str], tokenizer: str = "ptb") -> int:
    """Return the mean number of words of texts, rounded; at least 1."""
    lengths = encode(texts, tokenizer_named(tokenizer)).lengths
    return max(1, round(float(lengths.mean()))) if lengths.size else 1


def long_enough(texts: Iterable[str], tokenizer: str = "ptb") -> list[str]:
    """Return the texts of at least five tokens and ten characters, as WG16 take them from the Brown corpus."""
    listed = list(texts)
    lengths = encode(listed, tokenizer_named(tokenizer)).lengths.tolist()
    return [
        text
        for text, length in zip(listed, lengths, strict=True)
        if length >= LEAST_TOKENS and len(text) >= LEAST_CHARACTERS
    ]
