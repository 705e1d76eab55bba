"""Labels and help of the study file's keys, in the form's groups."""

from __future__ import annotations

from dataclasses import dataclass

from judgments.design.panels import PANEL_PRESETS
from judgments.design.quizzes import QUIZ_PRESETS
from judgments.design.requirements import CROWDS, REQUIREMENT_PRESETS
from judgments.design.tables import PAIR_KINDS
from judgments.kinds.base import Entry, Kind

CHOICES = {
    "sampling.source": [
        ("auto", "Published pairs where the dataset has them, else drawn"),
        ("published", "The dataset's published pairs"),
        ("references", "Drawn from references and systems"),
    ],
    "sampling.pairs_from": [
        ("outputs", "What each system gave for the image itself"),
        ("top-k", "The first k of systems' ranked lists (Hodosh et al. 2013)"),
        ("references", "People's captions of the image, with captions of other images as foils"),
        ("list", "The pairs listed below"),
        ("crossed", "Every text of the split with every image"),
    ],
    "sampling.task": [
        ("both", "Both"),
        ("annotation", "Image annotation: an image asks, captions are ranked"),
        ("search", "Image search: a caption asks, images are ranked"),
    ],
    "filter.order": [
        ("stop-first", "Drop stop words, then stem (as the ROUGE script)"),
        ("stem-first", "Stem, then drop stop words (fits the printed figures of H13 better)"),
    ],
    "access.join": [
        ("open", "Anyone with the link"),
        ("code", "Anyone with the link and the code below"),
        ("invited", "Invited people, each with a code of their own"),
    ],
    "judged": [
        ("caption", "Captions of images"),
        ("summary", "Summaries"),
        ("translation", "Translations"),
        ("text", "Other texts"),
    ],
    "crowd.backend": [(name, crowd.label) for name, crowd in CROWDS.items()],
    "crowd.question": [("external", "This site's page in a frame"), ("html", "A page of its own over there")],
    "panel.preset": [(name, one.title) for name, one in PANEL_PRESETS.items()],
    "panel.finish": [
        ("redirect", "By an address, where there is one; else with a code"),
        ("code", "With a code that they type there"),
    ],
}
CHOICES |= {
    "controls.kinds": [
        ("reference", "A person's caption of the image (reference)"),
        ("degraded", "A caption beside a damaged copy of it (degraded)"),
        ("repeated", "A unit of the same HIT again (repeated)"),
        ("known-good", "Items you know the answer of (known-good)"),
    ],
    "quiz.preset": [("", "None"), *((name, one.title) for name, one in QUIZ_PRESETS.items())],
    "workers.requirements": [("", "None"), *((name, one.title) for name, one in REQUIREMENT_PRESETS.items())],
    "quiz.explain": [
        ("after-each", "After each question"),
        ("at-the-end", "After the last question"),
        ("never", "Not at all"),
    ],
    "stopping.rule": [
        ("none", "Every unit gets all its judgments"),
        ("settled", "Stop when no remaining vote can change the outcome"),
        ("margin", "Stop as soon as one answer leads by a margin"),
    ],
}
RADIOS = {"access.join"}
SEVERAL = {"controls.kinds"}
LONG_TEXTS = {"instructions": 7, "consent": 7, "template.html": 16}
ROWS = {"examples": 8, "quiz.questions": 8, "controls.known": 8, "rules": 6}  # tables, typed as TOML
PAIRS = {"sampling.listed": 6}  # an image and a caption per line, separated by a tab
LINES = {"labels": 4, "workers.countries": 2, "sampling.only": 2, "keywords.titles": 6}  # one a line


OUTCOME_WORDS = {
    "completed": "finished",
    "screened-out": "screened out",
    "timed-out": "out of time",
    "returned": "given back",
    "full": "no place left",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A group of the form; ``crowd`` is the only crowd it is for, '' for all."""

    title: str
    text: str
    entries: dict[str, Entry]
    crowd: str = ""


def sections_for(kind: Kind) -> list[Section]:
    """Return the groups and keys that apply to ``kind``, in form order."""
    return [
        Section(
            "Data",
            "What the study is called and which captions it judges.",
            {
                "name": Entry("Name", "Workers see it on the study's page."),
                "slug": Entry("Short name", "In the study's link; left empty, it is made from the name."),
                "dataset": Entry("Dataset"),
                "seed": Entry("Seed", "The same dataset, design and seed give the same HITs."),
                "judged": Entry("What is judged", "The words of the workers' page go by it."),
            },
        ),
        *([] if kind.no_source else [_source()]),
        _sampling(kind),
        *([_filter()] if kind.judges_one_caption else []),
        Section(
            "Control items",
            "Items whose right answer is known tell careful workers from careless ones. Workers cannot see which "
            "they are.",
            {
                "controls.per_hit": Entry(
                    "Control images in each HIT" if kind.grouped else "Control items in each HIT",
                    "They count within the size of a HIT. 0: none.",
                ),
                "controls.threshold": Entry(
                    "Least share right",
                    "Between 0 and 1. Answers of a worker below it are kept, but not used.",
                ),
                "controls.split": Entry(
                    "Split they come from", "Without splits, a tenth of the images is reserved."
                ),
                "controls.kinds": Entry("Kinds", "Drawn in equal shares."),
                "controls.after": Entry(
                    "Seen before they say anything",
                    "So many control items are needed for a running accuracy.",
                ),
                "controls.known": Entry(
                    "Items you know the answer of",
                    "As [[known]] tables: image, first, second, expected, why.",
                ),
            },
        ),
        *([Section("This kind", "", dict(kind.asks))] if kind.asks else []),
        _size(kind),
        Section(
            "Who may join",
            "Workers need no password.",
            {
                "access.join": Entry("May join"),
                "access.code": Entry("Code", "What workers must type when a code is asked for."),
            },
        ),
        Section(
            "Quiz",
            "What workers pass before the work. Without questions and items there is none.",
            {
                "quiz.preset": Entry("Ready set of questions"),
                "quiz.questions": Entry(
                    "Questions of your own", "As [[questions]] tables: text, options, answer, why."
                ),
                "quiz.ask": Entry("Questions in an attempt", "Drawn from all there are."),
                "quiz.items": Entry(
                    "Known items in an attempt", "Of the study's own kind, about images reserved for them."
                ),
                "quiz.pass_mark": Entry("Share that must be right", "Between 0 and 1."),
                "quiz.attempts": Entry("Attempts"),
                "quiz.explain": Entry("Answers are explained"),
                "quiz.qualification": Entry(
                    "Shared qualification", "Studies that name the same one ask for the quiz once."
                ),
            },
        ),
        Section(
            "Workers and behaviour",
            "Whom the study asks for, and which detectors run.",
            {
                "workers.requirements": Entry(
                    "Ready set of requirements",
                    "Fills what is left empty below. None takes off what it filled.",
                ),
                "workers.countries": Entry("Countries", "ISO codes, one a line. Empty: any."),
                "workers.approval_above": Entry("Approval rate above", "Between 0 and 1. 0: not asked."),
                "workers.approved_at_least": Entry("Approved HITs at least", "0: not asked."),
                "workers.hits_at_most": Entry("HITs a worker may do", "0: no limit."),
                "workers.show_accuracy": Entry("Workers see their accuracy"),
                "rules": Entry("Detectors", "As [[rules]] tables: rule, action, settings."),
            },
        ),
        *([_stopping()] if kind.settles else []),
        Section(
            "Texts",
            "What workers read. Instructions and consent may use Markdown.",
            {
                "question": Entry("Question", "Stands above the answers."),
                **_labels(kind),
                "instructions": Entry("Instructions", "Shown before and during the work."),
                "consent": Entry("Consent", "Where there is one, a worker must agree before joining."),
                "examples": Entry(
                    "Worked examples",
                    "As [[examples]] tables: image (or scene, in words), shown (texts), answer, why.",
                ),
                "language": Entry("Language of what is judged", "As en, de, ar; empty: not said."),
                "contact": Entry("Contact", "Whom workers can ask: a name and an address."),
            },
        ),
        *_crowds(),
    ]


def _source() -> Section:
    return Section(
        "Source text",
        "The text of an item, shown beside what is judged: the document of a summary, the original of a translation.",
        {
            "source.show": Entry("Show it", "Every item that is shown must have a text then."),
            "source.language": Entry("Its language", "As en, de, ar; empty: not said."),
            "source.label": Entry("Heading above it", "Empty: “Source text”, in the worker's language."),
        },
    )


def _labels(kind: Kind) -> dict[str, Entry]:
    if not kind.labelled:
        return {}
    places = ", ".join(map(str, kind.labelled))
    return {"labels": Entry("Words of the answers", f"One a line, for {places}. Empty: built-in ones.")}


def _sampling(kind: Kind) -> Section:
    entries: dict[str, Entry] = {}
    text = "Which images are judged."
    if kind.compares_pairs:
        text = (
            "How many candidate pairs of each kind are compared: two people's captions of the same image (HC), one "
            "of them of another image (HI), a person's and a machine's (HM), two machines' (MM). All empty: 100 of "
            "each, or as many as there are."
        )
        entries |= {f"sampling.pairs.{name}": Entry(f"{name} pairs") for name in PAIR_KINDS}
        entries["sampling.references"] = Entry(
            "References for each pair", "'all' or a number, drawn with the seed. A triplet is made of each."
        )
        entries["sampling.source"] = Entry("Where pairs come from")
    if kind.judges_one_caption:
        text = "Which captions are judged with which images."
        entries |= {
            "sampling.pairs_from": Entry("Captions judged with an image", "Equal texts are judged once."),
            "sampling.k": Entry("k", "For ranked lists: how many of each are judged."),
            "sampling.task": Entry("Ranked lists of", "For ranked lists."),
            "sampling.references": Entry(
                "Captions of each image", "For people's captions: 'all' or a number."
            ),
            "sampling.foils": Entry(
                "Foils with each image", "For people's captions: how many of other images."
            ),
            "sampling.listed": Entry(
                "Pairs", "For a list: an image, a tab, and a caption's id or text, one pair a line."
            ),
        }
    entries["sampling.images"] = Entry("Images", "'all' or a number, drawn with the seed.")
    entries["sampling.split"] = Entry("Split that is judged", "Ignored where the dataset has no splits.")
    if kind.chosen_by_id:
        what = "candidate pairs" if kind.compares_pairs else "units"
        entries["sampling.only"] = Entry(
            f"Only these {what}", "Ids, one a line, of those that are drawn. Empty: all of them."
        )
    return Section("Sampling", text, entries)


def _filter() -> Section:
    return Section(
        "Filter",
        "Leaves out pairs of image and caption that share hardly a word with the image's own captions (Bleu-pre, "
        "Hodosh et al. 2013).",
        {
            "filter.bleu_pre": Entry("Judge from this score on", "Between 0 and 1. 0: no filter."),
            "filter.fill_to": Entry(
                "Fill the last group up to", "With filtered pairs, which measure the filter's own errors."
            ),
            "filter.audit": Entry(
                "Audit: judge so many of those left out",
                "Drawn with the seed. They say how many good captions the filter misses. 0: none.",
            ),
            "filter.order": Entry("Words are prepared"),
        },
    )


def _stopping() -> Section:
    return Section(
        "Early stopping",
        "A unit gets no more judgments than its outcome needs, and a HIT goes to no more workers than its units need. "
        "The first rule loses nothing: the outcome is that of all votes.",
        {
            "stopping.rule": Entry("Stop"),
            "stopping.full_depth": Entry(
                "Share of HITs that go to all their workers",
                "Drawn with the seed. Agreement is measured on these alone, so that it stays unbiased.",
            ),
            "stopping.minimum": Entry("Votes before it may stop", "For the margin."),
            "stopping.margin": Entry("Lead in votes", "For the margin."),
        },
    )


def _crowds() -> list[Section]:
    return [
        Section(
            "Crowd and pay",
            "Where workers come from, and what they are paid. A study belongs to the crowd it is first opened to.",
            {
                "crowd.backend": Entry("Workers come from"),
                "crowd.reward_cents": Entry("Pay for a HIT, in cents", "0: nothing is said about pay."),
                "crowd.budget_cents": Entry("Budget, in cents", "Fees included; nothing goes out beyond it."),
                "crowd.floor_cents_per_hour": Entry(
                    "Least pay for an hour, in cents",
                    "Of active time; below it a bonus is proposed. 0: no floor.",
                ),
                "crowd.approve_after_hours": Entry(
                    "Hours until work is approved by itself", "Where nothing speaks against it. 0: never."
                ),
                "crowd.title": Entry("Title in the crowd's list", "Empty: the study's name."),
                "crowd.description": Entry("Description there", "Empty: the study's question."),
                "crowd.lifetime_hours": Entry("Hours it is offered there to new workers"),
                "crowd.lease_minutes": Entry(
                    "Minutes a HIT may be held", "Then its place is given to somebody else."
                ),
                "crowd.extensions": Entry("Times it may be extended"),
                "crowd.edit_minutes": Entry(
                    "Minutes answers may be revised after submitting", "0: not at all."
                ),
            },
        ),
        Section(
            "Mechanical Turk",
            "What its workers are shown, and which site it is.",
            {
                "crowd.question": Entry("Page shown there"),
                "crowd.keywords": Entry("Keywords", "With commas between them."),
                "crowd.masters": Entry("Masters only", "For a higher fee."),
                "crowd.live": Entry("Live", "Otherwise its sandbox, which costs nothing."),
            },
            crowd="mturk",
        ),
        _panel(),
    ]


def _panel() -> Section:
    entries = {
        "panel.preset": Entry("Panel", "Fills what is left empty of the parameters and addresses below."),
        "panel.hits": Entry(
            "HITs in a person's session", "The panel pays a session: the pay of all of them."
        ),
        "crowd.fee_percent": Entry("The panel's fee, in percent of the pay", "For the budget."),
        "panel.worker": Entry(
            "Parameter with the person's id", "In the link that the panel sends people by."
        ),
        "panel.session": Entry("Parameter with the submission's id"),
        "panel.project": Entry("Parameter with the panel's id of the study"),
        "panel.finish": Entry("People go back"),
        "panel.api": Entry("Prolific by its API", "Places, approvals and bonuses at Quorum's word."),
    }
    for outcome, words in OUTCOME_WORDS.items():
        entries[f"panel.addresses.{outcome}"] = Entry(
            f"Address back: {words}",
            "{code}, {worker} and {session} are filled in." if outcome == "completed" else "",
        )
    for outcome, words in OUTCOME_WORDS.items():
        entries[f"panel.codes.{outcome}"] = Entry(
            f"Code: {words}", "Left empty, one is made." if outcome == "completed" else ""
        )
    return Section("Panel", "How it sends its people, and how they go back.", entries, crowd="external")


def _size(kind: Kind) -> Section:
    entries = {"judgments_per_unit": Entry("Judgments for each unit", "By as many different workers.")}
    if kind.grouped:
        entries["images_per_hit"] = Entry("Images in a HIT")
        entries["captions_per_image"] = Entry("Captions under an image")
    else:
        entries["units_per_hit"] = Entry("Units in a HIT")
    entries["seconds_per_unit"] = Entry(
        "Seconds for a unit", "Expected; tells workers and you how long it takes."
    )
    return Section(
        "Overlap and size", "How many people judge each unit, and how much one accepts at a time.", entries
    )
