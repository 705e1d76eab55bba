"""The page "Launch" of a study: the checklist before it is opened, also over HTTP; then its link and the next steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import segno
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.crowds import Ability, AbsentBackend, backend_of
from annotation.crowds.panel.backend import describe_unsigned
from annotation.crowds.panel.page import has_panel
from annotation.crowds.publishing import obstacles, open_to_workers
from annotation.crowds.views import FIGURES as CROWD_FIGURES
from annotation.launch.check_questions import chance_of_exclusion, describe_rule, items_among
from annotation.models import Budget, at_crowd
from annotation.money.payments import Forecast, forecast_of_design, top_up
from common.amounts import thousands
from common.errors import NotThere
from judgments.access.permissions import staff_of, study_for
from judgments.access.roles import Right, rights_of
from judgments.admin.base import public_address, signed_in
from judgments.cached_figures import cached_figures
from judgments.design.crowds import CROWDS
from judgments.design.editing.form import html_name, in_labels
from judgments.design.quiz import asks_anything
from judgments.design.study_design import StudyDesign
from judgments.design.tables import CAREFUL, usual_least
from judgments.models import Item, Job, Study
from judgments.studies.page import plan_of
from judgments.studies.studies import can_be_discarded, design_of
from judgments.studies.study_page import (
    Context,
    Group,
    add_operation,
    page_address,
    page_of_running,
    study_page,
    was_opened,
)
from judgments.templatetags.judgments_tags import cents


class Readiness(StrEnum):
    """The readiness of a point of the checklist; the values are the words shown."""

    READY = gettext_noop("ready")
    MISSING = gettext_noop("missing")  # the study opens without it
    DOUBTFUL = gettext_noop("doubtful")  # it opens if somebody insists
    BLOCKS = gettext_noop("blocks")
    UNKNOWN = gettext_noop("not known yet")


@dataclass(frozen=True, slots=True)
class Point:
    title: str
    readiness: Readiness
    sentence: str
    link: str = ""
    link_words: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """A study before its opening.

    Attributes:
        user: who looks at it.
        forecast: None while the plan is being counted, or if there is a problem.
        plan: the plan of a draft's design, for a template.
        can_go_back: whether the pages of work can be discarded, so that the design can be changed.
    """

    study: Study
    user: User
    design: StudyDesign
    forecast: Forecast | None
    plan: dict[str, Any]
    can_go_back: bool

    @property
    def problem(self) -> str:
        """Return why no HITs can be drawn from the design of a draft; or ""."""
        return str(self.plan.get("problem", ""))

    @property
    def most_checks_met(self) -> int | None:
        """The different check questions that one participant meets at most; None if that is not known."""
        plan, notes = self.plan.get("plan"), self.study.notes.get("control_pool")
        if not plan and not notes:
            return None
        lasts = plan.pool.lasts if plan else notes["lasts"]  # all pages, where no item comes again
        pages = min(lasts, self.design.workers.hits_at_most or lasts)
        return pages * items_among(self.design, self.design.controls.per_hit)

    @property
    def why_unknown(self) -> str:
        if self.problem:
            return _("Known once pages of work can be drawn from the design.")
        return _("The plan is being counted.")

    def point(
        self,
        title: str,
        readiness: Readiness,
        sentence: str,
        *,
        key: str = "",
        page: str = "",
        link_words: str = "",
    ) -> Point:
        """Return a point that is mended at a key of the design, or on a page.

        Only a draft's design can be changed. A study whose pages of work nobody took becomes one again; of others a
        duplicate is changed.
        """
        if page:
            return Point(title, readiness, sentence, page_address(self.study, page), link_words)
        if not key or readiness is Readiness.READY:
            return Point(title, readiness, sentence)
        if self.study.state == Study.State.DRAFT:
            address = f"{page_address(self.study, 'change')}#id_{html_name(key)}"
            return Point(title, readiness, sentence, address, link_words or _("Add it"))
        if self.can_go_back:
            return Point(
                title, readiness, sentence, page_address(self.study, "discard"), _("Change the design")
            )
        address = page_address(self.study, "reuse")
        return Point(title, readiness, sentence, address, _("Change it in a duplicate"))


def launch_of(study: Study, user: User) -> Launch:
    design = design_of(study)
    forecast, shown = None, {}
    if study.state == Study.State.DRAFT:
        shown = plan_of(study)
        if plan := shown.get("plan"):
            forecast = forecast_of_design(design, hits=plan.hits, items=plan.units + plan.controls)
    else:
        figures = cached_figures(study, CROWD_FIGURES).value
        forecast = figures.forecast if figures is not None else None
    return Launch(
        study=study,
        user=user,
        design=design,
        forecast=forecast,
        plan=shown,
        can_go_back=can_be_discarded(study),
    )


TOLERABLE = 0.05  # chance that a careful person's answers are set aside

Check = Callable[[Launch], Iterable[Point]]
CHECKS: list[tuple[int, Check]] = []
LAUNCH_JOBS: list[Callable[[Study], Iterable[Job]]] = []


# Checks of the consent text by features: if one has a point, that stands in place of the platform's.
CONSENT_CHECKS: list[Check] = []


def add_check(order: int, check: Check) -> None:
    CHECKS.append((order, check))


def add_launch_jobs(jobs_of: Callable[[Study], Iterable[Job]]) -> None:
    """Show jobs of other studies, such as copies, on the checklist of a study that was not opened yet."""
    LAUNCH_JOBS.append(jobs_of)


def add_consent_check(check: Check) -> None:
    CONSENT_CHECKS.append(check)


def checklist(launch: Launch) -> list[Point]:
    """Return the points, first those that block the opening, or do unless somebody insists."""
    points = [
        point for _order, check in sorted(CHECKS, key=lambda entry: entry[0]) for point in check(launch)
    ]
    order = [Readiness.DOUBTFUL, Readiness.BLOCKS]
    return sorted(points, key=lambda point: point.readiness in order and -1 - order.index(point.readiness))


# what an obstacle is about -> the title of its point, and the key of the design where it is mended
MENDED_AT = {
    "requirements": (
        gettext_noop("Participants"),
        "workers.requirements",
        gettext_noop("Change what is asked"),
    ),
    "quiz": (
        gettext_noop("Quiz or check questions"),
        "controls.per_hit",
        gettext_noop("Change the settings"),
    ),
    "budget": (gettext_noop("Cost"), "crowd.budget_cents", gettext_noop("Change the budget")),
    "crowd": (gettext_noop("Crowd"), "crowd.backend", gettext_noop("Change the settings")),
}


def _obstacles(launch: Launch) -> Iterable[Point]:
    study, blocks = launch.study, Readiness.BLOCKS
    if launch.problem:
        where = str(launch.plan["problem_link"])
        yield Point(_("Pages of work"), blocks, launch.problem, where, _("Change the settings"))
    if study.state == Study.State.OPEN:
        return
    for obstacle in obstacles(study, cents=launch.forecast.cents if launch.forecast else 0):
        problem = in_labels(obstacle.sentence, launch.design)
        if obstacle.about == "state" and study.state == Study.State.DRAFT:
            if not launch.problem:
                sentence = _("%(words)s That freezes the design.") % {"words": problem}
                yield launch.point(_("Pages of work"), blocks, sentence)
        else:
            title, key, link_words = MENDED_AT.get(obstacle.about, MENDED_AT["crowd"])
            yield launch.point(_(title), blocks, problem, key=key, link_words=_(link_words))


NO_CONSENT = gettext_noop("There is no consent text: participants begin without agreeing to anything.")


def _consent(launch: Launch) -> Iterable[Point]:
    said = [point for check in CONSENT_CHECKS for point in check(launch)]
    if said:
        yield from said
    elif launch.design.consent.strip():
        yield launch.point(
            _("Consent"), Readiness.READY, _("Participants agree to your text before they begin.")
        )
    else:
        yield launch.point(
            _("Consent"),
            Readiness.MISSING,
            _(NO_CONSENT),
            key="consent",
            page="" if launch.study.state == Study.State.DRAFT else "privacy",
            link_words=_("Add it"),
        )


def _contact(launch: Launch) -> Iterable[Point]:
    design = launch.design
    yield (
        launch.point(
            _("Contact"),
            Readiness.READY,
            _("Participants can ask: %(contact)s") % {"contact": design.contact.strip()},
        )
        if design.contact.strip()
        else launch.point(
            _("Contact"),
            Readiness.MISSING,
            _("Participants find nobody to ask if something goes wrong."),
            key="contact",
        )
    )


def _links(launch: Launch) -> Iterable[Point]:
    panel = launch.design.panel
    if launch.design.crowd.backend == "external" and not panel.knows_its_people:
        key = "panel.api" if panel.preset in CROWDS else ""
        if panel.preset == "plain":
            key = "panel.signature"
        yield launch.point(_("Links of the panel"), Readiness.MISSING, describe_unsigned(), key=key)


def _attention(launch: Launch) -> Iterable[Point]:
    controls, quiz = launch.design.controls.per_hit, asks_anything(launch.design.quiz)
    title = _("Quiz or check questions")
    if not quiz and not controls:
        yield launch.point(
            title,
            Readiness.MISSING,
            _("Nothing tells careful participants from careless ones."),
            key="controls.per_hit",
            link_words=_("Add check questions"),
        )
        return
    sentence = _("A quiz comes before the work.")
    if controls:
        sentence = (
            _("A quiz comes before the work, and check questions are in it (%(n)s on each page).")
            if quiz
            else _("Check questions are in the work (%(n)s on each page).")
        ) % {"n": controls}
    rule, rates = launch.design.controls, describe_rule(launch.design)
    if not rates:
        yield launch.point(title, Readiness.READY, sentence)
        return
    seen, careful = chance_of_exclusion(launch.design, CAREFUL)
    usual, met = usual_least(rule.threshold), launch.most_checks_met
    parts, key = [sentence, rates], ""
    if careful > TOLERABLE:
        key = "controls.least"
        if rule.sets_aside(seen, seen - 1):
            parts.append(_("One wrong answer is enough."))
        if usual > rule.least:
            remedy = _("Wait for %(n)s check questions: then it is at most 1 of 100 careful people.")
            parts.append(remedy % {"n": usual})
    elif met is not None and met < max(rule.least, usual):
        key = "controls.per_hit"
        remedy = _(
            "A participant meets %(n)s different ones at most, too few to tell care from guessing. Ask for more on "
            "each page, or add pictures, or items that you know the answer of."
        )
        parts.append(remedy % {"n": met})
    readiness, link_words = Readiness.MISSING if key else Readiness.READY, _("Change the check questions")
    yield launch.point(title, readiness, " ".join(parts), key=key, link_words=link_words)


def _pictures(launch: Launch) -> Iterable[Point]:
    if not launch.design.about_pictures:
        return
    elsewhere = Item.objects.filter(dataset=launch.study.dataset_id, picture="").exclude(url="").count()
    if elsewhere:
        sentence = ngettext(
            "One picture lies on another server: its size is not known, so that the page may jump while it loads.",
            "%(n)s pictures lie on other servers: their size is not known, so that the page may jump while they load.",
            elsewhere,
        )
        yield Point(_("Pictures"), Readiness.MISSING, sentence % {"n": thousands(elsewhere)})


def _pay(launch: Launch) -> Iterable[Point]:
    crowd, forecast, currency = launch.design.crowd, launch.forecast, launch.design.currency
    title = _("Pay")
    if not crowd.reward_cents:
        yield launch.point(title, Readiness.READY, _("Participants are not paid by this study."))
        return
    if forecast is None or forecast.wage_cents is None:
        yield launch.point(title, Readiness.UNKNOWN, launch.why_unknown)
        return
    floor = crowd.floor_cents_per_hour
    missing = top_up(crowd.reward_cents, forecast.seconds, floor)
    figures = {
        "wage": cents(forecast.wage_cents, currency),
        "seconds": f"{launch.design.seconds_per_unit:g}",
        "floor": cents(floor, currency),
        "fair": cents(crowd.reward_cents + missing, currency),
    }
    if missing:
        sentence = _(
            "An hour should pay %(wage)s, at %(seconds)s s an item: below the wage floor of %(floor)s. A page would "
            "have to pay %(fair)s."
        )
        yield launch.point(
            title,
            Readiness.MISSING,
            sentence % figures,
            key="crowd.reward_cents",
            link_words=_("Change the pay"),
        )
    elif floor:
        sentence = _("An hour should pay %(wage)s, at %(seconds)s s an item; the wage floor is %(floor)s.")
        yield launch.point(title, Readiness.READY, sentence % figures)
    else:
        sentence = _(
            "An hour should pay %(wage)s, at %(seconds)s s an item. No wage floor is set, so that slow "
            "participants may earn much less."
        )
        yield launch.point(
            title,
            Readiness.MISSING,
            sentence % figures,
            key="crowd.floor_cents_per_hour",
            link_words=_("Set a floor"),
        )


def _cost(launch: Launch) -> Iterable[Point]:
    forecast, currency = launch.forecast, launch.design.currency
    title = _("Cost")
    if forecast is None:
        yield launch.point(title, Readiness.UNKNOWN, launch.why_unknown)
        return
    if not forecast.cents:
        yield launch.point(title, Readiness.READY, _("Nothing: no reward is paid."))
        return
    sentence = (
        _("%(cost)s for %(n)s pieces of work, %(fees)s of it fees.")
        if forecast.fee_cents
        else _("%(cost)s for %(n)s pieces of work.")
    ) % {
        "cost": cents(forecast.cents, currency),
        "n": thousands(forecast.places),
        "fees": cents(forecast.fee_cents, currency),
    }
    backend, opened = backend_of(launch.study), was_opened(launch.study)
    stored = at_crowd(Budget, launch.study).first() if launch.study.platform else None
    budget = stored.budget_cents if stored else launch.design.crowd.budget_cents
    whole = cents(budget, currency)
    publishes = Ability.PUBLISH in backend.can
    if not backend.sends_people and not budget:
        note = _("You pay it yourself: no crowd does.")
        yield launch.point(title, Readiness.READY, f"{sentence} {note}")
    elif forecast.cents <= budget:
        left = _("Of the budget of %(budget)s, %(left)s stay for bonuses.") % {
            "budget": whole,
            "left": cents(budget - forecast.cents, currency),
        }
        yield launch.point(title, Readiness.READY, f"{sentence} {left}")
    elif launch.study.state == Study.State.DRAFT or opened or not publishes:
        short = _("The budget of %(budget)s does not reach.") % {"budget": whole}
        yield launch.point(
            title,
            Readiness.BLOCKS if publishes and not opened else Readiness.MISSING,
            f"{sentence} {short}",
            key="crowd.budget_cents",
            page="crowd" if opened and backend.sends_people else "",
            link_words=_("Change the budget"),
        )

    # else the obstacle says it


add_check(0, _obstacles)

add_check(10, _consent)

add_check(15, _contact)

add_check(20, _attention)

add_check(25, _pictures)

add_check(30, _links)

add_check(50, _pay)

add_check(60, _cost)


@study_page(
    "launch",
    "Checklist",
    order=20,
    shown=lambda study: study.source == Study.Source.DESIGNED,
    group=Group.LAUNCH,
)
def show_launch(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    backend = backend_of(study)
    if isinstance(backend, AbsentBackend):
        raise backend.error()
    launch = launch_of(study, signed_in(request))
    design, points = launch.design, checklist(launch)
    link = "" if backend.sends_people else public_address(request, study)
    if not was_opened(study):
        context["jobs"] += [job for jobs_of in LAUNCH_JOBS for job in jobs_of(study)]
    context |= launch.plan | {
        "design": design,
        "points": points,
        "can_go_back": launch.can_go_back,
        "blocked": any(point.readiness is Readiness.BLOCKS for point in points),
        "doubtful": any(point.readiness is Readiness.DOUBTFUL for point in points),
        "missing": sum(point.readiness is Readiness.MISSING for point in points),
        "link": link,
        "qr_code": qr_code(link) if link else "",
        "where": backend.describe_entrance(study),
        "sent_by": _(backend.title) if backend.sends_people else "",
        "has_panel": has_panel(study),
        "invited": design.access.join == "invited" and not backend.sends_people,
        "runs_on_dashboard": page_of_running() == "board",
    }
    return TemplateResponse(request, "admin/annotation/study_launch.html", context)


def qr_code(address: str) -> SafeString:
    """Draw an address as SVG, dark on light in every colour scheme, so that all cameras read it."""
    drawn = segno.make_qr(address, error="m").svg_inline(
        scale=4, border=3, dark="#000", light="#fff", title=_("QR code of the link"), omitsize=True
    )
    return mark_safe(drawn)  # noqa: S308 - the address is drawn as squares, not written


def _may_reopen(study: Study) -> bool:
    """Return whether a study is closed; before the first opening, the page itself has the button."""
    return study.state == Study.State.CLOSED and not study.simulated and study.source == Study.Source.DESIGNED


add_operation(
    open_to_workers,
    label="Open to participants",
    offered=_may_reopen,
    fields=(),
    leads_to=lambda study: "launch",
)


class PointSerializer(serializers.Serializer[Any]):
    """Something that a study has or lacks."""

    title = serializers.CharField()
    readiness = serializers.ChoiceField(
        [readiness.value for readiness in Readiness],
        help_text="“blocks”: the study cannot be opened; “doubtful”: only with “anyway”; “missing”: it opens without.",
    )
    words = serializers.CharField()
    link = serializers.CharField(
        allow_blank=True, help_text="The page where it is mended; empty for accounts that cannot change it."
    )


class ChecklistSerializer(serializers.Serializer[Any]):
    """The checklist of a study before it is opened."""

    study = serializers.CharField()
    state = serializers.ChoiceField(Study.State.choices)
    blocked = serializers.BooleanField(help_text="Whether it cannot be opened yet.")
    missing = serializers.IntegerField(help_text="Points that are missing.")
    points = PointSerializer(many=True, help_text="First those that block.")


class ChecklistView(APIView):
    """GET /api/studies/{slug}/checklist/"""

    @extend_schema(
        responses={
            200: ChecklistSerializer,
            404: OpenApiResponse(
                description="The study's judgments were published elsewhere: nothing is opened."
            ),
        },
        operation_id="studies_checklist",
        summary="What a study has and lacks before it is opened",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the points in the words of the page "Launch". A point "not known yet" is being counted: ask again."""
        study = study_for(request, slug)
        if study.source != Study.Source.DESIGNED:
            raise NotThere(f"Study {slug!r} holds published judgments; it is never opened to participants.")
        user = staff_of(request)
        may_change = Right.CHANGE in rights_of(user, study)

        def shown(point: Point) -> dict[str, Any]:
            link = request.build_absolute_uri(point.link) if point.link and may_change else ""
            return {"title": point.title, "readiness": point.readiness, "words": point.sentence, "link": link}

        points = checklist(launch_of(study, user))
        body = {
            "study": study.slug,
            "state": study.state,
            "blocked": any(point.readiness is Readiness.BLOCKS for point in points),
            "missing": sum(point.readiness is Readiness.MISSING for point in points),
            "points": [shown(point) for point in points],
        }
        return Response(ChecklistSerializer(body).data)
