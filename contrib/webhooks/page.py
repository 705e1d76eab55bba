"""The page "Webhooks" of a study.

It is for people who may change the study, since addresses can contain keys of other services.
"""

from __future__ import annotations

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from contrib.webhooks import operations
from contrib.webhooks.delivery import secret_of
from contrib.webhooks.models import EVENTS, Webhook, WebhookDelivery
from judgments.access.rights import Right
from judgments.models import Study
from judgments.operations import Outcome
from judgments.studies.frame_page import study_context
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

PAGE_SIZE = 50
TEMPLATE = "admin/annotation/study_webhooks.html"


@study_page("webhooks", "Webhooks", order=84, permission=Right.CHANGE, section=StudySection.SHARE)
def show_webhooks(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    return TemplateResponse(request, TEMPLATE, context | _log_context(request, study))


def _log_context(request: HttpRequest, study: Study) -> Context:
    """Return the webhooks of a study, the events that can be sent to them, and a page of the log of messages."""
    log = WebhookDelivery.objects.filter(webhook__study=study).select_related("webhook")
    return {
        "webhooks": list(Webhook.objects.filter(study=study).select_related("made_by")),
        "events": {event: _(description) for event, description in EVENTS.items()},
        "page": Paginator(log, PAGE_SIZE).get_page(request.GET.get("page")),
    }


def show_secret(request: HttpRequest, study: Study, outcome: Outcome) -> HttpResponse:
    """Show the webhook's secret once, on this page only. A message after a redirect would be stored in the session."""
    context = study_context(admin.site, request, study, active="webhooks")
    context |= {"secret": secret_of(outcome.value), "secret_webhook": outcome.value}
    response = TemplateResponse(request, TEMPLATE, context | _log_context(request, study))
    response["Cache-Control"] = "no-store"
    return response


# the template has the forms, so the steps need no fields
add_operation(operations.add_webhook, label="Add a webhook", fields=(), show_result=show_secret)
add_operation(operations.ping_webhook, label="Test a webhook", fields=())
add_operation(operations.rotate_secret, label="Change a webhook's secret", fields=(), show_result=show_secret)
add_operation(operations.switch_webhook, label="Turn a webhook on or off", fields=())
add_operation(operations.remove_webhook, label="Remove a webhook", fields=())
add_operation(operations.retry_delivery, label="Send a message again", fields=())
