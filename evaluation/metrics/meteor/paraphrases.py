"""METEOR's paraphrase table: phrases as word numbers, and which phrase may stand for which."""

from dataclasses import dataclass
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from evaluation.metrics.corpus import Ints, Numbers, starts_of
from evaluation.metrics.errors import InvalidFile
from evaluation.metrics.meteor.storage import Arrays, packed, unpacked

BLOCK = 1 << 24  # bytes of text read at once
LONGEST = 15  # words; what the order of matches has room for


@dataclass(frozen=True, slots=True)
class Paraphrases:
    """The table, phrases numbered.

    `words` holds the words of all phrases one after the other as numbers into `vocabulary`, `starts`
    (phrases + 1,) where each phrase begins. The first `sources` phrases have paraphrases: those of phrase p are
    `targets[target_starts[p]:target_starts[p + 1]]`, in the order of the table.
    """

    vocabulary: list[str]
    words: Numbers
    starts: Ints
    targets: Numbers
    target_starts: Ints

    @classmethod
    def of(cls, arrays: Arrays) -> "Paraphrases":
        """The table as it was stored."""
        return cls(
            unpacked(arrays["paraphrase_vocabulary"]),
            arrays["paraphrase_words"],
            arrays["paraphrase_starts"],
            arrays["paraphrase_targets"],
            arrays["paraphrase_target_starts"],
        )


def read(packed_text: IO[bytes], name: str) -> Arrays:
    """Read a gzip file of lines in threes: a probability, a phrase, a phrase that may stand for it.

    The program does not use the probabilities. Raises InvalidFile for anything else.
    """
    try:
        sources, targets = _phrases(packed_text)
    except (pa.ArrowInvalid, OSError):
        raise InvalidFile(f"{name} is damaged, expected METEOR's paraphrases in a gzip file") from None
    if not sources or sum(map(len, sources)) != sum(map(len, targets)):
        raise InvalidFile(f"{name} holds other lines than a probability, a phrase and a phrase in turn")
    coded = pa.chunked_array(sources + targets).dictionary_encode().combine_chunks()
    codes = coded.indices.to_numpy()
    half = codes.size // 2
    cut = pc.split_pattern(coded.dictionary, " ")
    lengths = np.diff(cut.offsets.to_numpy())
    if lengths.max() > LONGEST:
        raise InvalidFile(f"{name} holds a phrase of {lengths.max()} words, expected up to {LONGEST}")
    words = cut.flatten().dictionary_encode()
    count = int(codes[:half].max()) + 1
    by_source = np.argsort(codes[:half], kind="stable")
    per_source = np.bincount(codes[:half], minlength=count)
    return {
        "paraphrase_vocabulary": packed(words.dictionary.to_pylist()),
        "paraphrase_words": words.indices.to_numpy().astype(np.int32),
        "paraphrase_starts": starts_of(lengths),
        "paraphrase_targets": codes[half:][by_source].astype(np.int32),
        "paraphrase_target_starts": starts_of(per_source),
    }


def _phrases(packed_text: IO[bytes]) -> tuple[list[pa.Array], list[pa.Array]]:
    """The second and the third of every three lines, in blocks."""
    lines = pyarrow.csv.open_csv(
        pa.CompressedInputStream(packed_text, "gzip"),
        read_options=pyarrow.csv.ReadOptions(column_names=["line"], use_threads=False, block_size=BLOCK),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter="\x01", quote_char=False, escape_char=False, ignore_empty_lines=False
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={"line": pa.string()}, strings_can_be_null=False
        ),
    )
    sources, targets, seen = [], [], 0
    for batch in lines:
        column = batch.column(0)
        sources.append(column.take(pa.array(np.arange((1 - seen) % 3, len(column), 3))))
        targets.append(column.take(pa.array(np.arange((2 - seen) % 3, len(column), 3))))
        seen += len(column)
    return sources, targets
