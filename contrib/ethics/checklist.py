"""The checklist for an ethics board: questions that boards ask, with answers from a study's design.

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
from annotation.launch.pass_mark import describe_pass_mark, items_in_groups
from annotation.privacy.consent import versions_in_use
from annotation.work.sheet.effort import describe_effort
from annotation.work.sheet.texts import spell_duration
from common.amounts import spell_cents, thousands
from judgments.design.countries import country_name
from judgments.design.quiz import asks_anything
from judgments.design.study_design import StudyDesign
from judgments.design.tables.crowd import DEMOGRAPHICS
from judgments.models import HIT, Study, StudyRole
from judgments.studies.designs import design_of, kind_of

SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class ChecklistLine:
    """A question of an ethics board.

    Attributes:
        answer: Markdown; "" if the researcher has to write it.
        sources: who asks the question, such as ``ARR D2``.
        key: the key of the design that gives the answer, such as ``ethics.risks``; "" if there is none.
    """

    question: str
    answer: str
    sources: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class ChecklistSection:
    """The questions about one topic."""

    title: str
    lines: tuple[ChecklistLine, ...]


@dataclass(frozen=True, slots=True)
class _StudyFacts:
    """A study with its design, and the number of assignments that it offers (0 before its HITs are generated)."""

    study: Study
    design: StudyDesign
    place_count: int


def build_checklist(study: Study) -> list[ChecklistSection]:
    """Return the questions of an ethics board, with the answers that the design gives."""
    place_count = HIT.objects.filter(study=study).aggregate(n=Sum("required"))["n"] or 0
    facts = _StudyFacts(study, design_of(study), place_count)
    sections = (
        (_("The study and who is responsible"), _responsibility_lines),
        (_("Participants and their number"), _people_lines),
        (_("What participants see and do"), _task_lines),
        (_("Pay"), _pay_lines),
        (_("Consent"), _consent_lines),
        (_("Data about participants"), _data_lines),
        (_("Storage, erasure and publication of data"), _retention_lines),
        (_("Risks and benefits"), _risk_lines),
    )
    return [ChecklistSection(title, tuple(make_lines(facts))) for title, make_lines in sections]


def count_open_lines(sections: list[ChecklistSection]) -> int:
    """Return the number of lines that the researcher has to fill in."""
    return sum(1 for section in sections for line in section.lines if not line.answer)


def _responsibility_lines(facts: _StudyFacts) -> Iterator[ChecklistLine]:
    study, design = facts.study, facts.design
    owners = study.roles.filter(role=StudyRole.Role.OWNER).select_related("user")
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


def _people_lines(facts: _StudyFacts) -> Iterator[ChecklistLine]:
    design = facts.design
    backend = backend_for(design)
    if backend.sends_people:
        recruitment = panel_title(design) if design.crowd.backend == "external" else _(backend.title)
    else:
        sentence_by_access = {
            "open": _("Anyone with the link to the study on this installation."),
            "code": _("Anyone who has the link and the code of the study."),
            "invited": _("Only people who receive a personal invitation."),
        }
        recruitment = sentence_by_access[design.access.join]
    yield ChecklistLine(_("How participants are recruited"), recruitment, "ARR D2")
    if facts.place_count:
        places = ngettext("%(n)s page of work", "%(n)s pages of work", facts.place_count)
        participants = ngettext(
            "at least %(n)s participant, because nobody judges the same item twice",
            "at least %(n)s participants, because nobody judges the same item twice",
            design.judgments_per_unit,
        )
        answer = _("The study offers %(places)s and needs %(least)s.") % {
            "places": places % {"n": thousands(facts.place_count)},
            "least": participants % {"n": design.judgments_per_unit},
        }
    else:
        answer = _("The number is known when pages of work have been generated.")
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
    if workers.approved_at_least:
        sentences.append(
            ngettext(
                "Participants have at least %(n)s approved page of work.",
                "Participants have at least %(n)s approved pages of work.",
                workers.approved_at_least,
            )
            % {"n": workers.approved_at_least}
        )
    if workers.approval_above:
        sentences.append(
            _("More than %(share)s %% of the participants’ earlier work was approved.")
            % {"share": f"{workers.approval_above * 100:g}"}
        )
    if workers.requires or workers.forbids:
        sentences.append(_("Qualifications from earlier studies admit or exclude some people."))
    if workers.quotas:
        sentences.append(_("Quotas fix the proportions of groups by sex, age or country."))
    if asks_anything(design.quiz):
        sentences.append(_("Participants must pass a short test before they start."))
    return " ".join(sentences) or _("There are no requirements.")


def _task_lines(facts: _StudyFacts) -> Iterator[ChecklistLine]:
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
        + _("Participants can stop after any page. They can continue later while the study is open."),
        "CR (b)(1)",
    )
    check_count = items_in_groups(design, design.controls.per_hit)  # a group may have several captions
    if check_count:
        check_answer = ngettext(
            "Each page of work contains %(n)s check question: an item with a known right answer. "
            "Participants are not told which item it is. Say in the consent text that there are "
            "check questions.",
            "Each page of work contains %(n)s check questions: items with known right answers. "
            "Participants are not told which items these are. Say in the consent text that there "
            "are check questions.",
            check_count,
        ) % {"n": check_count}
    else:
        check_answer = _("No. There are no check questions.")
    check_answer = f"{check_answer} {describe_pass_mark(design)}".rstrip()
    yield ChecklistLine(_("Is anything not told to participants?"), check_answer, "45 CFR 46.116(f)")
    if design.rules:
        exclusion_answer = _(
            "Detectors look for answers that are too fast or careless: %(rules)s. A person "
            "decides about each flag, except for detectors that exclude automatically. Exclusions "
            "can be lifted. Participants can appeal against rejected work."
        ) % {"rules": ", ".join(f"{rule.rule} ({rule.action})" for rule in design.rules)}
    else:
        exclusion_answer = _(
            "No detector checks how participants answer. Researchers can exclude a participant; "
            "they must give a reason, which is logged."
        )
    yield ChecklistLine(_("When are participants excluded?"), exclusion_answer, "CR (c)(2)")


def _pay_lines(facts: _StudyFacts) -> Iterator[ChecklistLine]:
    design = facts.design
    reward, currency = design.crowd.reward_cents, design.currency
    if not reward:
        yield ChecklistLine(
            _("What participants are paid"),
            _("There is no pay. Participants are volunteers."),
            "ARR D2, CR (c)(3)",
        )
        return
    seconds = float(describe_effort(facts.study)["seconds"])
    reward_answer = _("%(reward)s for each page of work (%(duration)s)") % {
        "reward": spell_cents(reward, currency),
        "duration": spell_duration(seconds),
    }
    if seconds:
        wage = round(reward * SECONDS_PER_HOUR / seconds)
        reward_answer += _("; at the expected speed, this is %(wage)s per hour") % {
            "wage": spell_cents(wage, currency)
        }
    yield ChecklistLine(_("What participants are paid"), f"{reward_answer}.", "ARR D2, CR (c)(3)")
    floor = design.crowd.floor_cents_per_hour
    if floor:
        floor_answer = _(
            "At least %(floor)s per hour of active time. Participants who work more slowly are paid "
            "the difference."
        ) % {"floor": spell_cents(floor, currency)}
    else:
        floor_answer = _("No. There is no wage floor, so slower participants earn less per hour.")
    yield ChecklistLine(_("Is a wage guaranteed?"), floor_answer, "ARR D2", "crowd.floor_cents_per_hour")
    yield ChecklistLine(_("Is the pay adequate where participants live?"), "", "ARR D2")
    yield ChecklistLine(
        _("What happens if work is rejected?"),
        _(
            "Participants see the reason and can appeal. A researcher answers the appeal. "
            "Participants who leave early keep the pay for work that they submitted."
        ),
        "ARR D2",
    )


def _consent_lines(facts: _StudyFacts) -> Iterator[ChecklistLine]:
    design = facts.design
    yield ChecklistLine(_("Consent text"), design.consent, "ARR D3, CR (b)", "consent")
    if design.consent:
        languages = ", ".join(code for code, texts in design.translations.items() if texts.consent)
        versions = versions_in_use(facts.study)
        answer = _(
            "Participants tick a box before they join. The version of the consent text and the time of consent "
            "are stored with each participation and each page of work. If the consent text changes, "
            "participants are asked again before the next page."
        )
        if versions:
            version_list = ", ".join(
                f"{row.number} ({date_format(localtime(row.since))}, {row.version})"  # `version` is the text's hash
                for row in (version_in_use.version for version_in_use in versions)
            )
            answer += " " + _("Versions so far: %(listed)s.") % {"listed": version_list}
        if languages:
            answer += " " + _("The text is also available in: %(languages)s.") % {"languages": languages}
        yield ChecklistLine(_("How consent is recorded"), answer, "GDPR 7(1), P")
    yield ChecklistLine(
        _("How participants withdraw"),
        _withdrawal_answer(design),
        "CR (b)(8), GDPR 7(3), P",
        "erasure.offered",
    )


def _withdrawal_answer(design: StudyDesign) -> str:
    stops = _("Participants can stop at any time without giving a reason.")
    match design.erasure.offered:
        case "at-once":
            return f"{stops} " + _(
                "Participants can leave the study on their personal page. Their data are then erased at once."
            )
        case "on-request":
            return f"{stops} " + _(
                "Participants can request the erasure of their data on their personal page. A researcher "
                "answers the request."
            )
    return f"{stops} " + _("To have their data erased, they write to the contact above.")


def _collected_data(design: StudyDesign) -> list[str]:
    """Return a phrase for each type of data that the study collects about a participant."""
    comes_from_crowd = backend_for(design).sends_people
    if comes_from_crowd:
        identity = _(
            "a pseudonym that is computed from the participant’s id at the crowd; the id is stored "
            "separately from all answers"
        )
    else:
        identity = _("a name that the participant chooses")
    collected_data = [
        identity,
        _("answers, and the order and side in which options were shown"),
        _(
            "times: when the participant joined, when each page was taken and submitted, and active "
            "seconds on each item"
        ),
        _("comments and reports of problems, if there are any"),
        _("whether a text was pasted, and how often it was edited"),
    ]
    if design.consent:
        collected_data.append(_("the version of the consent text, and the time of consent"))
    if design.workers.countries and not comes_from_crowd:
        collected_data.append(_("the country that the participant names"))
    if asks_anything(design.quiz):
        collected_data.append(_("answers to the quiz"))
    if design.crowd.reward_cents:
        collected_data.append(_("the amount that was paid"))
    if design.crowd.demographics:
        demographics = ", ".join(str(DEMOGRAPHICS.get(entry, entry)) for entry in design.crowd.demographics)
        collected_data.append(_("information that the crowd sends: %(named)s") % {"named": demographics})
    return collected_data


def _data_lines(facts: _StudyFacts) -> Iterator[ChecklistLine]:
    study, design = facts.study, facts.design
    collected_list = "\n".join(f"- {phrase}" for phrase in _collected_data(design))
    yield ChecklistLine(_("Data that are collected"), collected_list, "GDPR 13, 30(1)(c), P")
    yield ChecklistLine(
        _("Data that are not collected"),
        _(
            "Answers are stored without network addresses and browser names. No third party "
            "tracks participants. While a page of work is in progress, a keyed hash of the "
            "network address is stored separately from the answers."
        ),
        "GDPR 5(1)(c)",
    )
    yield ChecklistLine(
        _("Place where the data are stored"),
        design.ethics.storage,
        "GDPR 13(1)(f), 30(1)(e), P",
        "ethics.storage",
    )
    role_counts = dict(study.roles.order_by().values_list("role").annotate(n=Count("pk")))
    people = ", ".join(
        f"{_(role)}: {role_counts[role]}" for role in StudyRole.Role.values if role in role_counts
    )
    yield ChecklistLine(
        _("People who have access to the data"),
        _(
            "Accounts with a role in the study (%(people)s) and administrators of the "
            "installation. They see pseudonyms or names that participants chose. Information from "
            "a crowd about participants is shown only to accounts that can change the study. "
            "Every change is logged."
        )
        % {"people": people or _("no accounts yet")},
        "GDPR 30(1)(d), P",
    )
    yield ChecklistLine(
        _("Other recipients of the data"), design.ethics.recipients, "GDPR 13(1)(e), P", "ethics.recipients"
    )


def _retention_lines(facts: _StudyFacts) -> Iterator[ChecklistLine]:
    days = facts.design.retention.identities_days
    answer = ""
    if days:
        answer = ngettext(
            "Names, ids and demographics are removed %(n)s day after the study closes. The answers are kept "
            "without names.",
            "Names, ids and demographics are removed %(n)s days after the study closes. The answers are kept "
            "without names.",
            days,
        ) % {"n": days}
    yield ChecklistLine(
        _("How long participants can be identified"),
        answer,
        "GDPR 5(1)(e), 13(2)(a), P",
        "retention.identities_days",
    )
    if facts.design.erasure.way == "all":
        erased_data = _("The identity of the participant and all their answers.")
    else:
        erased_data = _(
            "The identity of the participant and all texts that they wrote. Other answers are "
            "kept without a name (GDPR 17(3)(d), recital 26)."
        )
    yield ChecklistLine(
        _("Data that are erased on request"),
        erased_data
        + " "
        + _("Payments are kept without names, as the law requires. Published releases cannot be changed."),
        "GDPR 17, CR (b)(8)",
    )
    yield ChecklistLine(
        _("Data that are published"),
        _(
            "Releases contain answers with times to the minute. Each release uses new pseudonyms. The secret "
            "from which they were computed is deleted. Comments are included only if an owner adds "
            "them, without names and addresses."
        ),
        "ARR D3, CR (b)(9), P",
    )


def _risk_lines(facts: _StudyFacts) -> Iterator[ChecklistLine]:
    ethics = facts.design.ethics
    yield ChecklistLine(
        _("Risks and how they are reduced"), ethics.risks, "CR (b)(2), ARR A2", "ethics.risks"
    )
    yield ChecklistLine(_("Benefits"), ethics.benefits, "CR (b)(3)", "ethics.benefits")
