"""The metrics that ship with Quorum, each declared with its options. `declaration.Metric` explains the fields.

V15 is Vedantam et al. 2015, and H13 Hodosh et al. 2013.
"""

from quorum.metrics import bleu, cider, h13_overlap, rouge
from quorum.metrics.meteor.relations import ALL, STAGE_CHOICES
from quorum.metrics.registry.computing import (
    check_meteor,
    compute_bleu,
    compute_cider,
    compute_meteor,
    compute_rouge_grams,
    compute_rouge_l,
    compute_rouge_lcs,
    compute_rouge_w,
    compute_word_overlap,
)
from quorum.metrics.registry.declaration import Compute, Metric, Option

STEMMERS = ("porter", "porter-1980", "none")
_CIDER, _CIDER_D = cider.CiderVariant(), cider.CiderVariant(unseen="logn", clipped=True)
_ORDERS_OF_NGRAM = {"n": Option(4, low=1, high=9)}
_ORDER_OF_STEPS = {"order": Option("stop-first", choices=h13_overlap.STEP_ORDERS)}


def _rouge155_metric(name: str, description: str, compute: Compute, **further_options: Option) -> Metric:
    return Metric(
        name,
        f"{description} as ROUGE-1.5.5 computes it (Lin 2004)",
        compute,
        options={
            "measure": Option("f", choices=rouge.MEASURES),
            "alpha": Option(0.5, low=0.0, high=1.0, quiet=True),
            "multi": Option("average", choices=rouge.REFERENCE_RULES),
            "jackknife": Option("no", choices=rouge.JACKKNIFE_CHOICES, quiet=True),
            "corpus": Option("mean", choices=rouge.CORPUS_CHOICES, quiet=True),
            "stop": Option("keep", choices=rouge.STOP_CHOICES),
            "stem": Option("none", choices=rouge.STEM_CHOICES),
        }
        | further_options,
        tokenizer="rouge",
        change="rouge @stop @stem",
    )


def _cider_metric(
    name: str, description: str, variant: cider.CiderVariant = _CIDER, *, stem: str = "porter"
) -> Metric:
    return Metric(
        name,
        description,
        compute_cider(variant),
        options=_ORDERS_OF_NGRAM | {"stem": Option(stem, choices=STEMMERS)},
        change="@stem",
        shown={"unseen": variant.unseen},
        uses_documents=True,
        weighs_by_documents=variant.uses_idf,
    )


METRICS = {
    metric.name: metric
    for metric in (
        *(
            Metric(
                f"bleu-{order}",
                f"BLEU up to {order}-grams as the MS COCO evaluation computes it (V15 eq. 6-8)",
                compute_bleu(order),
                statistics="matches, guesses and lengths summed over images",
                options={
                    "smoothing": Option("coco", choices=bleu.SMOOTHINGS, quiet=True),
                    "stem": Option("none", choices=STEMMERS, quiet=True),
                    "length": Option(bleu.CLOSEST, choices=bleu.LENGTHS, quiet=True),
                },
                change="@stem",
            )
            for order in range(1, 5)
        ),
        Metric(
            "rouge-l",
            "longest common subsequence as the MS COCO evaluation computes it (V15 eq. 12-14)",
            compute_rouge_l,
            options={"beta": Option(1.2)},
        ),
        # `rouge_kernels.GramRule` describes `window` and `skipped_last`.
        _rouge155_metric("rouge-1", "overlap of words", compute_rouge_grams(window=0, skipped_last=0)),
        _rouge155_metric("rouge-2", "overlap of bigrams", compute_rouge_grams(window=1)),
        _rouge155_metric("rouge-l-155", "longest common subsequence", compute_rouge_lcs),
        _rouge155_metric(
            "rouge-w",
            "longest common subsequence with weighted runs",
            compute_rouge_w,
            weight=Option(1.2, low=1.0, high=5.0),
        ),
        _rouge155_metric(
            "rouge-s4",
            "overlap of pairs of words with at most four between them",
            compute_rouge_grams(window=5),
        ),
        _rouge155_metric(
            "rouge-su4", "overlap of such pairs and of words", compute_rouge_grams(window=5, skipped_last=1)
        ),
        Metric(
            "cider-d",
            "CIDEr-D as the MS COCO evaluation computes it, times 10 (V15 eq. 4-5)",
            compute_cider(_CIDER_D),
            options=_ORDERS_OF_NGRAM
            | {"sigma": Option(6.0, low=1e-6), "scale": Option(10.0, low=1e-6, quiet=True)},
            uses_documents=True,
            weighs_by_documents=True,
        ),
        _cider_metric("cider", "CIDEr of the paper: n-grams of no document are dropped (V15 eq. 1-3)"),
        _cider_metric(
            "cider-logn",
            "CIDEr of the authors' later code: n-grams of no document weigh log N",
            cider.CiderVariant(unseen="logn"),
            stem="porter-1980",
        ),
        _cider_metric(
            "cider-max",
            "CIDEr with the best reference instead of the mean (V15 App. VIII)",
            cider.CiderVariant(over="max"),
        ),
        _cider_metric(
            "cider-exp",
            "CIDEr with weights that grow as e^n (V15 App. VIII)",
            cider.CiderVariant(order_weights="exp"),
        ),
        _cider_metric(
            "cider-noidf",
            "CIDEr without document frequencies (V15 App. VIII)",
            cider.CiderVariant(uses_idf=False),
        ),
        _cider_metric("cider-nostem", "CIDEr without stemming (V15 App. VIII)", stem="none"),
        Metric(
            "meteor",
            "METEOR 1.5 for English as the MS COCO evaluation runs it (V15 eq. 16-20)",
            compute_meteor,
            statistics="matches, chunks and lengths of the best references summed over images",
            options={"stages": Option(ALL, choices=(ALL, *STAGE_CHOICES))},
            computed=("stages", "data"),
            check=check_meteor,
        ),
        Metric(
            "bleu-h13",
            "clipped unigram precision without brevity penalty (H13 §4.1.1)",
            compute_word_overlap(h13_overlap.h13_bleu_scores),
            tokenizer="h13",
        ),
        Metric(
            "bleu-pre",
            "bleu-h13 on stems without stop words, as the ROUGE script makes them (H13 §4.3.2)",
            compute_word_overlap(h13_overlap.h13_bleu_scores),
            options=_ORDER_OF_STEPS,
            tokenizer="rouge",
            change="@order",
        ),
        Metric(
            "rouge-h13",
            "unigram recall summed over references, on stems without stop words (H13 §4.1.1)",
            compute_word_overlap(h13_overlap.h13_rouge_scores),
            options=_ORDER_OF_STEPS,
            tokenizer="rouge",
            change="@order",
        ),
    )
}
