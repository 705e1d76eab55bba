"""Find words of a text that a dictionary lacks, to advise people who write captions.

Vedantam et al. 2015, section 5, refuse work with poor grammar; Hodosh et al. 2013, section 2.3, test spelling.

pyspellchecker's dictionary has words of English subtitles. A misspelling that equals another of its words is not found
("mann" is a name), and a rare correct word may be reported. Therefore the check only advises.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spellchecker import SpellChecker

DICTIONARY_LANGUAGES = ("en",)  # dictionaries of other languages lack compounds and inflected forms
MAX_WORD_LENGTH = 20  # letters of a word for which a suggestion is sought
MAX_WORDS = 3  # words in one piece of advice
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@cache
def _dictionary(language: str) -> SpellChecker:
    from spellchecker import SpellChecker  # imported lazily, since the words take 35 MB

    return SpellChecker(language=language, distance=1)


def misspellings(text: str, language: str) -> dict[str, str]:
    """Return a suggestion for each word that the dictionary lacks; "" if there is no suggestion.

    Capitalised words count as names, except the first word of the text.
    """
    if language not in DICTIONARY_LANGUAGES:
        return {}
    dictionary = _dictionary(language)
    suggestions: dict[str, str] = {}
    for match in _WORD.finditer(text):
        word = match[0] if match.start() else match[0][:1].lower() + match[0][1:]
        plain_word = word.replace("’", "'").removesuffix("'s")
        if not plain_word.islower() or plain_word in dictionary or len(suggestions) == MAX_WORDS:
            continue
        suggestion = dictionary.correction(plain_word) if len(plain_word) <= MAX_WORD_LENGTH else None
        suggestions[word] = suggestion if suggestion and suggestion != plain_word else ""
    return suggestions
