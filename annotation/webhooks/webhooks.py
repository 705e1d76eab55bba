"""Webhooks of a study: create, test, rotate, remove; their messages, safe posting and delivery.

A delivery is marked before it is sent; if its sender dies, it is sent again under the same id.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import ipaddress
import json
import random
import secrets
import socket
import ssl
import threading
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import SplitResult, urlsplit
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.crowds.people import installation_mark
from annotation.models import Assignment, Exclusion, Webhook, WebhookDelivery, Worker
from annotation.models.assignments import LEASED_STATES
from annotation.models.webhooks import COMPLETED, EVENTS, EXCLUDED, PING, SUBMITTED
from common.errors import DataConflict, DesignError, NotThere, WrongState
from common.parameters import Parameters
from judgments.access.roles import note_event
from judgments.models import Study
from judgments.operations import Outcome, operation, row_of

SECRET_START = "whsec_"  # noqa: S105 (how every secret begins; none itself)
POST_SECONDS = 5.0  # for a whole attempt
NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: reaches any IPv4 address
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # RFC 4291, 2.4
PRIVATE_NAMES = (".localhost", ".localdomain", ".local", ".internal", ".intranet", ".lan", ".home.arpa")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
MOST_WEBHOOKS = 10  # webhooks per study
State = WebhookDelivery.State
ATTEMPTS = 10  # over about a day and a half
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 12 * 3600.0  # seconds
AT_ONCE = 200  # messages per round
GONE_AFTER = timedelta(seconds=60)  # an attempt takes five seconds, so its sender is dead after this
GONE = 410  # Standard Webhooks: the endpoint wants no more messages


def secret_of(webhook: Webhook) -> str:
    """Derive the secret shown to the owner from SECRET_KEY; it is not stored."""
    key = salted_hmac("quorum.webhook", f"{webhook.pk}\x1f{webhook.salt}", algorithm="sha256").digest()
    return SECRET_START + base64.b64encode(key).decode()


def sign(secret: str, *, id: str, timestamp: int, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_START))
    signed = f"{id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def id_of(delivery: WebhookDelivery) -> str:
    """Return the message id, equal in every attempt, so that receivers can drop repetitions."""
    return f"msg_{delivery.pk.hex}"


def body_of(delivery: WebhookDelivery) -> bytes:
    message: dict[str, Any] = {
        "id": id_of(delivery),
        "event": delivery.event,
        "study": delivery.webhook.study.slug,
        "at": delivery.made_at.isoformat(),
        "data": delivery.payload,
    }
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode()


def headers_of(delivery: WebhookDelivery, body: bytes, *, timestamp: int) -> dict[str, str]:
    message_id = id_of(delivery)
    return {
        "Content-Type": "application/json",
        "User-Agent": "Quorum-Webhooks/1",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret_of(delivery.webhook), id=message_id, timestamp=timestamp, body=body),
    }


class BadAddress(Exception):
    """An address that must not be used; ``str()`` is the reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a post: the HTTP status, if any, the error, and the requested pause in seconds."""

    status: int | None
    problem: str = ""
    retry_after: int = 0


def checked_url(url: str) -> SplitResult:
    """Return the parts of a permitted address: https, or with private addresses allowed http to 127.0.0.1."""
    if len(url) > 500 or any(ord(letter) <= 32 or ord(letter) > 126 for letter in url):
        raise BadAddress("it is longer than 500 characters, or holds spaces or letters beyond ASCII")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise BadAddress("it is no address") from None
    if parts.scheme == "http" and not (_private_allowed() and host in ("127.0.0.1", "localhost")):
        raise BadAddress("expected https://, which keeps the message from being read on its way")
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise BadAddress("expected https://host/path")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise BadAddress("it holds a user name, a password or a fragment")
    if not _private_allowed():
        _refuse_private_host(host)
    return parts


def _refuse_private_host(host: str) -> None:
    """Refuse a private host, also in the spellings that only a resolver reads: 127.1, 0x7f000001, localhost."""
    host = host.rstrip(".")
    try:
        _refuse_private(ipaddress.ip_address(host if ":" in host else socket.inet_aton(host)))
    except ValueError:
        raise BadAddress("it is no address") from None
    except OSError:  # a name
        if "." not in host or host.endswith(PRIVATE_NAMES):
            raise BadAddress("it leads into a private network") from None


def post(url: str, *, body: bytes, headers: dict[str, str], seconds: float = POST_SECONDS) -> Answer:
    """Post once; the result has the error, if any."""
    sockets: list[socket.socket] = []
    late = threading.Event()

    def cut_off() -> None:
        late.set()
        for open_socket in sockets:
            try:
                open_socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # already closed

    watchdog = threading.Timer(seconds, cut_off)  # a server that sends single bytes never times out
    watchdog.daemon = True
    watchdog.start()
    try:
        parts = checked_url(url)
        return _exchange(parts, body, headers, seconds, sockets)
    except BadAddress as problem:
        return Answer(None, f"Not sent: {problem}.")
    except ssl.SSLError as problem:
        return Answer(
            None, _note_delay(late, seconds) or f"No secure connection: {problem.reason or 'it was cut off'}."
        )
    except TimeoutError:
        return Answer(None, f"No answer within {seconds:g} seconds.")
    except OSError as problem:
        return Answer(
            None,
            _note_delay(late, seconds) or f"No connection: {problem.strerror or type(problem).__name__}.",
        )
    except (http.client.HTTPException, ValueError) as problem:
        return Answer(
            None, _note_delay(late, seconds) or f"The answer is not HTTP: {type(problem).__name__}."
        )
    finally:
        watchdog.cancel()
        for open_socket in sockets:
            open_socket.close()


def _note_delay(late: threading.Event, seconds: float) -> str:
    return f"No answer within {seconds:g} seconds." if late.is_set() else ""


def _exchange(
    parts: SplitResult, body: bytes, headers: dict[str, str], seconds: float, sockets: list[socket.socket]
) -> Answer:
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = _address_of(host, port)
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    plain = socket.create_connection((address, port), timeout=seconds)
    sockets.append(plain)
    if parts.scheme == "https":
        # verify the certificate for the name, not the address
        secure = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        sockets.append(secure)
        connection.sock = secure
    else:
        connection.sock = plain
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fixed = {"Host": parts.netloc, "Connection": "close"}
    connection.request("POST", path, body=body, headers=headers | fixed)
    reply = connection.getresponse()  # the body is never read
    if 200 <= reply.status < 300:
        return Answer(reply.status)
    retry_after = reply.headers.get("Retry-After", "")
    pause = int(retry_after) if retry_after.isdecimal() and len(retry_after) < 7 else 0
    where = "; redirects are not followed" if 300 <= reply.status < 400 else ""
    return Answer(reply.status, f"The answer was {reply.status}{where}.", pause)


def _address_of(host: str, port: int) -> str:
    """Return the address to connect to; refuse a name with a private address."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in entries]
    if not _private_allowed():
        for address in addresses:
            _refuse_private(ipaddress.ip_address(address.partition("%")[0]))
    return addresses[0]


def _refuse_private(address: Address) -> None:
    inner: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        inner += [address.sixtofour] if address.sixtofour else []
        inner += list(address.teredo or ())
        if address in NAT64:
            inner = [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
        elif address not in GLOBAL_UNICAST:  # other ranges translate to IPv4, or are local, or without use
            raise BadAddress("it leads into a private network")
    if not all(inner_address.is_global and not inner_address.is_multicast for inner_address in inner):
        raise BadAddress("it leads into a private network")


def _private_allowed() -> bool:
    return bool(settings.WEBHOOK_PRIVATE or settings.DEBUG)


@transaction.atomic
def add_webhook(*, study: Study, url: str, events: Collection[str], by: User | None = None) -> Webhook:
    url = url.strip()
    try:
        checked_url(url)
    except BadAddress as problem:
        raise DesignError(
            _("The webhook's address cannot be used: %(problem)s.") % {"problem": problem}, field="url"
        ) from None
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if Webhook.objects.filter(study=study).count() >= MOST_WEBHOOKS:
        raise DataConflict(f"Study {study.slug!r} has {MOST_WEBHOOKS} webhooks already; remove one first.")
    try:
        with transaction.atomic():
            webhook = Webhook.objects.create(
                study=study,
                url=url,
                salt=secrets.token_hex(32),
                submissions=SUBMITTED in events,
                completions=COMPLETED in events,
                exclusions=EXCLUDED in events,
                # a new webhook of a finished study gets no completion event
                told_complete_at=timezone.now() if is_complete(study) else None,
                made_by=by,
            )
    except IntegrityError:
        raise DataConflict(f"Study {study.slug!r} has a webhook of this address already.") from None
    sentence = f"A webhook was added that hears of {', '.join(webhook.events)}."
    note_event(study=study, what="webhook-added", sentence=sentence, by=by, webhook=webhook.pk)
    return webhook


def give_up_waiting(webhook: Webhook) -> None:
    WebhookDelivery.objects.filter(webhook=webhook, state=State.WAITING).update(
        state=State.GIVEN_UP, problem="The webhook was switched off."
    )


@transaction.atomic
def ping_webhook(*, webhook: Webhook, by: User | None = None) -> WebhookDelivery:
    if not Webhook.objects.filter(pk=webhook.pk, active=True).update(rests_until=None):
        raise WrongState(_("Nothing was sent: the webhook is switched off."))
    return WebhookDelivery.objects.create(
        webhook=webhook,
        event=PING,
        key=f"ping:{uuid4().hex}",
        payload={"by": "test", "events": webhook.events},
    )


def listens_to_submissions() -> Exists:
    return Exists(Webhook.objects.filter(study=OuterRef("study"), active=True, submissions=True))


def note_submission(*, assignment: Assignment, judgments: int) -> None:
    """Write messages in the submission's transaction, if ``listens_to_submissions``."""
    payload = {
        "assignment": str(assignment.pk),
        "hit": assignment.hit.key if assignment.hit is not None else None,
        "worker": pseudonym_for_webhook(assignment.study, assignment.worker),
        "submitted_at": assignment.submitted_at.isoformat() if assignment.submitted_at else None,
        "judgments": judgments,
        "simulated": assignment.simulated,
    }
    listening = Webhook.objects.filter(study=assignment.study_id, active=True, submissions=True)
    _note(listening.values_list("pk", flat=True), SUBMITTED, f"submitted:{assignment.pk}", payload)


def note_exclusion(*, exclusion: Exclusion) -> None:
    """Write messages in the exclusion's transaction, without the reason, which may quote the worker."""
    study = exclusion.study
    listening = Webhook.objects.filter(study=study, active=True, exclusions=True)
    payload = {
        "exclusion": exclusion.pk,
        "worker": pseudonym_for_webhook(study, exclusion.worker),
        "rule": exclusion.rule or None,
        "excluded_at": exclusion.made_at.isoformat(),
    }
    _note(listening.values_list("pk", flat=True), EXCLUDED, f"excluded:{exclusion.pk}", payload)


def _note(webhooks: Collection[int], event: str, key: str, payload: dict[str, Any]) -> None:
    rows = [WebhookDelivery(webhook_id=pk, event=event, key=key, payload=payload) for pk in webhooks]
    if rows:
        WebhookDelivery.objects.bulk_create(rows)


def pseudonym_for_webhook(study: Study, worker: Worker) -> str:
    """Return a crowd worker's pseudonym, or make one of the name that a worker chose."""
    if worker.source == Worker.Source.CROWD:
        return worker.name
    return f"w-{installation_mark('webhook', str(study.pk), str(worker.pk))[:16]}"


def is_complete(study: Study) -> bool:
    if study.state == Study.State.CLOSED:
        return True
    if study.state != Study.State.OPEN or study.hits.filter(open_slots__gt=0).exists():
        return False
    working = Assignment.objects.filter(study=study, state__in=LEASED_STATES)
    return not working.exists() and study.assignments.finished().exists()


def note_completions() -> int:
    """Write one message per completion and webhook; return their number.

    A query finds completions: two simultaneous last submissions do not see each other, and there are other causes.
    """
    written = 0
    known: dict[int, bool] = {}
    for webhook in Webhook.objects.filter(active=True, completions=True).select_related("study"):
        study = webhook.study
        if study.pk not in known:
            known[study.pk] = is_complete(study)
        noted_at = webhook.told_complete_at
        if not known[study.pk]:
            if noted_at is not None:
                Webhook.objects.filter(pk=webhook.pk, told_complete_at=noted_at).update(told_complete_at=None)
        elif noted_at is None or _worked_again(study, webhook):
            written += _note_completion(webhook)
    return written


def _worked_again(study: Study, webhook: Webhook) -> bool:
    """Return whether an open study got submissions since; leases that outlived a closing do not count."""
    return (
        study.state == Study.State.OPEN
        and study.assignments.finished().filter(submitted_at__gt=webhook.told_complete_at).exists()
    )


@transaction.atomic
def _note_completion(webhook: Webhook) -> int:
    study, now = webhook.study, timezone.now()
    moved = Webhook.objects.filter(pk=webhook.pk, told_complete_at=webhook.told_complete_at).update(
        told_complete_at=now
    )
    if moved:
        closed = study.state == Study.State.CLOSED
        payload = {
            "because": "closed" if closed else "all-judged",
            "assignments": study.assignments.finished().count(),
        }
        _note([webhook.pk], COMPLETED, f"completed:{now.isoformat()}", payload)
    return moved


def send_webhooks(*, rng: random.Random | None = None) -> int:
    """Note completions, send what is due, delete old deliveries; return the number delivered."""
    if not Webhook.objects.exists():
        return 0
    rng = rng or random.Random()
    note_completions()
    delivered = 0
    for _place in range(AT_ONCE):
        delivery = _next()
        if delivery is None:
            break
        if _begin(delivery):
            delivered += _send(delivery, rng)
    forget_old()
    return delivered


def forget_old() -> int:
    before = timezone.now() - timedelta(days=settings.WEBHOOK_LOG_DAYS)
    old = WebhookDelivery.objects.filter(made_at__lt=before, state__in=[State.DELIVERED, State.GIVEN_UP])
    return WebhookDelivery.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:1000])).delete()[0]


def _due() -> Q:
    now = timezone.now()
    return Q(state=State.WAITING, next_at__lte=now) | Q(state=State.SENDING, started_at__lte=now - GONE_AFTER)


def _next() -> WebhookDelivery | None:
    """Return the next due delivery, of webhooks without failures first, so that a hanging server delays no other."""
    resting = Q(webhook__rests_until=None) | Q(webhook__rests_until__lte=timezone.now())
    due = WebhookDelivery.objects.filter(_due(), resting, webhook__active=True)
    return due.select_related("webhook__study").order_by("webhook__failures", "next_at", "pk").first()


def _begin(delivery: WebhookDelivery) -> bool:
    now = timezone.now()
    begun = WebhookDelivery.objects.filter(_due(), pk=delivery.pk).update(
        state=State.SENDING, started_at=now, attempts=F("attempts") + 1
    )
    delivery.started_at, delivery.attempts = now, delivery.attempts + 1
    return bool(begun)


def _send(delivery: WebhookDelivery, rng: random.Random) -> int:
    body = body_of(delivery)
    headers = headers_of(delivery, body, timestamp=int(timezone.now().timestamp()))
    answer = post(delivery.webhook.url, body=body, headers=headers)
    return _book(delivery, answer, rng)


@transaction.atomic
def _book(delivery: WebhookDelivery, answer: Answer, rng: random.Random) -> int:
    """Store the result; return 1 if it was delivered. A sender presumed dead must not change a later attempt."""
    now = timezone.now()
    webhook = delivery.webhook
    attempt = WebhookDelivery.objects.filter(
        pk=delivery.pk, state=State.SENDING, started_at=delivery.started_at
    )
    if not answer.problem:
        booked = attempt.update(state=State.DELIVERED, delivered_at=now, status=answer.status, problem="")
        Webhook.objects.filter(pk=webhook.pk).update(failures=0, rests_until=None)
        return booked
    over = delivery.attempts >= ATTEMPTS or answer.status == GONE
    wait = max(answer.retry_after, _pause(rng, delivery.attempts))
    booked = attempt.update(
        state=State.GIVEN_UP if over else State.WAITING,
        next_at=now + timedelta(seconds=wait),
        status=answer.status,
        problem=answer.problem[:300],
    )
    if not booked:
        return 0
    if answer.status == GONE:
        _switch_off(webhook)
        return 0
    rest = max(answer.retry_after, _pause(rng, webhook.failures + 1))
    Webhook.objects.filter(pk=webhook.pk).update(
        failures=F("failures") + 1, rests_until=now + timedelta(seconds=rest)
    )
    return 0


def _switch_off(webhook: Webhook) -> None:
    if Webhook.objects.filter(pk=webhook.pk, active=True).update(active=False):
        give_up_waiting(webhook)
        sentence = "A webhook was switched off: its address answered 410, it wants no more."
        note_event(study=webhook.study, what="webhook-gone", sentence=sentence, webhook=webhook.pk)


def _pause(rng: random.Random, times: int) -> float:
    """Return a pause that grows fourfold with each failure, with jitter between half and all of it."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 4.0 ** min(times - 1, 20))
    return rng.uniform(longest / 2, longest)


class WebhookRequest(Parameters):
    """A new webhook."""

    url = serializers.CharField(max_length=500, help_text="https://")
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=list(EVENTS)),
        min_length=1,
        error_messages={"required": "A webhook needs an event."},
    )


@operation("add-webhook", "Add a webhook", parameters=WebhookRequest, scope="webhooks")
def add(*, study: Study, by: User | None, url: str, events: Collection[str]) -> Outcome:
    """Add a webhook. Only this answer has its secret."""
    webhook = add_webhook(study=study, url=url, events=events, by=by)
    return Outcome(_("The webhook was added."), webhook)


@operation("ping-webhook", "Try a webhook", scope="webhooks", row="webhook")
def ping(*, study: Study, by: User | None, webhook: str) -> Outcome:
    """Write a test message, which is sent within seconds."""
    sent = ping_webhook(webhook=_webhook(study, webhook), by=by)
    return Outcome(_("A test message goes out within seconds; load this page again to see its answer."), sent)


@operation("rotate-webhook", "Change a webhook's secret", scope="webhooks", row="webhook")
@transaction.atomic
def rotate(*, study: Study, by: User | None, webhook: str) -> Outcome:
    """Make another secret; the old one ends now."""
    row = _webhook(study, webhook)
    row.salt = secrets.token_hex(32)
    if not Webhook.objects.filter(pk=row.pk).update(salt=row.salt):
        raise NotThere(_("There is no such webhook any more."))
    sentence = "The secret of a webhook was changed."
    note_event(study=study, what="webhook-rotated", sentence=sentence, by=by, webhook=row.pk)
    return Outcome(_("The webhook has another secret."), row)


class SwitchRequest(Parameters):
    """On or off."""

    active = serializers.BooleanField()


@operation(
    "switch-webhook", "Switch a webhook on or off", parameters=SwitchRequest, scope="webhooks", row="webhook"
)
@transaction.atomic
def switch(*, study: Study, by: User | None, webhook: str, active: bool) -> Outcome:
    """Switch a webhook off, which gives up waiting messages, or on, for events from now on."""
    row = _webhook(study, webhook)
    switched = Webhook.objects.filter(pk=row.pk, active=not active).update(
        active=active,
        failures=0,
        rests_until=None,
        told_complete_at=timezone.now() if is_complete(study) else None,
    )
    if switched:
        if not active:
            give_up_waiting(row)
        sentence = f"A webhook was switched {'on' if active else 'off'}."
        note_event(study=study, what="webhook-switched", sentence=sentence, by=by, webhook=row.pk)
    row.refresh_from_db()
    return Outcome(_("The webhook is on.") if active else _("The webhook is off."), row)


@operation("remove-webhook", "Remove a webhook", scope="webhooks", row="webhook")
@transaction.atomic
def remove(*, study: Study, by: User | None, webhook: str) -> Outcome:
    """Remove a webhook, and its log."""
    removed, _rows = Webhook.objects.filter(pk=_webhook(study, webhook).pk).delete()
    if removed:
        sentence = "A webhook was removed, and its log with it."
        note_event(study=study, what="webhook-removed", sentence=sentence, by=by)
    return Outcome(_("The webhook was removed."))


@operation("retry-delivery", "Send a message again", scope="webhooks", row="delivery")
@transaction.atomic
def retry(*, study: Study, by: User | None, delivery: str) -> Outcome:
    """Send a given-up message again, under the same id."""
    row = row_of(WebhookDelivery.objects.filter(webhook__study=study), delivery)
    if not Webhook.objects.filter(pk=row.webhook_id, active=True).update(rests_until=None):
        raise WrongState(_("Nothing was sent: the webhook is switched off."))
    moved = WebhookDelivery.objects.filter(pk=row.pk, state=State.GIVEN_UP).update(
        state=State.WAITING, attempts=0, next_at=timezone.now(), problem=""
    )
    if not moved:
        raise WrongState(_("Nothing was changed: only what was given up can be sent again."))
    row.refresh_from_db()
    return Outcome(_("The message goes out again within seconds."), row)


def _webhook(study: Study, key: str) -> Webhook:
    return row_of(Webhook.objects.filter(study=study), key)
