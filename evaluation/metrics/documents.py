"""How many documents of a corpus hold an n-gram, asked for a few n-grams at a time.

The scores of many captions count every n-gram of the corpus once (see `cider`). Explaining one caption needs the
frequencies of its own n-grams and its references' alone, so that the corpus is kept as word numbers and walked
through order by order: a place that begins none of the n-grams asked for is dropped at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.changes import changed
from evaluation.metrics.comparison import View, check_lists, check_texts
from evaluation.metrics.corpus import Ints, Numbers, Pieces
from evaluation.metrics.explanation import Gram


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """A document corpus as words.

    Attributes:
        view: which words are counted.
        size: how many documents there are.
    """

    view: View
    size: int
    _words: Numbers  # (tokens,) texts one after the other
    _ends: Ints  # (tokens,) where each token's text ends
    _document: Numbers  # (tokens,) the document of each token
    _numbers: dict[str, int]

    @classmethod
    def of(cls, corpus: Sequence[Sequence[str]], view: View) -> "Documents":
        """Cut the texts of a corpus; each list of texts is one document.

        Raises InvalidInput where it is no list of lists of str.
        """
        check_lists(corpus, "document_corpus")
        for position, texts in enumerate(corpus):
            check_texts(texts, f"document_corpus[{position}]")
        words = changed(
            Pieces([text for texts in corpus for text in texts]).words(view.tokenizer), view.change
        )
        document = np.repeat(np.arange(len(corpus), dtype=np.int32), [len(texts) for texts in corpus])
        return cls(
            view=view,
            size=len(corpus),
            _words=words.words,
            _ends=np.repeat(words.starts[1:], words.lengths),
            _document=np.repeat(document, words.lengths),
            _numbers={word: number for number, word in enumerate(words.vocabulary)},
        )

    def frequencies(self, grams: Iterable[Gram]) -> dict[Gram, int]:
        """In how many documents each of the n-grams stands; of any lengths from 1 on."""
        asked = set(grams)
        found = dict.fromkeys(asked, 0)
        # Every beginning of an n-gram is looked for too: only what begins with it can be the whole of it.
        begins = {gram[:length] for gram in asked for length in range(1, len(gram) + 1)}
        places = np.arange(self._words.size)
        node = np.zeros(self._words.size, dtype=np.int64)  # which beginning each place holds so far
        numbers: dict[Gram, int] = {(): 0}
        many = len(self._numbers) + 1
        for order in range(1, max(map(len, asked), default=0) + 1):
            here = sorted(gram for gram in begins if len(gram) == order and gram[:-1] in numbers)
            known = [
                (numbers[gram[:-1]] * many + self._numbers[gram[-1]], gram)
                for gram in here
                if gram[-1] in self._numbers
            ]
            if not known:
                break
            known.sort()
            codes = np.array([code for code, _ in known], dtype=np.int64)
            if order == 1:  # a table is far quicker than a search where every place is looked at
                table = np.full(many, -1, dtype=np.int64)
                table[codes] = np.arange(codes.size)
                slot = table[self._words]
                held = slot >= 0
            else:
                inside = places + order <= self._ends[places]
                places, node = places[inside], node[inside]
                codes_here = node * many + self._words[places + order - 1]
                slot = np.minimum(np.searchsorted(codes, codes_here), codes.size - 1)
                held = codes[slot] == codes_here
            places, node = places[held], slot[held].astype(np.int64)
            numbers = {gram: number for number, (_, gram) in enumerate(known)}
            together = np.unique(node * self.size + self._document[places])
            counts = np.bincount(together // self.size, minlength=len(known)).tolist()
            for (_, gram), count in zip(known, counts, strict=True):
                if gram in found:
                    found[gram] = count
        return found
