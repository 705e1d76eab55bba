"""The tokenizer of the MS COCO caption evaluation, without Java."""
import re
PUNCTUATION = frozenset(["''", "'", "``", "`", "-lrb-", "-rrb-", "-lcb-", "-rcb-", ".", "?", "!", ",", ":", "-", "--", "...", ";"])
_T = re.compile(r"[a-z]+(?=n't)|n't|'(?:s|m|d|ll|ve|re)\b|[a-z0-9_]+(?:[-.][a-z0-9_]+)*|\S")
def raw_tokens(caption):
    return _T.findall(caption.lower())
def tokens(caption: str) -> list[str]:
    return [t for t in raw_tokens(caption) if t not in PUNCTUATION]
def piece(piece: str) -> list[str] | None:
    return tokens(piece)
