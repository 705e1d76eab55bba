"""V15 Table 1 and Figure 3: how often metrics name people's winner."""

from evaluation.replication.fifty import PASCAL, read_fifty
from evaluation.replication.running import Run
from evaluation.report.content import estimate_of
from evaluation.results.meta_evaluation import accuracy_of_pairs

METRICS = {"BLEU-4": "bleu-4", "ROUGE-L": "rouge-l", "CIDEr": "cider"}


def analyse(run: Run) -> None:
    """Compute the accuracies of Table 1."""
    data = read_fifty(PASCAL, run.data[PASCAL])
    scores, signatures = data.scores(list(METRICS.values()))
    for name, metric in METRICS.items():
        run.signed(f"{name} on PASCAL-50S", signatures[metric])
        found = accuracy_of_pairs(scores[metric], data.winners.tolist(), data.kinds)["accuracy"]
        for kind in ("HC", "HI", "HM", "MM"):
            run.number(f"table-1/{PASCAL}/{name.lower()}/{kind}", estimate_of(found[kind]))
