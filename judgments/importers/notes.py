"""Notes of imports about oddities of a file, such as repeated lines. They do not prevent the import."""

from __future__ import annotations

from collections import Counter

# The sentences by the name of an oddity. "{n}" is the count. "{detail}" distinguishes several notes about the same
# oddity, such as the name of a column.
QUIRK_NOTES = {
    "repeated-line": "Lines that are identical to an earlier line, left out: {n}.",
    "repeated-caption": "Texts that are identical to another text of the same item (imported): {n}.",
    "repaired-key": "Caption ids with an extra number after the image name ({detail}), corrected: {n}.",
    "no-split": "Images that are in no list of a split, imported without a split: {n}.",
    "split-without-captions": "Images without captions in the lists of splits, left out: {n}.",
    "no-captions": "Items without texts, left out: {n}.",
    "images-alone": "Items that have texts of systems but no references by people: {n}.",
    "text-alone": "Items that have a source text but no references: {n}.",
    "acting-column": "Column “{detail}” is imported, because it has a standard name. To leave it out, use COLUMN=-.",
    "turned-pair": "Rows that show an earlier pair in the reverse order; the pair and its answer were reversed: "
    "{n}.",
    "criteria": "The file has several criteria; a separate study was created for each of them: {detail}.",
    "alike": "Names that differ only in case or blanks are treated as different: {detail}.",
    "header-row": "The header is row {detail}. The rows above it were not read.",
    "respelled-picture": "Pictures with names that the table spells differently, such as {detail}: {n}.",
    "ignored-column": "Column “{detail}” is not used.",
    "file-names-system": "The system is called “{detail}” in the file.",
    "sorted-grades": "Pairs whose grades are sorted by value, so that their columns do not stand for "
    "participants: {n}.",
    "own-caption": "Judged pairs of an image and a caption that was written for this image: {n}.",
    "anonymous-totals": "Pairs with published counts of votes, imported as judgments of anonymous "
    "participants: {n}.",
    "more-than-three": "Pairs with more than three judgments: {n}.",
    "fewer-votes": "Pairs with fewer votes than the others ({detail}): {n}.",
    "aggregated-votes": "Votes that stand for the majority of several answers: {n}.",
    "published-winners": "Winners that were published without votes: {n}.",
    "unused-references": "References that are not used for pairs, since an image has more than {detail}: {n}.",
    "broken-character": "Texts in which the file has the replacement character U+FFFD instead of a lost "
    "character, imported: {n}.",
    "repeated-pair": "Candidate pairs that repeat an earlier pair (imported): {n}.",
    "equal-candidates": "Candidate pairs with two identical texts (imported): {n}.",
    "bad-row": "Rows with an error, left out: {n}.",
    "skipped-row": "Rows that this file format leaves out, such as check questions: {n}.",
    "empty-answer": "Unanswered questions of a page of work, left out: {n}.",
    "rejected-assignment": "Answers of rejected assignments, which are stored but not used: {n}.",
    "scores-against-ranks": "Lists in which scores and ranks give different orders; the ranks are used: {n}.",
    "below-depth": "Ranked items below the requested depth, left out: {n}.",
    "candidate-is-reference": "Candidates that are identical to a reference of the same image (imported): {n}.",
}


class ImportNotes:
    """Counts oddities while a source is read. The counts are complete after the last row."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, quirk: str, by: int = 1, *, detail: str = "") -> None:
        """Add ``by``, or 1 for a condition that is true, to the count of an oddity. For 0 or False, add no note."""
        assert quirk in QUIRK_NOTES
        if by:
            self._counts[quirk, detail] += by

    def __getitem__(self, quirk: str) -> int:
        """Return the count of an oddity, whatever its detail."""
        return sum(n for (name, _), n in self._counts.items() if name == quirk)

    def details(self) -> set[str]:
        return {detail for _, detail in self._counts}

    def sentences(self) -> list[str]:
        return [
            QUIRK_NOTES[quirk].format(n=f"{n:,}", detail=detail)
            for (quirk, detail), n in self._counts.items()
        ]
