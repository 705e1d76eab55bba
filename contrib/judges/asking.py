"""Ask a model about a study's units, in each order of the texts, within a budget. Repeating a run continues it.

Before each call its row is stored, and its largest possible cost is reserved. If a run is interrupted, its calls
without a reply count as spent when they are asked again. So the budget holds even if the endpoint charged for them.

The endpoint must be compatible with OpenAI's POST /chat/completions.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Q
from django.utils import timezone
from PIL import Image, ImageOps

from common.amounts import with_noun
from common.errors import DataConflict, WrongState
from common.http.addresses import THIS_MACHINE, keeps_secrets
from common.http.client import CallFailed, Client
from common.incoming.json_documents import load_json
from common.texts import readable
from contrib.judges.models import Judge, JudgeAnswer
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from judgments.access.study_log import note_event
from judgments.datasets.picture_metadata import strip_metadata
from judgments.datasets.pictures import FORMATS, PictureProblem, prepare_decoding
from judgments.design.numbers import number_text, plain_number
from judgments.design.study_design import StudyDesign
from judgments.kinds import Kind
from judgments.kinds.best_worst import ENDS
from judgments.models import Item, Study, Unit
from judgments.studies.designs import design_of, kind_of
from judgments.studies.generation.progress import no_progress
from quorum.statistics.aggregation.pair_answers import FIRST, MUCH, NEITHER, NO_DIFFERENCE, SECOND, SURE

SECONDS = 60.0  # time limit of a whole call
MAX_REPLY_BYTES = 1_000_000  # bytes
MAX_DETAIL_LENGTH = 300
MAX_PIXELS = 1024  # pixels of a picture's longer side
# pixels of a JPEG that is decoded completely, so that the bytes sent do not change
MAX_JPEG_PIXELS = 24_000_000
# tokens of a picture of that size; the highest count found is 25,501 (a small model with tiles of 512 pixels)
PICTURE_TOKENS = 30_000
MESSAGE_TOKENS = 64  # tokens that a chat adds to the tokens of its texts
SIDE_WORDS = {FIRST: "B", SECOND: "C", NO_DIFFERENCE: "no difference", NEITHER: "neither"}
CONFIDENCE_WORDS = ("", ", a guess", ", fairly sure", ", certain")
MAX_TRIES = 3  # attempts for a unit whose replies cannot be parsed
MAX_UNREADABLE = 10  # number of calls after which a run stops if no reply could be parsed
MAX_WAITS = 5  # consecutive waits for a busy endpoint
MAX_WAIT = 60.0
MILLION = 1_000_000
MAX_REPLY_TOKENS, MAX_MARKS_TOKENS = 16, 1_000  # tokens
PARALLEL_CALLS = 4
ROWS_PER_BATCH = 1_000
# Sending, the first byte, all others and the last of them take SECONDS each at most, and connecting takes less. So
# a call that was made earlier than this has no running process any more.
STALE_AFTER = timedelta(seconds=5 * SECONDS)
OPTIONS = ("temperature", "max_tokens")  # settings in the body of a call, in addition to the model


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    model: str
    tokens_in: int
    tokens_out: int


def is_own_host() -> bool:
    """Return whether the endpoint is on this machine, so that calls are free."""
    return urlsplit(_address()).hostname in THIS_MACHINE


def _address() -> str:
    return str(getattr(settings, "JUDGE_API_URL", ""))


class AskLater(Exception):
    """Raised if the endpoint is busy or broken. If `served`, it may have replied and charged."""

    def __init__(self, message: str, *, served: bool, after: float = 0.0) -> None:
        super().__init__(message)
        self.served, self.after = served, after


class Endpoint(Client):
    """A client of the endpoint. The API key is stored only in this object, and sent in request headers."""

    def __init__(self, *, url: str = "", key: str | None = None, seconds: float = SECONDS) -> None:
        url, key = url or _address(), getattr(settings, "JUDGE_API_KEY", "") if key is None else key
        parts = urlsplit(url)
        if not parts.hostname:
            raise EvaluationError(
                "No model can be asked: the setting JUDGE_API_URL is empty, expected an address such as "
                "https://api.example.org/v1."
            )
        if not keeps_secrets(url):
            raise EvaluationError(
                f"JUDGE_API_URL names {parts.scheme}://{parts.hostname}; expected an https address, since the key is "
                "sent with every call."
            )
        self.host = parts.netloc.rpartition("@")[2]
        super().__init__(
            url,
            seconds=seconds,
            credentials={"Authorization": f"Bearer {key}"} if key else {},
            secret=key,
            largest=MAX_REPLY_BYTES,
            in_time=True,
        )

    def ask(self, question: ChatPrompt, *, options: Mapping[str, Any], once: str) -> Reply:
        """Send one request. `once` identifies the call, for endpoints that never repeat an identified call.

        Raises:
            AskLater: the call should be tried again after the stated seconds.
            EvaluationError: the endpoint refuses the call permanently.
        """
        body = {**options, "messages": list(question.messages)}
        try:
            # without retries, since the possible cost of each call is booked before it
            answer = self.send("POST", "chat/completions", body=body, headers={"Idempotency-Key": once})
        except CallFailed as error:
            raise AskLater(f"it {error}", served=error.sent) from None
        status = answer.status
        if answer.is_temporary or status == HTTPStatus.CONFLICT:
            # With these statuses of a gateway, the model may have replied and charged.
            served = status == HTTPStatus.REQUEST_TIMEOUT or (
                status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.SERVICE_UNAVAILABLE
            )
            raise AskLater(f"it answers {status}", served=served, after=answer.wait)
        if status != HTTPStatus.OK:
            detail = _clean(answer.content.decode(errors="replace"))
            raise EvaluationError(f"{self.host} refuses to answer ({status}): {detail[:MAX_DETAIL_LENGTH]}")
        return _read(answer.content)


def _read(body: bytes) -> Reply:
    try:
        reply = load_json(body)
        text = reply["choices"][0]["message"]["content"]
        usage = reply.get("usage") or {}
        counts = [usage.get("prompt_tokens", -1), usage.get("completion_tokens", -1)]
        if not all(type(count) is int for count in counts):
            raise TypeError
    except (ValueError, LookupError, TypeError, AttributeError):
        raise AskLater("its reply is no chat completion", served=True) from None
    return Reply(_clean(str(text or "")), _clean(str(reply.get("model") or ""))[:200], counts[0], counts[1])


def _clean(text: str) -> str:
    return text.replace("\0", "").encode(errors="replace").decode()


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """Chat messages. `most_tokens` bounds their cost, since no token is shorter than a byte."""

    messages: tuple[Mapping[str, Any], ...]
    most_tokens: int

    def digest(self, settings: Mapping[str, Any]) -> str:
        text = json.dumps([self.messages, dict(settings)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def is_for_judges(kind: Kind) -> bool:
    """Return whether judges can give answers of this kind: choices, grades, points, the best of a list, or marks."""
    return kind.compares_pairs or kind.judges_one_caption or kind.names_best


def check_kind(kind: Kind) -> None:
    """Raise EvaluationError if a judge cannot answer units of this kind as people do."""
    if not is_for_judges(kind):
        raise EvaluationError(
            "Judges answer studies whose answers are choices, grades, points, the best of several or marked errors; "
            f"those of kind {kind.name!r} are not."
        )


def has_orders(kind: Kind) -> bool:
    """Return whether a unit shows several texts to choose from. Judges are then asked in both orders."""
    return kind.two_sided or kind.names_best


def order_of(kind: Kind, unit: Unit, *, swapped: bool) -> Any:
    """Return the unit's own order, or the reverse order if ``swapped``, in the form of the kind's ``Sides``."""
    if not kind.names_best:
        return swapped if kind.two_sided else None
    order = list(range(len(unit.content["options"])))
    return order[::-1] if swapped else order


def instructions_of(kind: Kind, design: StudyDesign) -> str:
    """Return the design's question and the allowed replies."""
    if kind.marks is not None:
        allowed = kind.marks.instructions()
    elif kind.names_best:
        worst = ", a blank and the number of the worst" if design.answers.worst else ""
        allowed = f"Reply with the number of the best text{worst}, and nothing else."
    elif kind.choices:
        labels = {choice.value: choice.label for choice in kind.choices}
        named = [
            token if kind.two_sided or token == labels[value] else f"{token} ({labels[value]})"
            for token, value in reply_tokens(kind).items()
        ]
        allowed = (
            f"Reply with one of these and nothing else: {('; ' if kind.confidences else ', ').join(named)}."
        )
    else:
        scale = kind.scale
        assert scale is not None  # the only kind with values but without choices is a slider
        labels_of_ends = design.labels or (tuple(design.scale.labels.values()) if design.scale else ())
        ends = [
            f"{number_text(value)} means: {label}"
            for value, label in zip(kind.labelled, labels_of_ends, strict=False)
        ]
        number = f"number from {number_text(scale.low)} to {number_text(scale.high)}"
        number = f"whole {number}" if scale.step == 1 else f"{number} in steps of {number_text(scale.step)}"
        allowed = ". ".join([f"Reply with a {number} and nothing else", *ends]) + "."
    return f"{design.question}\n\n{allowed}"


def reply_tokens(kind: Kind) -> dict[str, float]:
    """Return the answer for which each allowed reply stands, by reply."""
    if not kind.two_sided:
        return {choice.code: choice.value for choice in kind.choices}
    values = [int(value) for value in kind.values]
    strength = any(value % SURE >= MUCH for value in values)
    tokens: dict[str, float] = {}
    for value in values:
        token = SIDE_WORDS[value % MUCH]
        if strength and value % MUCH in (FIRST, SECOND):
            token += " by far" if value % SURE >= MUCH else " slightly"
        tokens[token + CONFIDENCE_WORDS[value // SURE]] = value
    return tokens


def question_of(prompt: str, shown: Mapping[str, Any], *, source: str = "", picture: str = "") -> ChatPrompt:
    """Return the prompt about a unit.

    Args:
        shown: the unit as a worker sees it.
        picture: an address, or a data URL.
    """
    lines = [f"Source text: {source}"] if source else []
    if before := shown.get("document", {}).get("before"):
        lines.append(f"Text before: {before}")
    lines += [
        f"{number}: {readable(option['text'])}" for number, option in enumerate(shown.get("options", ()), 1)
    ]
    lines += [
        f"{name.upper() if len(name) == 1 else name.capitalize()}: {readable(part['text'])}"
        for name, part in shown.items()
        if isinstance(part, Mapping) and "text" in part
    ]
    text = "\n".join(lines)
    content: Any = text
    if picture:
        content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": picture}}]
    most = len((prompt + text).encode()) + MESSAGE_TOKENS + (PICTURE_TOKENS if picture else 0)
    return ChatPrompt(({"role": "system", "content": prompt}, {"role": "user", "content": content}), most)


def picture_of(item: Item) -> str:
    """Return an image's picture as a data URL, upright and without metadata; else its external address, or ""."""
    if not item.picture:
        return item.url
    try:
        with item.picture.open("rb") as file:
            served = BytesIO(strip_metadata(file.read()))  # the picture that people see
        with Image.open(served, formats=list(FORMATS)) as image:
            large = image.width * image.height > MAX_JPEG_PIXELS
            prepare_decoding(image, (MAX_PIXELS, MAX_PIXELS) if large else image.size)
            small = ImageOps.exif_transpose(image).convert("RGB")
            small.thumbnail((MAX_PIXELS, MAX_PIXELS))
    except (OSError, ValueError, Image.DecompressionBombError, PictureProblem) as error:
        raise EvaluationError(f"The picture of image {item.name!r} cannot be read: {error}.") from None
    written = BytesIO()
    small.save(written, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{b64encode(written.getvalue()).decode()}"


def read_reply(kind: Kind, reply: str, *, swapped: bool, unit: Any = None) -> Any:
    """Return the answer in the unit's order; None unless the reply is exactly one of the allowed answers."""
    text = reply.strip()
    answer: Any
    try:
        if kind.marks is not None:
            answer = kind.marks.read_reply(text, text=unit.first.text)
        elif kind.names_best:
            numbers = [_read_integer(number) for number in text.removesuffix(".").split()]
            answer = dict(zip(ENDS[: len(numbers)], numbers, strict=True))
        elif kind.choices:
            answer = {token.upper(): value for token, value in reply_tokens(kind).items()}[
                text.removesuffix(".").upper()
            ]
        else:
            answer = plain_number(_read_decimal(text.removesuffix(".")))
        clean = kind.clean_answer(answer, unit=unit, design=None)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return kind.sides.to_canonical(clean, side=order_of(kind, unit, swapped=swapped))


def _read_integer(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise ValueError
    return int(text)


def _read_decimal(text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,7}(\.[0-9]{1,6})?", text):
        raise ValueError
    return float(text)


@dataclass(frozen=True, slots=True)
class AskingResult:
    judge: Judge
    answered: int
    failed: int
    left: int
    reason: str

    def describe(self) -> str:
        sentence = f"Judge {self.judge.name!r}: {with_noun(self.answered, 'answer')}"
        sentence += f", {self.failed:,} without a usable one" if self.failed else ""
        sentence += f", {self.left:,} not asked yet" if self.left else ""
        spent, budget = Decimal(self.judge.spent) / MILLION, Decimal(self.judge.budget) / MILLION
        return f"{sentence}; spent {spent:f} of {budget:f}.{f' {self.reason}' if self.reason else ''}"


def ask_model(
    *,
    study: Study,
    name: str,
    model: str,
    budget: Decimal,
    price_in: Decimal,
    price_out: Decimal,
    own_systems: Sequence[str] = (),
    prompt: str = "",
    max_tokens: int | None = None,
    by: User | None = None,
    endpoint: Endpoint | None = None,
    progress: Callable[[float, str], object] = no_progress,
) -> AskingResult:
    """Ask a model about every judged unit, in both orders if the unit shows several texts to choose from.

    Args:
        budget: for all runs together. Prices are per million tokens, in the same currency.
        max_tokens: by default MAX_REPLY_TOKENS, or MAX_MARKS_TOKENS if errors are marked.
        prompt: text before each item; by default the study's question and the allowed replies.
    """
    kind = kind_of(study)
    check_kind(kind)
    with endpoint or Endpoint() as opened:
        options = {
            "endpoint": opened.host,
            "temperature": 0,
            "max_tokens": max_tokens or (MAX_REPLY_TOKENS if kind.marks is None else MAX_MARKS_TOKENS),
            "price_in": str(price_in),
            "price_out": str(price_out),
        }
        judge = _find_or_create_judge(
            study, name, model, prompt, own_systems, options, int(budget * MILLION), by
        )
        _make_rows(study, judge)
        why = _Run(study, judge, opened, progress).ask_until_done()
    judge.refresh_from_db()
    counts = dict(judge.answers.order_by().values_list("state").annotate(n=Count("pk")))
    left = counts.get("waiting", 0) + counts.get("asked", 0)
    return AskingResult(judge, counts.get("answered", 0), counts.get("failed", 0), left, why)


def answer_field_of(answer: Any) -> dict[str, Any]:
    """Return the field of a row in which an answer is stored, with the answer."""
    return {"answer": answer} if isinstance(answer, Mapping) else {"value": answer}


@transaction.atomic
def _find_or_create_judge(
    study: Study,
    name: str,
    model: str,
    prompt: str,
    own_systems: Sequence[str],
    options: Mapping[str, Any],
    budget: int,
    by: User | None,
) -> Judge:
    """Return the judge with this name, or create it.

    The model, the prompt and the own systems of an existing judge cannot change.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    prompt = prompt or instructions_of(kind_of(study), design_of(study))
    judge = Judge.objects.filter(study=study, name=name).first()
    if judge is None:
        judge = Judge.objects.create(
            study=study, name=name, model=model, prompt=prompt, options=dict(options),
            own_systems=list(own_systems), budget=budget, made_by=by,
        )  # fmt: skip
        amount = Decimal(budget) / MILLION
        sentence = f"Judge {name!r} is asked: {model} at {options['endpoint']}, for {amount:f} at most."
        note_event(study=study, what="judge-asked", sentence=sentence, by=by)
        return judge
    fixed = {key: value for key, value in options.items() if not key.startswith("price")}
    same = (judge.model, judge.prompt, judge.own_systems) == (model, prompt, list(own_systems))
    if not same or not fixed.items() <= judge.options.items():
        raise DataConflict(
            f"Judge {name!r} of this study was asked otherwise (another model, prompt, family, endpoint or length of "
            "reply); expected the same again, or another name."
        )
    if budget < judge.spent + judge.reserved:
        raise EvaluationError(
            f"Judge {name!r} has spent {Decimal(judge.spent + judge.reserved) / MILLION:f} already; "
            "expected a budget of as much or more."
        )
    judge.budget, judge.options = budget, {**judge.options, **options}
    judge.save(update_fields=["budget", "options"])
    return judge


@transaction.atomic
def delete_judge(*, judge: Judge, by: User | None = None) -> str:
    """Delete a judge and its answers, and mark it as removed in comparisons; return a sentence.

    Raises:
        WrongState: a call is in progress, whose cost would be lost.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=judge.study_id)
    recent = judge.answers.filter(state=JudgeAnswer.State.ASKED, asked_at__gte=timezone.now() - STALE_AFTER)
    if recent.exists():
        raise WrongState(
            f"Judge {judge.name!r} is being asked at this moment; expected the run to end or be stopped."
        )
    for analysis in Analysis.objects.filter(study=study, what=Analysis.Kind.JUDGES):
        for entry in analysis.result["judges"]:
            if entry["name"] == judge.name:
                entry["removed_at"] = timezone.now().isoformat()
        Analysis.objects.filter(pk=analysis.pk).update(result=analysis.result)
    count = judge.answers.count()
    spent = (
        f"; {Decimal(judge.spent + judge.reserved) / MILLION:f} had been spent on it" if judge.prompt else ""
    )
    sentence = f"Judge {judge.name!r} was removed with {with_noun(count, 'answer')}{spent}."
    note_event(study=study, what="judge-removed", sentence=sentence, by=by, judge=judge.name)
    judge.delete()
    return sentence


def _make_rows(study: Study, judge: Judge) -> None:
    orders = (False, True) if has_orders(kind_of(study)) else (False,)
    existing = set(judge.answers.values_list("unit_id", "swapped"))
    units = Unit.objects.filter(study=study, control=False).order_by("position", "pk")
    JudgeAnswer.objects.bulk_create(
        (
            JudgeAnswer(judge=judge, unit_id=unit, swapped=swapped)
            for unit in units.values_list("pk", flat=True)
            for swapped in orders
            if (unit, swapped) not in existing
        ),
        batch_size=ROWS_PER_BATCH,
        ignore_conflicts=True,
    )


class _Run:
    def __init__(
        self, study: Study, judge: Judge, endpoint: Endpoint, progress: Callable[[float, str], object]
    ) -> None:
        self.study, self.judge, self.endpoint, self.progress = study, judge, endpoint, progress
        self.kind, self.design = kind_of(study), design_of(study)
        self.prices = Decimal(judge.options["price_in"]), Decimal(judge.options["price_out"])
        self.options = {"model": judge.model} | {key: judge.options[key] for key in OPTIONS}
        self.waits = 0

    def ask_until_done(self) -> str:
        """Ask until no unit is left. Return why the run ended early, or ""."""
        self._requeue_stale()
        total = max(self.judge.answers.count(), 1)
        with ThreadPoolExecutor(PARALLEL_CALLS) as pool:
            while True:
                rows = list(
                    self.judge.answers.filter(state=JudgeAnswer.State.WAITING)
                    .select_related("unit__item", "unit__first", "unit__second", "unit__reference")
                    .order_by("attempts", "unit__position", "swapped")[:PARALLEL_CALLS]
                )
                if not rows:
                    return self._pending_sentence()
                done = self.judge.answers.filter(state__in=["answered", "failed"]).count()
                # this may raise an error, so it comes before any call is claimed
                self.progress(done / total, "asking the model")
                claimed, cached = [], False
                for row in rows:
                    question = self._question(row)
                    most = self._cost(question.most_tokens, self.options["max_tokens"])
                    if self._from_cache(row, question):
                        cached = True
                    elif self._claim(row, question, most):
                        claimed.append((row, question, most))
                calls = [pool.submit(self._call, row, question) for row, question, _ in claimed]
                stopped = ""
                for (row, _, most), call in zip(claimed, calls, strict=True):
                    stopped = self._store(row, most, call.result()) or stopped
                stopped = stopped or self._unreadable() or self._pause([call.result() for call in calls])
                if stopped:
                    return stopped
                if not claimed and not cached and self._lacks_budget(rows):
                    return "The budget does not cover another call."

    def _question(self, row: JudgeAnswer) -> ChatPrompt:
        unit = row.unit
        picture = picture_of(unit.item) if self.kind.page.shows_picture and self.design.about_pictures else ""
        shown = self.kind.present_unit(
            unit, side=order_of(self.kind, unit, swapped=row.swapped), picture_url=picture
        )
        source = unit.source_text if self.design.source.show else ""
        return question_of(self.judge.prompt, shown, source=source, picture=picture)

    def _cost(self, tokens_in: int, tokens_out: int) -> int:
        """Return the cost in millionths of the currency."""
        return math.ceil(tokens_in * self.prices[0] + tokens_out * self.prices[1])

    def _claim(self, row: JudgeAnswer, question: ChatPrompt, most: int) -> bool:
        """Reserve the largest possible cost of the call, and mark the row as asked.

        Return False if the budget does not suffice, or another run has the row.
        """
        with transaction.atomic():
            within = Judge.objects.filter(pk=self.judge.pk, spent__lte=F("budget") - F("reserved") - most)
            if not within.update(reserved=F("reserved") + most):
                return False
            taken = JudgeAnswer.objects.filter(
                pk=row.pk, state=JudgeAnswer.State.WAITING, attempts=row.attempts
            ).update(
                state=JudgeAnswer.State.ASKED,
                attempts=F("attempts") + 1,
                reserved=most,
                request=self._digest(question),
                asked_at=timezone.now(),
            )
            if not taken:  # another run has the row
                Judge.objects.filter(pk=self.judge.pk).update(reserved=F("reserved") - most)
                return False
        row.attempts += 1
        return True

    def _lacks_budget(self, rows: Sequence[JudgeAnswer]) -> bool:
        """Return whether the budget is used up, if rows could not be claimed.

        The other reason is that another run has them.
        """
        pks = [row.pk for row in rows]
        return JudgeAnswer.objects.filter(pk__in=pks, state=JudgeAnswer.State.WAITING).exists()

    def _digest(self, question: ChatPrompt) -> str:
        return question.digest({**self.options, "endpoint": self.endpoint.host})

    def _from_cache(self, row: JudgeAnswer, question: ChatPrompt) -> bool:
        """Copy an earlier reply to the same request in the study. Return whether there is one."""
        earlier = (
            JudgeAnswer.objects.filter(
                judge__study=self.study, request=self._digest(question), state=JudgeAnswer.State.ANSWERED
            )
            .order_by("pk")
            .first()
        )
        if earlier is None:
            return False
        answer = read_reply(self.kind, earlier.reply, swapped=row.swapped, unit=row.unit)
        changed = JudgeAnswer.objects.filter(
            pk=row.pk, state=JudgeAnswer.State.WAITING, attempts=row.attempts
        )
        changed.update(
            state=JudgeAnswer.State.ANSWERED,
            **answer_field_of(answer),
            reply=earlier.reply,
            answered_by=earlier.answered_by,
            request=earlier.request,
            cached=True,
            answered_at=timezone.now(),
        )
        return True

    def _call(self, row: JudgeAnswer, question: ChatPrompt) -> Reply | AskLater | EvaluationError:
        """Send the request, in a thread that does not use the database."""
        name = f"quorum-{self.study.slug}-{row.pk}-{row.attempts}"
        try:
            return self.endpoint.ask(question, options=self.options, once=name)
        except (AskLater, EvaluationError) as error:
            return error

    def _store(self, row: JudgeAnswer, most: int, reply: Reply | AskLater | EvaluationError) -> str:
        """Store the reply. Return why the run must stop, or ""."""
        cost, why = 0, ""
        values: dict[str, Any] = {"state": JudgeAnswer.State.WAITING}
        if isinstance(reply, Reply):
            has_counts = reply.tokens_in >= 0 and reply.tokens_out >= 0
            cost = self._cost(reply.tokens_in, reply.tokens_out) if has_counts else most
            values = self._values_of(row, reply)
            if cost > most:
                why = f"{self.endpoint.host} charged more than a call can cost by these prices; nothing more was asked."
                # book the largest cost that was promised; the sentence says that it was exceeded
                cost = most
        elif isinstance(reply, AskLater):
            cost = most if reply.served else 0
        else:
            why = str(reply)
        self._write(row, most, cost, values)
        return why

    def _pause(self, replies: Sequence[Reply | AskLater | EvaluationError]) -> str:
        """Wait once for all rejected calls of a batch. Return why the run must stop instead, or ""."""
        if any(isinstance(reply, Reply) for reply in replies):
            self.waits = 0
        later = [reply for reply in replies if isinstance(reply, AskLater)]
        if not later:
            return ""
        self.waits += 1
        if self.waits >= MAX_WAITS:
            return (
                f"{self.endpoint.host} does not answer: {later[-1]}. Ask again later; what is there is kept."
            )
        backoff = getattr(settings, "JUDGE_BACKOFF_SECONDS", 0.5) * 2 ** (self.waits - 1)
        time.sleep(min(max(backoff, *(reply.after for reply in later)), MAX_WAIT))
        return ""

    def _unreadable(self) -> str:
        """Return why the run must stop: there were many replies, and none could be parsed. Return "" otherwise."""
        replied = self.judge.answers.filter(answered_at__isnull=False)
        n = replied.count()
        if n < MAX_UNREADABLE or replied.filter(state=JudgeAnswer.State.ANSWERED).exists():
            return ""
        last = replied.order_by("-answered_at").values_list("reply", flat=True)[0]
        return (
            f"None of the replies to {n:,} questions could be read, the last of which is {last[:MAX_DETAIL_LENGTH]!r}; "
            "expected another name with another --prompt, or larger --max-tokens where it thinks aloud."
        )

    def _values_of(self, row: JudgeAnswer, reply: Reply) -> dict[str, Any]:
        answer = read_reply(self.kind, reply.text, swapped=row.swapped, unit=row.unit)
        values = {
            "reply": reply.text,
            "answered_by": reply.model,
            **answer_field_of(answer),
            "answered_at": timezone.now(),
            "state": JudgeAnswer.State.ANSWERED,
        }
        if answer is None:
            again = row.attempts < MAX_TRIES
            values["state"] = JudgeAnswer.State.WAITING if again else JudgeAnswer.State.FAILED
        return values

    def _write(self, row: JudgeAnswer, most: int, cost: int, values: Mapping[str, Any]) -> None:
        """Store the reply once, unless another run has taken the row."""
        with transaction.atomic():
            current = JudgeAnswer.objects.filter(state=JudgeAnswer.State.ASKED, attempts=row.attempts)
            if current.filter(pk=row.pk).update(reserved=0, cost=F("cost") + cost, **values):
                Judge.objects.filter(pk=self.judge.pk).update(
                    reserved=F("reserved") - most, spent=F("spent") + cost
                )

    def _requeue_stale(self) -> None:
        """Queue the calls of killed runs again. Their largest possible cost counts as spent."""
        stale = self.judge.answers.filter(
            state=JudgeAnswer.State.ASKED, asked_at__lt=timezone.now() - STALE_AFTER
        )
        for row in stale:
            self._write(row, row.reserved, row.reserved, {"state": JudgeAnswer.State.WAITING})

    def _pending_sentence(self) -> str:
        count = self.judge.answers.filter(Q(state=JudgeAnswer.State.ASKED)).count()
        if not count:
            return ""
        minutes = int(STALE_AFTER.total_seconds() // 60)
        return (
            f"{with_noun(count, 'call')} of another run may be under way; ask again after {minutes} minutes."
        )
