"""Two retrieval baselines on Flickr8k's test split, as TREC runs in both directions.

An image stands for the bag of words of some of its captions, never of caption #2, which is the one that is ranked
(H13 §3: nearest neighbour by IDF-weighted F1). Stand-ins that read captions, not models that see pictures.
"""

from dataclasses import dataclass
from pathlib import Path

from contrib.demo.make_systems import bag_of_words, inverse_document_frequency, weighted_f1
from judgments.importers import open_dataset

DEPTH = 10
SEEN = {"three-captions": (0, 1, 3), "one-caption": (4,)}


@dataclass(frozen=True)
class Run:
    """A run file and what stands in it: query -> ranked items; the ranked captions and all references."""

    task: str
    path: Path
    lists: dict[str, list[str]]
    captions: dict[str, str]
    references: dict[str, list[str]]


def write_runs(folder: Path, output: Path, *, queries: int) -> list[Run]:
    """A run for each task with both systems' lists, ``queries`` a task; and one file of them for each system."""
    references: dict[str, list[str]] = {}
    captions: dict[str, str] = {}
    for row in open_dataset("flickr8k", folder).references():
        if row.split == "test":
            references.setdefault(row.image, []).append(row.text)
            if row.position == 2:
                captions[row.caption_id] = row.text
    images = list(references)
    weights = inverse_document_frequency(bag_of_words(texts) for texts in references.values())
    texts = {key: bag_of_words([text]) for key, text in captions.items()}
    made = []
    for system, seen in SEEN.items():
        bags = {image: bag_of_words(references[image][place] for place in seen) for image in images}
        for task in ("annotation", "search"):
            lists: dict[str, list[str]] = {}
            asked = images[:queries] if task == "annotation" else list(captions)[:queries]
            for query in asked:
                scores = (
                    {key: weighted_f1(bags[query], bag, weights) for key, bag in texts.items()}
                    if task == "annotation"
                    else {image: weighted_f1(bag, texts[query], weights) for image, bag in bags.items()}
                )
                lists[query] = sorted(scores, key=lambda item: (-scores[item], item))[:DEPTH]
            path = output / f"{system}-{task}.run"
            path.write_text(
                "".join(
                    f"{query} Q0 {item} {rank} {DEPTH - rank} {system}\n"
                    for query, ranked in lists.items()
                    for rank, item in enumerate(ranked)
                )
            )
            made.append(Run(task, path, lists, captions, references))
    return made
