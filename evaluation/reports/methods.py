"""The methods paragraph that a paper could print: every setting that a number rests on, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count

from annotation.models import Exclusion
from evaluation.provenance import versions
from evaluation.reports.ceiling import SPLITS
from evaluation.reports.citations import PRESETS, SOURCES, in_text, of_metric
from evaluation.reports.content import Section, coefficient
from evaluation.reports.gathered import Gathered
from evaluation.results.filter_audit import audit_sentence
from judgments.design.study_design import StudyDesign
from judgments.drawing.stopping import stopping_in_words, stops_early
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.studies import design_of

COEFFICIENTS = "95 % intervals are percentile bootstrap intervals"


class Writer:
    """Collects sentences into paragraphs, and the works they cite."""

    def __init__(self) -> None:
        self.paragraphs: list[list[str]] = []
        self.cited: dict[str, None] = {}

    def paragraph(self) -> None:
        """What is said from here on is a paragraph of its own."""
        self.paragraphs.append([])

    def say(self, sentence: str) -> None:
        """One sentence more."""
        self.paragraphs[-1].append(sentence)

    def cite(self, *keys: str) -> str:
        """The works in running text, noted for the bibliography."""
        self.cited |= dict.fromkeys(keys)
        return f"({'; '.join(in_text(key) for key in keys)})" if keys else ""


def methods(
    gathered: Gathered, study: Study, sections: Sequence[Section]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paragraphs, and the keys of what they cite."""
    writer = Writer()
    _collection(writer, gathered, study)
    _analysis(writer, gathered, {section.name: section for section in sections})
    return tuple(" ".join(one) for one in writer.paragraphs), tuple(writer.cited)


def _collection(writer: Writer, gathered: Gathered, study: Study) -> None:
    design, kind = design_of(study), gathered.kind
    counts = gathered.aggregation.result["counts"]
    writer.paragraph()
    paper = next((key for start, key in PRESETS.items() if design.preset.startswith(start)), "")
    follows = f", after the protocol of {in_text(paper)}" if paper else ""
    if paper:
        writer.cite(paper)
    sources = next(
        (keys for start, keys in SOURCES.items() if study.dataset.source_format.startswith(start)), ()
    )
    data = f" {writer.cite(*sources)}" if sources else ""
    writer.say(f"We collected {kind.name} judgments on the data set {study.dataset.name}{data}{follows}.")
    if study.simulated:
        writer.say("The answers are simulated by a rehearsal crowd and come from no people.")
    if design.question:
        writer.say(f"The question was: “{design.question}”")
    if study.source == Study.Source.IMPORTED:
        writer.say("The judgments were imported as published.")
    else:
        sampling = design.sampling
        if kind.compares_pairs and sampling.pairs:
            pairs = ", ".join(f"{count:,} {name}" for name, count in sampling.pairs.items() if count)
            writer.say(
                f"Candidate pairs were drawn by kind ({pairs}), with {sampling.references} references a pair."
            )
        elif not kind.compares_pairs:
            writer.say(f"Images judged: {sampling.images}.{_captions_judged(design)}")
        if design.source.show:
            writer.say("The source text was shown beside what was judged.")
        writer.say(
            f"Each unit was given to {design.judgments_per_unit} different workers; sampling, order and sides are "
            "drawn "
            f"from seed {design.seed}."
        )
    if design.filter.bleu_pre and kind.grouped:
        writer.cite("hodosh2013")
        writer.say(
            f"Pairs of image and caption below {design.filter.bleu_pre:g} by the Bleu-pre filter (order "
            f"{design.filter.order}; "
            f"{in_text('hodosh2013')}) were not judged, but to fill an image's last group up to "
            f"{design.filter.fill_to}."
        )
    audit = gathered.aggregation.result.get("filter_audit")
    if audit:
        writer.say(audit_sentence(audit))
    _crowd(writer, study)
    writer.say(
        f"{counts['workers']:,} workers gave {counts['judgments']:,} judgments on {counts['units']:,} units, "
        f"{counts['control_judgments']:,} of them on control items."
    )
    _exclusions(writer, gathered, study)


def _captions_judged(design: StudyDesign) -> str:
    """Which captions were judged with an image, as a sentence; "" for kinds that judge no single captions."""
    if not KINDS[design.protocol].judges_one_caption:
        return ""
    sampling = design.sampling
    lists = {
        "annotation": "lists of captions for an image",
        "search": "lists of images for a caption",
        "both": "lists of captions for an image and of images for a caption",
    }
    said = {
        "outputs": f"the {design.judged} that each system gave for it",
        "top-k": f"the first {sampling.k} of systems' ranked {lists[sampling.task]}",
        "references": f"people's captions of it ({sampling.references}) and {sampling.foils} of other images",
        "list": f"those of a list of {len(sampling.listed)} pairs",
        "crossed": "every text that a system gave for any image",
    }
    return f" Judged with each image: {said[sampling.pairs_from]}; equal texts once."


def _crowd(writer: Writer, study: Study) -> None:
    """Who worked, and for how much."""
    design = design_of(study)
    if study.source == Study.Source.IMPORTED or study.simulated:
        return
    place = {
        "local": "this platform's own pages",
        "mturk": "Amazon Mechanical Turk",
        "external": "an external panel",
    }
    writer.say(f"Workers were reached through {place.get(design.crowd.backend, design.crowd.backend)}.")
    asked = []
    if design.workers.countries:
        asked.append(f"from {', '.join(design.workers.countries)}")
    if design.workers.approval_above:
        asked.append(f"with more than {100 * design.workers.approval_above:g} % of their work approved")
    if design.workers.approved_at_least:
        asked.append(f"with at least {design.workers.approved_at_least:,} approved HITs")
    if asked:
        writer.say(f"They had to be {', '.join(asked)}.")
    if design.crowd.reward_cents:
        cents = design.crowd.reward_cents
        writer.say(f"A HIT was paid {cents // 100}.{cents % 100:02d} dollars.")
    if design.quiz.preset or design.quiz.questions or design.quiz.items:
        writer.say(
            f"They first passed a quiz, with {100 * design.quiz.pass_mark:g} % right, in {design.quiz.attempts} "
            "attempts."
        )


def _exclusions(writer: Writer, gathered: Gathered, study: Study) -> None:
    design = design_of(study)
    counts = gathered.aggregation.result["counts"]
    if study.source == Study.Source.DESIGNED:
        controls = design.controls
        if controls.per_hit:
            writer.say(
                f"Control items a HIT: {controls.per_hit} ({', '.join(controls.kinds)}); judgments of workers "
                "with less "
                f"than {100 * controls.threshold:g} % of theirs right are set aside."
            )
        else:
            writer.say("There were no control items.")
    rules = (
        Exclusion.objects.filter(study=study, lifted_at=None)
        .values_list("rule")
        .annotate(n=Count("pk"))
        .order_by("rule")
    )
    said = ", ".join(f"{n:,} by rule {rule}" if rule else f"{n:,} by a person" for rule, n in rules)
    if said:
        writer.say(f"Workers were excluded: {said}.")
    writer.say(
        f"{counts['unused_judgments']:,} judgments are set aside, {counts['counted_judgments']:,} enter the consensus."
        if counts["unused_judgments"]
        else f"No judgment is set aside; {counts['counted_judgments']:,} enter the consensus."
    )
    if stops_early(study):
        writer.say(f"A unit got no more judgments once it was settled ({stopping_in_words(design)}).")


def _analysis(writer: Writer, gathered: Gathered, sections: dict[str, Section]) -> None:
    kind, counts = gathered.kind, gathered.aggregation.result["counts"]
    settings = gathered.aggregation.settings
    writer.paragraph()
    if kind.compares_pairs:
        writer.cite("vedantam2015")
        writer.say(
            "A unit's consensus is the majority of its judgments, and a pair's winner the candidate that wins "
            "most of its "
            f"units ({in_text('vedantam2015')}); tied units decide nothing, and a pair whose candidates win "
            "equally often is "
            f"a tie ({counts['pair_ties']:,} pairs)."
        )
    elif not kind.is_open:
        writer.say(
            f"{counts['units_with_consensus']:,} of {counts['units']:,} units have a consensus, "
            f"{counts['unit_ties']:,} are tied."
        )
    if counts["adjudicated"]:
        writer.say(f"{counts['adjudicated']:,} units were decided by an adjudicator.")
    alpha = gathered.aggregation.result["agreement"]["alpha"]
    if alpha["value"] is not None:
        between = (
            f" (95 % interval {coefficient(alpha['low'])} to {coefficient(alpha['high'])})"
            if alpha["low"] is not None
            else ""
        )
        writer.say(
            f"Agreement is Krippendorff's alpha at the {alpha['level']} level {writer.cite('krippendorff2011')}: "
            f"{coefficient(alpha['value'])}{between}, with {settings['resamples']:,} bootstrap resamples of units "
            f"{writer.cite('efron1979')}, seed {settings['seed']}."
        )
    if gathered.evaluation is not None:
        _metrics(writer, gathered, sections)
    if "tournament" in sections:
        writer.say(
            "Systems are compared by the fraction of comparisons they win, intervals by resampling images, and by "
            f"Bradley-Terry strengths {writer.cite('bradley1952')} with ties after Davidson "
            f"{writer.cite('davidson1970')}."
        )
    if "grades" in sections:
        writer.say(
            "Systems are compared by how many of their first captions reach each mean grade "
            f"{writer.cite('hodosh2013')}, with McNemar's exact tests {writer.cite('mcnemar1947')} adjusted after Holm "
            f"{writer.cite('holm1979')} within a threshold."
        )
    if "rankings" in sections:
        writer.say(f"Rankings are measured by S@k and R-precision {writer.cite('hodosh2013')}.")
    if "leave-one-out" in sections:
        writer.say(
            "Upper bounds are by leave-one-out, lower bounds by random captions of other images, drawn from seed "
            f"{gathered.seed} {writer.cite('wang2016')}."
        )
    if "captions" in sections:
        writer.say(f"Captions are scored by best-worst counting {writer.cite('kiritchenko2017')}.")
    if "keywords" in sections:
        writer.say(
            f"Keywords are those of {writer.cite('mason2012')}, compared by the F1 of every two answers."
        )
    if "content" in sections:
        writer.say(
            f"Content selection is measured by precision, recall and F1 over boxes {writer.cite('wang2015')}."
        )
    made = versions()
    writer.say(
        f"All figures were computed by Quorum {made['quorum']} (Python {made['python']}, NumPy {made['numpy']}, "
        f"SciPy {made['scipy']})."
    )


def _metrics(writer: Writer, gathered: Gathered, sections: dict[str, Section]) -> None:
    kind = gathered.kind
    assert gathered.evaluation is not None
    settings, signatures = gathered.evaluation.settings, gathered.evaluation.result["signatures"]
    named = [f"{name} {writer.cite(*of_metric(name))}".strip() for name in gathered.metrics]
    writer.say(
        f"Metrics: {', '.join(named)}; words cut by the tokenizer {settings['tok']}, document frequency over "
        f"{settings['df']}. "
        f"Their signatures: {'; '.join(signatures.values())}."
    )
    tables = {table.name for section in sections.values() for table in section.tables}
    if kind.compares_pairs:
        left = gathered.evaluation.result["counts"]["no_consensus"]
        writer.say(
            "A metric's accuracy is the share of pairs on which it names people's winner; its ties are wrong, and "
            f"{left:,} pairs without a consensus are left out. Intervals of shares are Wilson's "
            f"{writer.cite('wilson1927')}."
        )
        writer.say(
            f"What people reach is how often two random halves of them name the same winner of a pair, over {SPLITS} "
            f"splits from seed {gathered.seed} ({in_text('vedantam2015')}); where that cannot be had, how often one "
            "judge says what the majority of the others says."
        )
        if "clusters" in tables:
            writer.say(
                f"Every two metrics are compared by McNemar's exact test {writer.cite('mcnemar1947')}, p-values "
                "adjusted after "
                f"Holm {writer.cite('holm1979')} within a pair kind; letters after {in_text('piepho2004')}."
            )
            writer.cite("piepho2004")
    else:
        writer.say(
            f"Metrics are correlated with people by Kendall's tau-b {writer.cite('kendall1945')} and Spearman's rho "
            f"{writer.cite('spearman1904')}; {COEFFICIENTS} {writer.cite('efron1979')}, seed {gathered.seed}."
        )
        if not kind.is_open:
            writer.say("What people reach is the same between a judgment and the mean of the unit's others.")
        if "clusters" in tables:
            writer.say(
                "Every two metrics are compared by Williams' test of their Pearson correlations with people "
                f"{writer.cite('williams1959', 'graham2014')}, p-values adjusted after Holm "
                f"{writer.cite('holm1979')}; letters after {in_text('piepho2004')}."
            )
            writer.cite("piepho2004")
        if settings.get("own") == "dropped":
            writer.say(
                "Where a caption is word for word a reference of its image, that reference is left out for it."
            )
    if "thresholds" in sections:
        writer.say(
            f"Cohen's kappa {writer.cite('cohen1960')} between metric and people is given at a grid of thresholds "
            f"{writer.cite('hodosh2013')}."
        )
    if "references" in sections:
        writer.say(
            "Accuracy by number of references is the mean over random subsets of each pair's references."
        )
