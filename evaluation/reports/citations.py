"""The literature behind a report: entries for BibTeX, and which metric rests on which.

The entries of the five papers that the protocols come from agree with the papers' own texts in title, authors and
year, which a test compares; the others are the works' usual references and were not compared with anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A work: BibTeX's type, and its fields in order."""

    kind: str
    fields: Mapping[str, str]


def _entry(kind: str, /, **fields: str) -> Entry:
    return Entry(kind, fields)


ENTRIES: dict[str, Entry] = {
    "hodosh2013": _entry(
        "article", author="Hodosh, Micah and Young, Peter and Hockenmaier, Julia",
        title="Framing Image Description as a Ranking Task: Data, Models and Evaluation Metrics",
        journal="Journal of Artificial Intelligence Research", volume="47", pages="853--899", year="2013",
        doi="10.1613/jair.3994",
    ),
    "vedantam2015": _entry(
        "inproceedings", author="Vedantam, Ramakrishna and Zitnick, C. Lawrence and Parikh, Devi",
        title="{CIDEr}: Consensus-based Image Description Evaluation",
        booktitle="Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition (CVPR)",
        pages="4566--4575", year="2015", doi="10.1109/CVPR.2015.7299087",
    ),
    "wang2015": _entry(
        "inproceedings", author="Wang, Josiah and Gaizauskas, Robert",
        title="Generating Image Descriptions with Gold Standard Visual Inputs: Motivation, Evaluation and Baselines",
        booktitle="Proceedings of the 15th European Workshop on Natural Language Generation (ENLG)",
        pages="117--126", year="2015", doi="10.18653/v1/W15-4722",
    ),
    "wang2016": _entry(
        "inproceedings", author="Wang, Josiah and Gaizauskas, Robert",
        title="Cross-validating Image Description Datasets and Evaluation Metrics",
        booktitle="Proceedings of the Tenth International Conference on Language Resources and Evaluation (LREC)",
        pages="3059--3066", year="2016",
    ),
    "mason2012": _entry(
        "inproceedings", author="Mason, Rebecca and Charniak, Eugene",
        title="Apples to Oranges: Evaluating Image Annotations from Natural Language Processing Systems",
        booktitle="Proceedings of the 2012 Conference of the North American Chapter of the Association for "
        "Computational Linguistics: Human Language Technologies", pages="172--181", year="2012",
    ),
    "papineni2002": _entry(
        "inproceedings", author="Papineni, Kishore and Roukos, Salim and Ward, Todd and Zhu, Wei-Jing",
        title="{BLEU}: a Method for Automatic Evaluation of Machine Translation",
        booktitle="Proceedings of the 40th Annual Meeting of the Association for Computational Linguistics",
        pages="311--318", year="2002", doi="10.3115/1073083.1073135",
    ),
    "lin2004": _entry(
        "inproceedings", author="Lin, Chin-Yew",
        title="{ROUGE}: A Package for Automatic Evaluation of Summaries",
        booktitle="Text Summarization Branches Out", pages="74--81", year="2004",
    ),
    "denkowski2014": _entry(
        "inproceedings", author="Denkowski, Michael and Lavie, Alon",
        title="{Meteor Universal}: Language Specific Translation Evaluation for Any Target Language",
        booktitle="Proceedings of the Ninth Workshop on Statistical Machine Translation", pages="376--380",
        year="2014", doi="10.3115/v1/W14-3348",
    ),
    "krippendorff2011": _entry(
        "techreport", author="Krippendorff, Klaus", title="Computing {Krippendorff's} Alpha-Reliability",
        institution="University of Pennsylvania, Annenberg School for Communication", year="2011",
    ),
    "cohen1960": _entry(
        "article", author="Cohen, Jacob", title="A Coefficient of Agreement for Nominal Scales",
        journal="Educational and Psychological Measurement", volume="20", number="1", pages="37--46", year="1960",
        doi="10.1177/001316446002000104",
    ),
    "mcnemar1947": _entry(
        "article", author="McNemar, Quinn",
        title="Note on the Sampling Error of the Difference Between Correlated Proportions or Percentages",
        journal="Psychometrika", volume="12", number="2", pages="153--157", year="1947", doi="10.1007/BF02295996",
    ),
    "holm1979": _entry(
        "article", author="Holm, Sture", title="A Simple Sequentially Rejective Multiple Test Procedure",
        journal="Scandinavian Journal of Statistics", volume="6", number="2", pages="65--70", year="1979",
    ),
    "wilson1927": _entry(
        "article", author="Wilson, Edwin B.",
        title="Probable Inference, the Law of Succession, and Statistical Inference",
        journal="Journal of the American Statistical Association", volume="22", number="158", pages="209--212",
        year="1927", doi="10.1080/01621459.1927.10502953",
    ),
    "efron1979": _entry(
        "article", author="Efron, Bradley", title="Bootstrap Methods: Another Look at the Jackknife",
        journal="The Annals of Statistics", volume="7", number="1", pages="1--26", year="1979",
        doi="10.1214/aos/1176344552",
    ),
    "bradley1952": _entry(
        "article", author="Bradley, Ralph Allan and Terry, Milton E.",
        title="Rank Analysis of Incomplete Block Designs: {I}. The Method of Paired Comparisons",
        journal="Biometrika", volume="39", number="3/4", pages="324--345", year="1952", doi="10.2307/2334029",
    ),
    "davidson1970": _entry(
        "article", author="Davidson, Roger R.",
        title="On Extending the {Bradley-Terry} Model to Accommodate Ties in Paired Comparison Experiments",
        journal="Journal of the American Statistical Association", volume="65", number="329", pages="317--328",
        year="1970", doi="10.1080/01621459.1970.10481082",
    ),
    "kendall1945": _entry(
        "article", author="Kendall, M. G.", title="The Treatment of Ties in Ranking Problems",
        journal="Biometrika", volume="33", number="3", pages="239--251", year="1945",
        doi="10.1093/biomet/33.3.239",
    ),
    "spearman1904": _entry(
        "article", author="Spearman, C.", title="The Proof and Measurement of Association between Two Things",
        journal="The American Journal of Psychology", volume="15", number="1", pages="72--101", year="1904",
        doi="10.2307/1412159",
    ),
    "williams1959": _entry(
        "book", author="Williams, Evan James", title="Regression Analysis", publisher="Wiley", address="New York",
        year="1959",
    ),
    "graham2014": _entry(
        "inproceedings", author="Graham, Yvette and Baldwin, Timothy",
        title="Testing for Significance of Increased Correlation with Human Judgment",
        booktitle="Proceedings of the 2014 Conference on Empirical Methods in Natural Language Processing (EMNLP)",
        pages="172--176", year="2014", doi="10.3115/v1/D14-1020",
    ),
    "piepho2004": _entry(
        "article", author="Piepho, Hans-Peter",
        title="An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons",
        journal="Journal of Computational and Graphical Statistics", volume="13", number="2", pages="456--466",
        year="2004", doi="10.1198/1061860043515",
    ),
    "lin2014coco": _entry(
        "inproceedings",
        author="Lin, Tsung-Yi and Maire, Michael and Belongie, Serge and Hays, James and Perona, Pietro and "
        "Ramanan, Deva and Doll{\\'a}r, Piotr and Zitnick, C. Lawrence",
        title="{Microsoft COCO}: Common Objects in Context",
        booktitle="Computer Vision -- ECCV 2014", pages="740--755", year="2014",
        doi="10.1007/978-3-319-10602-1_48",
    ),
    "chen2015coco": _entry(
        "misc",
        author="Chen, Xinlei and Fang, Hao and Lin, Tsung-Yi and Vedantam, Ramakrishna and Gupta, Saurabh and "
        "Doll{\\'a}r, Piotr and Zitnick, C. Lawrence",
        title="{Microsoft COCO} Captions: Data Collection and Evaluation Server", year="2015",
        howpublished="arXiv:1504.00325", eprint="1504.00325", archiveprefix="arXiv", doi="10.48550/arXiv.1504.00325",
    ),
    "kiritchenko2017": _entry(
        "inproceedings", author="Kiritchenko, Svetlana and Mohammad, Saif",
        title="Best-Worst Scaling More Reliable than Rating Scales: A Case Study on Sentiment Intensity Annotation",
        booktitle="Proceedings of the 55th Annual Meeting of the Association for Computational Linguistics "
        "(Volume 2: Short Papers)", pages="465--470", year="2017", doi="10.18653/v1/P17-2074",
    ),
}  # fmt: skip

# the beginning of a metric's name -> what it rests on; the longest beginning counts
METRICS = {
    "bleu": ("papineni2002",),
    "bleu-h13": ("hodosh2013", "papineni2002"),
    "bleu-pre": ("hodosh2013", "papineni2002"),
    "rouge": ("lin2004",),
    "meteor": ("denkowski2014",),
    "cider": ("vedantam2015",),
}
# how an import came in -> whose data it is
SOURCES = {
    "pascal-50s": ("vedantam2015",),
    "abstract-50s": ("vedantam2015",),
    "flickr8k": ("hodosh2013",),
    "coco": ("lin2014coco", "chen2015coco"),
}
# the paper a preset is named after
PRESETS = {
    "vedantam-2015": "vedantam2015",
    "hodosh-2013": "hodosh2013",
    "wang-gaizauskas-2015": "wang2015",
    "wang-gaizauskas-2016": "wang2016",
    "mason-charniak-2012": "mason2012",
}


def of_metric(name: str) -> tuple[str, ...]:
    """Keys of the works a metric rests on; options after a mark say nothing about it."""
    base = name.partition("|")[0]
    found = [start for start in METRICS if base.startswith(start)]
    return METRICS[max(found, key=len)] if found else ()


def bibtex(keys: Iterable[str]) -> str:
    """The entries of these keys, in the order of their names, as a .bib file."""
    texts = []
    for key in sorted(set(keys)):
        entry = ENTRIES[key]
        fields = ",\n".join(f"  {name} = {{{value}}}" for name, value in entry.fields.items())
        texts.append(f"@{entry.kind}{{{key},\n{fields}\n}}\n")
    return "\n".join(texts)


def in_text(key: str) -> str:
    """A work as running text names it: (Vedantam et al., 2015)."""
    fields = ENTRIES[key].fields
    names = [name.split(",")[0] for name in fields["author"].split(" and ")]
    said = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{said}, {fields['year']}"
