"""Draw new candidate pairs from people's captions and the outputs of systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from common.texts import one_text
from judgments.drawing.draws import shuffle
from judgments.drawing.keys import content_key
from judgments.drawing.material import Image, Pair, Text
from judgments.drawing.pairs.comparisons import AcceptedPairs, SystemNames, least_drawn

# number of a pair's candidates that are references of its image; HI has one of another image, M stands for a system
CANDIDATE_REFERENCES = {"HC": 2, "HI": 1, "HM": 1, "MM": 0}


@dataclass(frozen=True, slots=True)
class _Option:
    """Two texts that a pair of an image can compare. The system of a person's caption is None."""

    first: Text
    second: Text
    first_system: str | None = None
    second_system: str | None = None


def draw_new(
    images: Sequence[Image], kind: str, count: int, accepted_pairs: AcceptedPairs, rng: np.random.Generator
) -> list[Pair]:
    """Return up to ``count`` new pairs of a kind. Each round draws one pair of each image that has options left."""
    draw_counts: Counter[str] = Counter()
    open_images = [(image, _options_of_image(image, kind, images, rng)) for image in shuffle(images, rng)]
    drawn_pairs: list[Pair] = []
    while open_images and len(drawn_pairs) < count:
        next_round = []
        for image, options in open_images:
            if len(drawn_pairs) == count:
                break
            pair = _next_pair(image, kind, options, draw_counts, accepted_pairs, rng)
            if pair is not None:
                drawn_pairs.append(pair)
                next_round.append((image, options))
        open_images = next_round
    return drawn_pairs


def _next_pair(
    image: Image,
    kind: str,
    options: dict[SystemNames, Iterator[_Option]],
    draw_counts: Counter[str],
    accepted_pairs: AcceptedPairs,
    rng: np.random.Generator,
) -> Pair | None:
    """Return the image's next pair, from the options of the systems drawn least often; None if no option fits.

    The options are those of the image, by the names of their systems. Those that are tried are removed.
    """
    while options:
        systems = least_drawn(options, draw_counts)
        option = next(options[systems], None)
        if option is None:
            del options[systems]
            continue
        texts = frozenset((one_text(option.first.text), one_text(option.second.text)))
        if len(texts) < 2 or (image.name, texts) in accepted_pairs.comparisons:
            continue
        remaining_count = len(image.references) - CANDIDATE_REFERENCES[kind]
        # skipped pairs are those that a smaller ``sampling.references`` would allow; with 0 references, no number does
        if 0 < remaining_count < accepted_pairs.min_references:
            accepted_pairs.skipped_pairs += 1
            continue
        pair = _make_pair(image, kind, option, rng)
        may_lack_references = accepted_pairs.allow_no_references and not image.references
        if (pair.references or may_lack_references) and accepted_pairs.accept(pair):
            draw_counts.update(systems)
            return pair
    return None


def _options_of_image(
    image: Image, kind: str, images: Sequence[Image], rng: np.random.Generator
) -> dict[SystemNames, Iterator[_Option]]:
    """Return an image's options for a kind by their systems, with random outputs of systems that have several."""
    references = shuffle(image.references, rng)
    outputs = shuffle(image.outputs, rng)
    if kind == "HC":
        return {(): (_Option(first, second) for first, second in combinations(references, 2))}
    if kind == "HI":
        return {(): _foreign_options(image, references, images, rng)}
    if kind == "HM":
        return {
            (name,): iter([_Option(reference, text, None, name) for reference in references])
            for name, text in outputs
        }
    return {
        (first_system, second_system): iter([_Option(first, second, first_system, second_system)])
        for (first_system, first), (second_system, second) in combinations(outputs, 2)
        if first_system != second_system
    }


def _foreign_options(
    image: Image, references: Sequence[Text], images: Sequence[Image], rng: np.random.Generator
) -> Iterator[_Option]:
    """Yield each reference with a caption of a random image, unless it is the same or has no different caption."""
    texts = {text.text for text in image.references}
    for first in references:
        other_image = images[int(rng.integers(len(images)))]
        foreign_texts = [text for text in other_image.references if text.text not in texts]
        if other_image.name != image.name and foreign_texts:
            yield _Option(first, foreign_texts[int(rng.integers(len(foreign_texts)))])


def _make_pair(image: Image, kind: str, option: _Option, rng: np.random.Generator) -> Pair:
    """Return a pair of the option's candidates in random order, with the image's other references."""
    if rng.integers(2):
        option = _Option(option.second, option.first, option.second_system, option.first_system)
    first, second = option.first, option.second
    systems = option.first_system, option.second_system
    human_texts = [
        one_text(text.text) for text, system in zip((first, second), systems, strict=True) if system is None
    ]
    # A system that ranks human captions may rank the image's own caption first.
    candidates = {first.key, second.key}
    references = tuple(
        text.key
        for text in image.references
        if one_text(text.text) not in human_texts and text.key not in candidates
    )
    return Pair(
        key=content_key("pair", kind, image.name, first.key, second.key),
        kind=kind,
        image=image.name,
        first=first,
        second=second,
        first_system=systems[0],
        second_system=systems[1],
        references=references,
    )
