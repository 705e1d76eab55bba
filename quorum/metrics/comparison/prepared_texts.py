"""References that are tokenized once, to be compared with the candidates of many systems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quorum.metrics.comparison.reference_comparison import Tokenization
from quorum.metrics.text.changes import change_words
from quorum.metrics.text.tokens import TokenizedTexts, encode_texts


@dataclass(frozen=True)
class PreparedTexts:
    """Tokenized texts, and the number of each word of their vocabulary."""

    tokenization: Tokenization
    tokens: TokenizedTexts
    number_by_word: Mapping[str, int]

    @classmethod
    def from_texts(cls, texts: Sequence[str], tokenization: Tokenization) -> "PreparedTexts":
        tokens = change_words(encode_texts(texts, tokenization.tokenizer), tokenization.change)
        return cls(tokenization, tokens, {word: number for number, word in enumerate(tokens.vocabulary)})

    def with_texts_before(self, texts: Sequence[str]) -> TokenizedTexts:
        """Return numbered words in which `texts` precede the texts of this object."""
        prefix = change_words(encode_texts(texts, self.tokenization.tokenizer), self.tokenization.change)
        # Words keep the number that they have in this object; new words get the next numbers.
        new_words = [word for word in prefix.vocabulary if word not in self.number_by_word]
        new_number_by_word = {word: number for number, word in enumerate(new_words, len(self.number_by_word))}
        new_numbers = [
            self.number_by_word.get(word, new_number_by_word.get(word)) for word in prefix.vocabulary
        ]
        tokens = np.concatenate([np.array(new_numbers, dtype=np.int32)[prefix.tokens], self.tokens.tokens])
        starts = np.concatenate([prefix.starts, self.tokens.starts[1:] + prefix.starts[-1]])
        return TokenizedTexts(tokens, starts, [*self.tokens.vocabulary, *new_words])
