"""The page "Webhooks" of a study: who is told what happens in it, and what they were told."""

from __future__ import annotations

from uuid import UUID

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.models import Webhook, WebhookDelivery
from annotation.models.webhooks import EVENTS
from annotation.webhooks.webhooks import (
    add_webhook,
    ping_webhook,
    remove_webhook,
    retry_delivery,
    rotate_secret,
    switch_webhook,
)
from common.errors import NotThere
from judgments.access.roles import Right
from judgments.admin.base import signed_in
from judgments.models import Study
from judgments.studies.study_page import (
    Context,
    Group,
    StudyPage,
    StudyStep,
    add_page,
    add_step,
    study_context,
)

ON_A_PAGE = 50
TEMPLATE = "admin/annotation/study_webhooks.html"


def show_webhooks(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """The webhooks, a form for another one, and the log."""
    return TemplateResponse(request, TEMPLATE, context | _facts(request, study))


def _facts(request: HttpRequest, study: Study) -> Context:
    log = WebhookDelivery.objects.filter(webhook__study=study).select_related("webhook")
    return {
        "webhooks": list(Webhook.objects.filter(study=study).select_related("made_by")),
        "events": EVENTS,
        "page": Paginator(log, ON_A_PAGE).get_page(request.GET.get("page")),
    }


def _tell(request: HttpRequest, study: Study, webhook: Webhook, secret: str) -> HttpResponse:
    """The page with the secret, this once: it is in no message and no session that somebody else could look into."""
    context = study_context(admin.site, request, study, active="webhooks")
    told = {"secret": secret, "told": webhook}
    answer = TemplateResponse(request, TEMPLATE, context | _facts(request, study) | told)
    answer["Cache-Control"] = "no-store"
    return answer


def _webhook(request: HttpRequest, study: Study) -> Webhook:
    key = request.POST.get("webhook", "")
    known = key.isascii() and key.isdecimal() and len(key) < 19
    found = Webhook.objects.filter(study=study, pk=int(key)).first() if known else None
    if found is None:
        raise NotThere("Nothing was changed: there is no such webhook any more.")
    return found


def _add(request: HttpRequest, study: Study) -> HttpResponse:
    webhook, secret = add_webhook(
        study=study,
        url=request.POST.get("url", ""),
        events=request.POST.getlist("events"),
        by=signed_in(request),
    )
    return _tell(request, study, webhook, secret)


def _rotate(request: HttpRequest, study: Study) -> HttpResponse:
    webhook = _webhook(request, study)
    return _tell(request, study, webhook, rotate_secret(webhook=webhook, by=signed_in(request)))


def _ping(request: HttpRequest, study: Study) -> None:
    ping_webhook(webhook=_webhook(request, study), by=signed_in(request))
    messages.success(
        request, "A test message goes out within seconds; load this page again to see its answer."
    )


def _remove(request: HttpRequest, study: Study) -> None:
    remove_webhook(webhook=_webhook(request, study), by=signed_in(request))
    messages.success(request, "The webhook was removed.")


def _switch(request: HttpRequest, study: Study) -> None:
    active = request.POST.get("active") == "on"
    switch_webhook(webhook=_webhook(request, study), active=active, by=signed_in(request))
    messages.success(request, f"The webhook is {'on' if active else 'off'}.")


def _retry(request: HttpRequest, study: Study) -> None:
    try:
        key = UUID(request.POST.get("delivery", ""))
    except ValueError:
        raise NotThere("Nothing was changed: there is no such message.") from None
    found = WebhookDelivery.objects.filter(webhook__study=study, pk=key).first()
    if found is None:
        raise NotThere("Nothing was changed: there is no such message any more.")
    retry_delivery(delivery=found)
    messages.success(request, "The message goes out again within seconds.")


add_page(
    StudyPage(
        name="webhooks",
        label="Webhooks",
        order=84,
        view=show_webhooks,
        permission=Right.CHANGE,
        group=Group.MANAGE,
    )
)
add_step(StudyStep(name="add-webhook", label="Add a webhook", run=_add))
add_step(StudyStep(name="ping-webhook", label="Try a webhook", run=_ping))
add_step(StudyStep(name="rotate-webhook", label="Change a webhook's secret", run=_rotate))
add_step(StudyStep(name="switch-webhook", label="Switch a webhook", run=_switch))
add_step(StudyStep(name="remove-webhook", label="Remove a webhook", run=_remove))
add_step(StudyStep(name="retry-delivery", label="Send a message again", run=_retry))
