"""Make captions for control items: damaged captions, and captions of other images.

H13 is Hodosh et al. 2013.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from judgments.drawing.draws import shuffle
from judgments.drawing.keys import candidate_key
from judgments.drawing.material import Image, Text

MAX_RIGHT_CAPTIONS = 3  # H13: one to three right captions among ten
# If ``degrade`` replaces only some words, it replaces this share of the content words, and at least this number.
REPLACED_SHARE = 0.5
MIN_REPLACED_WORDS = 2
MAX_SHORT_WORD = 2  # letters of the longest word that is too short to be a content word
MAX_DONORS = 40  # number of other images from whose captions words are taken
_WORD = re.compile(r"[^\W\d_]+")


def degraded_text(
    text: Text, image: Image, images: Sequence[Image], rng: np.random.Generator, *, replace_all: bool
) -> Text | None:
    """Return a caption damaged with words of other ``images``; None if that is impossible."""
    other_images = [donor for donor in images if donor.name != image.name and donor.references]
    donors = shuffle(other_images, rng)[:MAX_DONORS]
    damaged_text = degrade(
        text.text,
        references=[reference.text for reference in image.references],
        donors=[donor.references[int(rng.integers(len(donor.references)))].text for donor in donors],
        rng=rng,
        replace_all=replace_all,
    )
    return Text(candidate_key(damaged_text), damaged_text) if damaged_text is not None else None


def degrade(
    text: str,
    *,
    references: Collection[str],
    donors: Sequence[str],
    rng: np.random.Generator,
    replace_all: bool,
) -> str | None:
    """Return ``text`` with content words replaced by those of ``donors``; None if that is impossible.

    Args:
        references: every caption of the image; words that share a stem with them are never inserted.
        donors: captions of other images, from which the inserted words are taken.
        replace_all: whether to replace every content word, so that the text describes another scene. Otherwise replace
            half of them, and at least two, so that the text is worse than the intact one. If that is impossible,
            shuffle the words of the text.
    """
    pieces = text.split()
    positions = [position for position, piece in enumerate(pieces) if _is_content_word(_first_word(piece))]
    replaced_count = (
        len(positions) if replace_all else max(MIN_REPLACED_WORDS, round(len(positions) * REPLACED_SHARE))
    )
    replacements = _replacement_words(replaced_count, references=references, donors=donors, rng=rng)
    if not positions or len(replacements) < min(replaced_count, len(positions)):
        return None if replace_all else _shuffle_words(pieces, rng)
    replaced_indices = sorted(rng.permutation(len(positions))[:replaced_count].tolist())
    # if a text has fewer content words than MIN_REPLACED_WORDS, there are more replacements than places
    for word, index in zip(replacements, replaced_indices, strict=False):
        pieces[positions[index]] = _replace_word(pieces[positions[index]], word)
    return " ".join(pieces)


def _first_word(piece: str) -> str:
    """Return the first word in a piece of text between blanks, without punctuation; "" if it has none."""
    match = _WORD.search(piece)
    return match.group() if match else ""


def _is_content_word(word: str) -> bool:
    # Imported lazily: the metrics load a compiler that workers' pages never need.
    from quorum.metrics.text.word_lists import smart_stop_words

    return len(word) > MAX_SHORT_WORD and word.lower() not in smart_stop_words()


def _stems(tokens: Sequence[str]) -> list[str]:
    from quorum.metrics.text.porter import rouge_stems

    return rouge_stems([word.lower() for word in tokens])


def _replacement_words(
    count: int, *, references: Collection[str], donors: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """Return up to ``count`` content words of ``donors``, with distinct stems that no reference has."""
    used_stems = set(_stems(_WORD.findall(" ".join(references))))
    donor_words: list[str] = []
    for donor in shuffle(donors, rng):
        candidates = [word for word in _WORD.findall(donor) if _is_content_word(word)]
        for word, stem in zip(candidates, _stems(candidates), strict=True):
            if len(donor_words) == count:
                return donor_words
            if stem not in used_stems:
                used_stems.add(stem)
                donor_words.append(word)
    return donor_words


def _replace_word(piece: str, word: str) -> str:
    """Replace the first word of a piece of text, and keep its capital letter and punctuation."""
    old_word, new_word = _first_word(piece), word.lower()
    if old_word[:1].isupper():
        new_word = new_word[:1].upper() + new_word[1:]
    return piece.replace(old_word, new_word, 1)


def _shuffle_words(pieces: Sequence[str], rng: np.random.Generator) -> str | None:
    """Return the words in another order; None if no order reads differently."""
    if len(set(pieces)) < 3:  # exchanging just two words may give an equally good text
        return None
    while True:
        shuffled = shuffle(pieces, rng)
        if shuffled != list(pieces):
            return " ".join(shuffled)


def foreign_captions(
    image: Image, images: Sequence[Image], count: int, rng: np.random.Generator
) -> list[Text]:
    """Draw up to ``count`` captions of other images, with distinct texts that ``image`` lacks.

    Take one caption of each image or, if there are too few images, several.
    """
    used_texts = {text.text for text in image.references}
    captions: list[Text] = []
    for index in rng.permutation(len(images)):
        other_image = images[int(index)]
        if len(captions) == count:
            break
        if other_image.name == image.name:
            continue
        for text in shuffle(other_image.references, rng):
            if text.text not in used_texts:
                used_texts.add(text.text)
                captions.append(text)
                break
    if len(captions) == count:  # do not draw the further captions, which would change later draws
        return captions
    other_images = [other_image for other_image in images if other_image.name != image.name]
    for text in shuffle([text for other_image in other_images for text in other_image.references], rng):
        if len(captions) == count:
            break
        if text.text not in used_texts:
            used_texts.add(text.text)
            captions.append(text)
    return captions


def right_caption_count(image: Image, group_size: int, rng: np.random.Generator) -> int:
    """Draw the number of right captions in a group: one to three (H13), and at least one wrong caption."""
    max_count = min(MAX_RIGHT_CAPTIONS, len({text.text for text in image.references}), group_size - 1)
    return int(rng.integers(1, max_count + 1))
