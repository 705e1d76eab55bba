"""Read the sentences of a text corpus, such as Brown, whose scores are lower bounds of metrics."""

from __future__ import annotations

import re
from pathlib import Path

from contrib.bounds.parameters import WG16_TOKENIZER
from evaluation.errors import EvaluationError
from quorum.metrics.held_out import select_long_texts

# The tag after a word, as in "The/at".
_BROWN_TAG = re.compile(r"/[^/\s]+(?=\s|$)")


def read_corpus(path: Path, tokenizer: str = WG16_TOKENIZER) -> list[str]:
    """Return the lines of a text file, or of a folder's files, with at least five tokens and ten characters.

    Tags as in the Brown corpus of the Natural Language Toolkit (`The/at Fulton/np-tl`) are removed.

    Raises:
        EvaluationError: a file cannot be read, or there is no such line.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file() and _is_corpus_file(file.name))
    else:
        files = [path]
    sentences: list[str] = []
    for file in files:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise EvaluationError(f"{file} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError:
            raise EvaluationError(f"{file} is no UTF-8 text, expected a sentence a line.") from None
        sentences += [_remove_tags(line) for line in lines]
    usable_sentences = select_long_texts(filter(None, sentences), tokenizer)
    if not usable_sentences:
        raise EvaluationError(
            f"{path} holds no sentence of five words or more, expected text files with a sentence a line."
        )
    return usable_sentences


def _is_corpus_file(name: str) -> bool:
    """Return whether a file has sentences of the corpus. The Brown corpus of NLTK also has files that describe it."""
    return not name.startswith(".") and name.upper() not in ("README", "CONTENTS", "CATS.TXT")


def _remove_tags(line: str) -> str:
    tokens = line.split()
    if tokens and all("/" in word for word in tokens):  # a line of a tagged corpus
        return " ".join(_BROWN_TAG.sub("", word) for word in tokens)
    return line.strip()
