"""The checklist for an ethics board, filled from a study's design (README.md).

Sources of the questions, which each line names:

- ARR: section D of the Responsible NLP Research checklist of ACL Rolling Review
  (https://aclrollingreview.org/responsibleNLPresearch/): D1 instructions, D2 recruitment and payment, D3 consent,
  D4 ethics board, D5 who the annotators are; A2 risks.
- CR: the Common Rule's elements of informed consent, 45 CFR 46.116(b) and (c).
- GDPR: articles 5, 13, 17 and 30.
- P: Prolific's rules for a consent form (https://researcher-help.prolific.com/en/article/a5fc5c).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, Sum
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.crowds import backend_for
from annotation.crowds.panel.backend import panel_title
from annotation.launch.check_questions import describe_rule
from annotation.privacy.consent import versions_of
from annotation.work.sheet.texts import spell_duration
from annotation.work.summaries import describe_effort
from common.amounts import spell_cents, thousands
from judgments.design.countries import country_name
from judgments.design.quiz import asks_anything
from judgments.design.study_design import StudyDesign
from judgments.design.tables.crowd import DEMOGRAPHICS
from judgments.models import HIT, Study, StudyRole
from judgments.studies.designs import design_of, kind_of

SECONDS_AN_HOUR = 3600
MOST_OWNERS_NAMED = 20


@dataclass(frozen=True, slots=True)
class ChecklistLine:
    """A question of a board.

    Attributes:
        answer: Markdown; "" if the researcher has to write it.
        sources: who asks the question, such as ``ARR D2``.
        key: the design key that would answer it.
    """

    question: str
    answer: str
    sources: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class ChecklistSection:
    title: str
    lines: tuple[ChecklistLine, ...]


@dataclass(frozen=True, slots=True)
class _Facts:
    study: Study
    design: StudyDesign
    slots: int


def build_checklist(study: Study) -> list[ChecklistSection]:
    slots = (
        HIT.objects.filter(study=study).aggregate(n=Sum("required"))["n"] or 0
    )  # there are none before HITs are drawn
    facts = _Facts(study, design_of(study), slots)
    parts = (
        (_("The study and who is responsible"), _responsibility_lines),
        (_("Who takes part"), _people_lines),
        (_("What participants see and do"), _task_lines),
        (_("Pay"), _pay_lines),
        (_("Consent"), _consent_lines),
        (_("Data about participants"), _data_lines),
        (_("Keeping, erasing, publishing"), _keeping_lines),
        (_("Risks and benefits"), _risk_lines),
    )
    return [ChecklistSection(title, tuple(lines(facts))) for title, lines in parts]


def count_open_lines(sections: list[ChecklistSection]) -> int:
    return sum(1 for section in sections for line in section.lines if not line.answer)


def _responsibility_lines(facts: _Facts) -> Iterator[ChecklistLine]:
    study, design = facts.study, facts.design
    owners = study.roles.filter(role=StudyRole.Role.OWNER).select_related("user")[:MOST_OWNERS_NAMED]
    names = ", ".join(role.user.get_full_name() or role.user.get_username() for role in owners)
    yield ChecklistLine(_("Title"), design.name, "CR (b)(1)")
    yield ChecklistLine(_("Responsible researchers"), names, "CR (b)(7), GDPR 13(1)(a)")
    yield ChecklistLine(
        _("Contact for participants and the board"), design.contact, "CR (b)(7), GDPR 13(1)(a)", "contact"
    )
    yield ChecklistLine(_("Ethics board and number"), design.ethics.board, "ARR D4", "ethics.board")
    yield ChecklistLine(
        _("Funding and conflicts of interest"), design.ethics.funding, "CR (c)", "ethics.funding"
    )


def _people_lines(facts: _Facts) -> Iterator[ChecklistLine]:
    design = facts.design
    backend = backend_for(design)
    where = panel_title(design) if design.crowd.backend == "external" else _(backend.title)
    if not backend.sends_people:
        ways = {
            "open": _("Anyone with the link to the study on this installation."),
            "code": _("Anyone with the link and a code."),
            "invited": _("People who are invited one by one."),
        }
        where = ways[design.access.join]
    yield ChecklistLine(_("How they are recruited"), where, "ARR D2")
    if facts.slots:
        places = ngettext("%(n)s page of work", "%(n)s pages of work", facts.slots)
        least = ngettext(
            "at least %(n)s participant, as nobody judges an item twice",
            "at least %(n)s participants, as nobody judges an item twice",
            design.judgments_per_unit,
        )
        answer = _("Places in total: %(places)s; %(least)s.") % {
            "places": places % {"n": thousands(facts.slots)},
            "least": least % {"n": design.judgments_per_unit},
        }
    else:
        answer = _("Known once pages of work are generated.")
    yield ChecklistLine(_("How many"), answer, "CR (c)(6), ARR D2")
    yield ChecklistLine(_("Requirements"), _requirements_answer(design), "ARR D2, D5")
    age = design.ethics.minimum_age
    yield ChecklistLine(
        _("Minimum age"),
        _("%(n)s years.") % {"n": age} if age else "",
        "CR (b), ARR D5",
        "ethics.minimum_age",
    )
    yield ChecklistLine(
        _("Vulnerable groups"), design.ethics.vulnerable, "45 CFR 46.111(a)(3)", "ethics.vulnerable"
    )


def _requirements_answer(design: StudyDesign) -> str:
    workers, sentences = design.workers, []
    if workers.countries:
        sentences.append(
            _("Live in: %(countries)s.")
            % {"countries": ", ".join(country_name(code) for code in workers.countries)}
        )
    if workers.languages:
        sentences.append(_("Fluent in: %(languages)s.") % {"languages": ", ".join(workers.languages)})
    if workers.approval_above or workers.approved_at_least:
        sentences.append(
            _("Earlier work: more than %(share)s %% approved. Approved pages of work at least: %(n)s.")
            % {"share": f"{workers.approval_above * 100:g}", "n": workers.approved_at_least}
        )
    if workers.requires or workers.forbids:
        sentences.append(_("Qualifications from earlier studies select or exclude some people."))
    if workers.quotas:
        sentences.append(_("Quotas fix the shares of some traits."))
    if asks_anything(design.quiz):
        sentences.append(_("They pass a short test before the work."))
    return " ".join(sentences) or _("Nothing.")


def _task_lines(facts: _Facts) -> Iterator[ChecklistLine]:
    study, design = facts.study, facts.design
    effort = describe_effort(study)
    task = {"question": design.question, "kind": _(kind_of(study).title)}
    yield ChecklistLine(_("The question"), _("“%(question)s” (%(kind)s)") % task, "ARR D1")
    yield ChecklistLine(
        _("Instructions before and during the work"), design.instructions, "ARR D1", "instructions"
    )
    yield ChecklistLine(
        _("Amount and duration of work"),
        _("A page of work has %(size)s and takes %(duration)s.")
        % {"size": effort["size"], "duration": effort["duration"]}
        + " "
        + _("They can stop after any page, and come back as long as the study is open."),
        "CR (b)(1)",
    )
    checks = (
        ngettext(
            "%(n)s item on each page of work has a known right answer (a check question). Participants are "
            "not told which one; say in the consent text that there are check questions.",
            "%(n)s items on each page of work have known right answers (check questions). Participants are "
            "not told which ones; say in the consent text that there are check questions.",
            design.controls.per_hit,
        )
        % {"n": design.controls.per_hit}
        if design.controls.per_hit
        else _("Nothing: there are no check questions.")
    )
    checks = f"{checks} {describe_rule(design)}".rstrip()
    yield ChecklistLine(_("Is anything hidden from them?"), checks, "45 CFR 46.116(f)")
    watched = (
        _(
            "Detectors look for answers that are too fast or careless: %(rules)s. A person decides, unless "
            "the detector excludes automatically. Exclusions can be lifted, and participants can appeal "
            "against rejected work."
        )
        % {"rules": ", ".join(f"{rule.rule} ({rule.action})" for rule in design.rules)}
        if design.rules
        else _(
            "No detector checks how participants answer. A person can exclude a participant, with a reason "
            "that is logged."
        )
    )
    yield ChecklistLine(_("When are participants excluded?"), watched, "CR (c)(2)")


def _pay_lines(facts: _Facts) -> Iterator[ChecklistLine]:
    design = facts.design
    reward, currency = design.crowd.reward_cents, design.currency
    if not reward:
        yield ChecklistLine(
            _("What they are paid"), _("Nothing: the work is voluntary."), "ARR D2, CR (c)(3)"
        )
        return
    seconds = float(describe_effort(facts.study)["seconds"])
    answer = _("%(reward)s for a page of work of %(duration)s") % {
        "reward": spell_cents(reward, currency),
        "duration": spell_duration(seconds),
    }
    if seconds:
        wage = round(reward * SECONDS_AN_HOUR / seconds)
        answer += _(": %(wage)s an hour at the expected speed") % {"wage": spell_cents(wage, currency)}
    yield ChecklistLine(_("What they are paid"), f"{answer}.", "ARR D2, CR (c)(3)")
    floor = design.crowd.floor_cents_per_hour
    answer = (
        _("At least %(floor)s per hour of active time: slower participants are paid the difference.")
        % {"floor": spell_cents(floor, currency)}
        if floor
        else _("There is no wage floor: slower participants earn less per hour.")
    )
    yield ChecklistLine(_("Is a wage guaranteed?"), answer, "ARR D2", "crowd.floor_cents_per_hour")
    yield ChecklistLine(_("Is this adequate where they live?"), "", "ARR D2")
    yield ChecklistLine(
        _("What if their work is rejected?"),
        _(
            "They see the reason and can appeal; a person answers. They keep the pay for submitted work if "
            "they leave early."
        ),
        "ARR D2",
    )


def _consent_lines(facts: _Facts) -> Iterator[ChecklistLine]:
    design = facts.design
    yield ChecklistLine(_("Consent text"), design.consent, "ARR D3, CR (b)", "consent")
    if design.consent:
        languages = ", ".join(code for code, texts in design.translations.items() if texts.consent)
        versions = versions_of(facts.study)
        answer = _(
            "They tick a box before they join. Stored with each participation and page of work: the version of the "
            "text and the time. If the text changes, they are asked again before their next page."
        )
        if versions:
            listed = ", ".join(
                f"{version.version.number} ({date_format(localtime(version.version.since))}, {version.version.version})"
                for version in versions
            )
            answer += " " + _("Versions so far: %(listed)s.") % {"listed": listed}
        if languages:
            answer += " " + _("Also in: %(languages)s.") % {"languages": languages}
        yield ChecklistLine(_("How consent is recorded"), answer, "GDPR 7(1), P")
    yield ChecklistLine(
        _("How participants withdraw"),
        _withdrawal_answer(design),
        "CR (b)(8), GDPR 7(3), P",
        "erasure.offered",
    )


def _withdrawal_answer(design: StudyDesign) -> str:
    stops = _("They stop whenever they like, without giving a reason.")
    match design.erasure.offered:
        case "at-once":
            return f"{stops} " + _("On their own page they leave and are erased at once.")
        case "on-request":
            return f"{stops} " + _("On their own page they ask to be erased, and a researcher answers.")
    return f"{stops} " + _("To be erased they write to the contact above.")


def _data_lines(facts: _Facts) -> Iterator[ChecklistLine]:
    study, design = facts.study, facts.design
    sent = backend_for(design).sends_people
    items = [
        _("a pseudonym derived from the crowd’s id; the id itself is stored apart from all answers")
        if sent
        else _("a name that they choose"),
        _("answers, with the order and side of the options"),
        _("times: joined, page taken and submitted, active seconds on each item"),
        _("comments and reports of problems, if they write any"),
        _("how an answer was given: pasted text, edits"),
    ]
    if design.consent:
        items.append(_("the version of the consent text, and when they agreed"))
    if design.workers.countries and not sent:
        items.append(_("the country that they name"))
    if asks_anything(design.quiz):
        items.append(_("answers to the quiz"))
    if design.crowd.reward_cents:
        items.append(_("what was paid"))
    if design.crowd.demographics:
        named = ", ".join(str(DEMOGRAPHICS.get(entry, entry)) for entry in design.crowd.demographics)
        items.append(_("from the crowd: %(named)s") % {"named": named})
    yield ChecklistLine(
        _("What is collected"), "\n".join(f"- {entry}" for entry in items), "GDPR 13, 30(1)(c), P"
    )
    yield ChecklistLine(
        _("What is not collected"),
        _(
            "No network address and no browser name is stored with answers, and no third party tracks "
            "participants. While a page of work is in progress, a keyed hash of the network address is "
            "stored apart from the answers."
        ),
        "GDPR 5(1)(c)",
    )
    yield ChecklistLine(
        _("Where it is stored"), design.ethics.storage, "GDPR 13(1)(f), 30(1)(e), P", "ethics.storage"
    )
    counted = dict(study.roles.order_by().values_list("role").annotate(n=Count("pk")))
    people = ", ".join(f"{counted[role]} {_(role)}" for role in StudyRole.Role.values if role in counted)
    yield ChecklistLine(
        _("Who has access"),
        _(
            "Accounts with a role in the study (%(people)s), who see pseudonyms or chosen names, and "
            "administrators of the installation. Only accounts that may change the study see what a crowd "
            "says about participants. Every change is logged."
        )
        % {"people": people or _("none yet")},
        "GDPR 30(1)(d), P",
    )
    yield ChecklistLine(
        _("Other recipients"), design.ethics.recipients, "GDPR 13(1)(e), P", "ethics.recipients"
    )


def _keeping_lines(facts: _Facts) -> Iterator[ChecklistLine]:
    days = facts.design.retention.identities_days
    answer = (
        _(
            "%(n)s days after the study closes, names, ids and demographics are removed; answers stay without a name."
        )
        % {"n": days}
        if days
        else ""
    )
    yield ChecklistLine(
        _("How long participants are identifiable"),
        answer,
        "GDPR 5(1)(e), 13(2)(a), P",
        "retention.identities_days",
    )
    way = (
        _("Their identity and all their answers.")
        if facts.design.erasure.way == "all"
        else _(
            "Their identity and what they wrote; other answers are kept without a name (GDPR 17(3)(d), recital 26)."
        )
    )
    yield ChecklistLine(
        _("What is erased on request"),
        way
        + " "
        + _(
            "Amounts paid are kept without a name, as the law requires. Published releases cannot be changed."
        ),
        "GDPR 17, CR (b)(8)",
    )
    yield ChecklistLine(
        _("What is published"),
        _(
            "Releases contain answers under new pseudonyms, made with a secret that is then deleted, and "
            "times to the minute; comments only if an owner adds them, without names and addresses."
        ),
        "ARR D3, CR (b)(9), P",
    )


def _risk_lines(facts: _Facts) -> Iterator[ChecklistLine]:
    ethics = facts.design.ethics
    yield ChecklistLine(
        _("Risks, and what is done about them"), ethics.risks, "CR (b)(2), ARR A2", "ethics.risks"
    )
    yield ChecklistLine(_("Benefits"), ethics.benefits, "CR (b)(3)", "ethics.benefits")
