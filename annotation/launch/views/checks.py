"""The platform's own checks before a study opens: obstacles, texts, attention, pictures, links, pay and cost.

Each check takes a ``Launch`` (the study with its design and forecast) and yields points of the checklist. The last
lines register the checks, each with a number by which they are sorted. Features can register others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotation.crowds import Ability, backend_of
from annotation.crowds.opening import ObstacleTopic, obstacles
from annotation.crowds.panel.backend import ExternalBackend, describe_unsigned
from annotation.launch.pass_mark import chance_of_exclusion, checks_until_mark, describe_pass_mark
from annotation.launch.views.launch import ChecklistItem, Launch, Readiness
from annotation.launch.views.points import CONSENT_CHECKS, add_check
from annotation.models import Budget, at_crowd
from annotation.money.wages import cents_below_floor
from common.amounts import thousands
from judgments.design.crowds import CROWDS
from judgments.design.editing.form.labels import replace_keys_by_labels
from judgments.design.quiz import asks_anything
from judgments.design.tables.controls import CAREFUL_ACCURACY, usual_least
from judgments.models import Item, Study
from judgments.studies.pages import was_opened
from judgments.templatetags.judgments_tags import cents

# tolerable probability that a careful person's answers are not used
MAX_EXCLUSION_CHANCE = 0.05


class ObstaclePlace(NamedTuple):
    """Where to remove an obstacle: the key of the design to change, and the text of the link to it.

    ``title`` is the title of the point in the checklist.
    """

    title: str
    key: str
    link_words: str


OBSTACLE_PLACES: dict[ObstacleTopic, ObstaclePlace] = {
    "requirements": ObstaclePlace(
        gettext_noop("Participants"), "workers.requirements", gettext_noop("Change the question")
    ),
    "quiz": ObstaclePlace(
        gettext_noop("Quiz or check questions"), "controls.per_hit", gettext_noop("Change the settings")
    ),
    "budget": ObstaclePlace(gettext_noop("Cost"), "crowd.budget_cents", gettext_noop("Change the budget")),
    "crowd": ObstaclePlace(gettext_noop("Crowd"), "crowd.backend", gettext_noop("Change the settings")),
}

NO_CONSENT = gettext_noop("There is no consent text: participants begin without agreeing to anything.")


def _check_obstacles(launch: Launch) -> Iterable[ChecklistItem]:
    """Yield a point for each obstacle to opening the study, with a link to the key of the design to change."""
    study, blocks = launch.study, Readiness.BLOCKS
    if launch.problem:
        link = str(launch.plan["problem_link"])
        yield ChecklistItem(_("Pages of work"), blocks, launch.problem, link, _("Change the settings"))
    if study.state == Study.State.OPEN:
        return
    for obstacle in obstacles(study, cents=launch.forecast.cents if launch.forecast else 0):
        problem = replace_keys_by_labels(obstacle.sentence, launch.design)
        if obstacle.topic == "state" and study.state == Study.State.DRAFT:
            if not launch.problem:
                sentence = _("%(words)s Generating pages of work freezes the design.") % {"words": problem}
                yield launch.point(_("Pages of work"), blocks, sentence)
        else:
            # with pages generated, the topic "state" says that the feature that draws an arena's pages is off
            place = OBSTACLE_PLACES.get(obstacle.topic, OBSTACLE_PLACES["crowd"])
            link_words = _(place.link_words)
            yield launch.point(_(place.title), blocks, problem, key=place.key, link_words=link_words)


def _check_consent(launch: Launch) -> Iterable[ChecklistItem]:
    points: list[ChecklistItem] = []
    for check in CONSENT_CHECKS:
        points += check(launch)
    if points:  # a feature checks the consent text
        yield from points
        return
    title = _("Consent")
    if launch.design.consent.strip():
        sentence = _("Participants agree to your consent text before they begin.")
        yield launch.point(title, Readiness.READY, sentence)
    else:
        # the design of a study that is no draft is frozen, but the page "Privacy" can change its consent text
        page = "" if launch.study.state == Study.State.DRAFT else "privacy"
        yield launch.point(
            title, Readiness.MISSING, _(NO_CONSENT), key="consent", page=page, link_words=_("Add it")
        )


def _readiness_if(can_be_improved: bool) -> Readiness:
    """Return MISSING, which the page shows as "can be improved", or READY."""
    return Readiness.MISSING if can_be_improved else Readiness.READY


def _check_contact(launch: Launch) -> Iterable[ChecklistItem]:
    contact = launch.design.contact.strip()
    sentence = (
        _("Contact for participants: %(contact)s") % {"contact": contact}
        if contact
        else _("Participants have nobody to contact if something goes wrong.")
    )
    yield launch.point(_("Contact"), _readiness_if(not contact), sentence, key="contact")


def _check_links(launch: Launch) -> Iterable[ChecklistItem]:
    """Yield a point if people can change or invent the ids in the panel's links."""
    panel = launch.design.panel
    if launch.design.crowd.backend == ExternalBackend.name and not panel.can_verify_ids:
        key = ""
        if panel.preset in CROWDS:  # a panel with an API can be asked whether it knows the ids
            key = "panel.api"
        elif panel.preset == "plain":  # somebody's own panel can sign its links
            key = "panel.signature"
        yield launch.point(_("Panel links"), Readiness.MISSING, describe_unsigned(), key=key)


def _check_attention(launch: Launch) -> Iterable[ChecklistItem]:
    """Yield a point about the quiz and the check questions (control items).

    It is to be improved if there are neither, if the pass mark excludes too many careful people, or if one person gets
    too few check questions to be told from a guesser.
    """
    checks_per_page, has_quiz = launch.design.controls.per_hit, asks_anything(launch.design.quiz)
    title = _("Quiz or check questions")
    if not has_quiz and not checks_per_page:
        yield launch.point(
            title,
            Readiness.MISSING,
            _("Nothing in this study detects careless answers."),
            key="controls.per_hit",
            link_words=_("Add check questions"),
        )
        return
    sentence = _("A quiz comes before the work.")
    if checks_per_page:
        sentence = (
            _("A quiz comes before the work, and each page of work has check questions (%(n)s).")
            if has_quiz
            else _("Each page of work has check questions (%(n)s).")
        ) % {"n": checks_per_page}
    controls, pass_mark_sentences = launch.design.controls, describe_pass_mark(launch.design)
    if not pass_mark_sentences:
        yield launch.point(title, Readiness.READY, sentence)
        return
    check_count = checks_until_mark(launch.design)  # answered when the pass mark first applies
    usual_count, max_checks = usual_least(controls.threshold), launch.max_distinct_checks
    sentences, key = [sentence, pass_mark_sentences], ""
    if chance_of_exclusion(launch.design, CAREFUL_ACCURACY) > MAX_EXCLUSION_CHANCE:
        key = "controls.least"
        one_wrong_excludes = controls.excludes(check_count, check_count - 1)
        if one_wrong_excludes:
            sentences.append(_("One wrong answer is enough to be below the pass mark."))
        if usual_count > controls.least:
            remedy = ngettext(
                "After one check question, at most 1 of 100 careful participants would be below the pass mark.",
                "After %(n)s check questions, at most 1 of 100 careful participants would be below the pass mark.",
                usual_count,
            )
            sentences.append(remedy % {"n": usual_count})
    elif max_checks is not None and max_checks < max(controls.least, usual_count):
        key = "controls.per_hit"
        remedy = _(
            "The maximum number of check questions for one participant is %(n)s. This is too few to tell careful "
            "answers from guesses. Ask for more check questions on each page, or add data or known-good items."
        )
        sentences.append(remedy % {"n": max_checks})
    link_words = _("Change the check questions")
    yield launch.point(title, _readiness_if(key != ""), " ".join(sentences), key=key, link_words=link_words)


def _check_pictures(launch: Launch) -> Iterable[ChecklistItem]:
    if not launch.design.about_pictures:
        return
    remote_count = Item.objects.filter(dataset=launch.study.dataset_id, picture="").exclude(url="").count()
    if remote_count:
        sentence = ngettext(
            "One picture is on another server. Its size is unknown, so the page may shift while it loads.",
            "%(n)s pictures are on other servers. Their sizes are unknown, so the page may shift while they load.",
            remote_count,
        )
        yield ChecklistItem(_("Pictures"), Readiness.MISSING, sentence % {"n": thousands(remote_count)})


def _check_pay(launch: Launch) -> Iterable[ChecklistItem]:
    crowd, forecast, currency = launch.design.crowd, launch.forecast, launch.design.currency
    title = _("Pay")
    if not crowd.reward_cents:
        yield launch.point(title, Readiness.READY, _("This study pays nothing."))
        return
    if forecast is None or forecast.wage_cents is None:
        yield launch.point(title, Readiness.UNKNOWN, launch.why_unknown)
        return
    floor = crowd.floor_cents_per_hour
    missing_cents = cents_below_floor(crowd.reward_cents, forecast.seconds, floor)
    amounts = {
        "wage": cents(forecast.wage_cents, currency),
        "seconds": f"{launch.design.seconds_per_unit:g}",
        "floor": cents(floor, currency),
        "fair": cents(crowd.reward_cents + missing_cents, currency),
    }
    key = link_words = ""
    if missing_cents:
        sentence = _(
            "Expected hourly wage: %(wage)s, if an item takes %(seconds)s s. This is below the wage floor of "
            "%(floor)s. To reach the wage floor, a page of work must pay %(fair)s."
        )
        key, link_words = "crowd.reward_cents", _("Change the pay")
    elif floor:
        sentence = _(
            "Expected hourly wage: %(wage)s, if an item takes %(seconds)s s. The wage floor is %(floor)s."
        )
    else:
        sentence = _(
            "Expected hourly wage: %(wage)s, if an item takes %(seconds)s s. There is no wage floor, so slow "
            "participants can earn much less."
        )
        key, link_words = "crowd.floor_cents_per_hour", _("Set a wage floor")
    yield launch.point(title, _readiness_if(key != ""), sentence % amounts, key=key, link_words=link_words)


def _check_cost(launch: Launch) -> Iterable[ChecklistItem]:
    """Yield a point about the expected cost, and whether the budget is enough.

    If the budget is not enough and ``_check_obstacles`` says so, no point is yielded. This is the case for a study with
    pages of work that was not opened yet, at a crowd where work is published.
    """
    forecast, currency = launch.forecast, launch.design.currency
    title = _("Cost")
    if forecast is None:
        yield launch.point(title, Readiness.UNKNOWN, launch.why_unknown)
        return
    if not forecast.cents:
        yield launch.point(title, Readiness.READY, _("No cost: the study pays no reward."))
        return
    sentence = (
        _("%(cost)s, including %(fees)s in fees. Submissions to pay: %(n)s.")
        if forecast.fee_cents
        else _("%(cost)s. Submissions to pay: %(n)s.")
    ) % {
        "cost": cents(forecast.cents, currency),
        "n": thousands(forecast.places),
        "fees": cents(forecast.fee_cents, currency),
    }
    backend, is_opened = backend_of(launch.study), was_opened(launch.study)
    budget_row = at_crowd(Budget, launch.study).first() if launch.study.platform else None
    budget_cents = budget_row.budget_cents if budget_row else launch.design.crowd.budget_cents
    budget, remainder = cents(budget_cents, currency), cents(budget_cents - forecast.cents, currency)
    can_publish = Ability.PUBLISH in backend.can
    if not backend.sends_people and not budget_cents:
        note = _("You pay participants yourself. No crowd pays them for you.")
        yield launch.point(title, Readiness.READY, f"{sentence} {note}")
    elif forecast.cents <= budget_cents:
        note = _("The budget of %(budget)s leaves %(left)s for bonuses.") % {
            "budget": budget,
            "left": remainder,
        }
        yield launch.point(title, Readiness.READY, f"{sentence} {note}")
    elif launch.study.state == Study.State.DRAFT or is_opened or not can_publish:
        note = _("The budget of %(budget)s is not enough.") % {"budget": budget}
        yield launch.point(
            title,
            Readiness.BLOCKS if can_publish and not is_opened else Readiness.MISSING,
            f"{sentence} {note}",
            key="crowd.budget_cents",
            page="crowd" if is_opened and backend.sends_people else "",
            link_words=_("Change the budget"),
        )


add_check(0, _check_obstacles)
add_check(10, _check_consent)
add_check(15, _check_contact)
add_check(20, _check_attention)
add_check(25, _check_pictures)
add_check(30, _check_links)
add_check(50, _check_pay)
add_check(60, _check_cost)
