"""Damaged captions for control items. Pure functions; the random generator is handed in.

The idea is that of the degraded references of the Workshop on Machine Translation: a good text of which some words are
exchanged for words of another text has to be judged worse than the good one (Graham, Baldwin, Moffat, Zobel 2017, "Can
machine translation systems be evaluated by the crowd alone", NLE 23(1)). They exchange a run of words; here only
content words go, and never for a word that any caption of the image uses, since an exchanged article damages nothing
and a fitting word would make the damage a matter of taste. How many words go is ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from judgments.draws import candidate_key, shuffled
from judgments.material import Image, Text

LEAST_EXCHANGED = 2
SHARE_EXCHANGED = 0.5  # of a text's content words, where it is compared with the intact one
SHORT = 2  # words of so few letters say little
MOST_DONORS = 40  # other images whose captions are looked at for words
_WORD = re.compile(r"[^\W\d_]+")


def degraded_text(
    text: Text, image: Image, images: Sequence[Image], rng: np.random.Generator, *, whole: bool
) -> Text | None:
    """A caption of ``image`` damaged with words of captions of other ``images``, as a candidate; None where that cannot
    be done (see ``degraded``)."""
    others = [other for other in images if other.name != image.name and other.references]
    some = shuffled(others, rng)[:MOST_DONORS]
    found = degraded(
        text.text,
        own=[one.text for one in image.references],
        donors=[one.references[int(rng.integers(len(one.references)))].text for one in some],
        rng=rng,
        whole=whole,
    )
    return Text(candidate_key(found), found) if found is not None else None


def degraded(
    text: str, *, own: Collection[str], donors: Sequence[str], rng: np.random.Generator, whole: bool
) -> str | None:
    """``text`` with content words exchanged for those of ``donors``; None where that cannot be done.

    Args:
        own: every caption of the image; a word with the stem of one of theirs is never put in.
        donors: captions of other images; they give their words in an order drawn with ``rng``.
        whole: every content word goes, so that what is left describes another scene; else half of them (two at the
            least), so that the text is the worse one of two. A text without enough of them, to be compared, has its
            words shuffled instead.
    """
    pieces = text.split()
    places = [place for place, piece in enumerate(pieces) if _is_content(_core(piece))]
    wanted = len(places) if whole else max(LEAST_EXCHANGED, round(len(places) * SHARE_EXCHANGED))
    spare = _spare_words(wanted, own=own, donors=donors, rng=rng)
    if not places or len(spare) < min(wanted, len(places)):
        return None if whole else _shuffled_words(pieces, rng)
    chosen = sorted(rng.permutation(len(places))[:wanted].tolist())
    for word, index in zip(spare, chosen, strict=False):
        pieces[places[index]] = _put_in(pieces[places[index]], word)
    return " ".join(pieces)


def _core(piece: str) -> str:
    found = _WORD.search(piece)
    return found.group() if found else ""


def _is_content(word: str) -> bool:
    # Here and not above: the metrics bring a compiler along, which pages of workers never need.
    from evaluation.metrics.text.stemming import smart_stop_words

    return len(word) > SHORT and word.lower() not in smart_stop_words()


def _stems(words: Sequence[str]) -> list[str]:
    from evaluation.metrics.text.stemming import rouge_stems

    return rouge_stems([word.lower() for word in words])


def _spare_words(
    wanted: int, *, own: Collection[str], donors: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """Up to ``wanted`` content words of the donors, of different stems, in the order in which a donor has them."""
    taken = set(_stems([word for text in own for word in _WORD.findall(text)]))
    found: list[str] = []
    for donor in shuffled(donors, rng):
        words = [word for word in _WORD.findall(donor) if _is_content(word)]
        for word, stem in zip(words, _stems(words), strict=True):
            if len(found) == wanted:
                return found
            if stem not in taken:
                taken.add(stem)
                found.append(word)
    return found


def _put_in(piece: str, word: str) -> str:
    """``word`` in the place of the piece's own: its punctuation stays, and so does its capital letter."""
    old = _core(piece)
    new = word.lower()
    return piece.replace(old, new[:1].upper() + new[1:] if old[:1].isupper() else new, 1)


def _shuffled_words(pieces: Sequence[str], rng: np.random.Generator) -> str | None:
    """The words in another order; None where there is none that reads differently."""
    if len(set(pieces)) < 3:  # two words may be as good the other way round
        return None
    while True:
        mixed = shuffled(pieces, rng)
        if mixed != list(pieces):
            return " ".join(mixed)
