"""Studies, units, HITs, presets and bounds of outcomes; roles, the log and tokens; jobs and cached figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.dispatch import Signal
from django.utils import timezone

from common.rows import AppendOnlyRow, FiguresField
from judgments.models.datasets import Caption, Dataset, Item, System, account_key

# Receivers get ``study`` and return in a sentence why it cannot be opened yet, or "". They add that to the checklist
# of the page "Launch" themselves (``annotation.launch.views.add_check``).
opening = Signal()

# Receivers get ``study`` and return a sentence about what they hold of its pages of work, or "".
pages_in_use = Signal()

# Receivers get ``study`` and delete what they derived from its pages of work, in the transaction that discards them.
pages_discarded = Signal()


class StudyQuerySet(models.QuerySet["Study"]):
    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> StudyQuerySet:
        """Return studies where a person has a role; all, with the permission to view every study."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        if user.has_perm("judgments.view_study") or user.has_perm("judgments.change_study"):
            return self
        return self.filter(roles__user=user)


class Study(models.Model):
    class State(models.TextChoices):
        DRAFT = "draft", "draft"
        GENERATED = "generated", "generated"
        OPEN = "open", "open"
        CLOSED = "closed", "closed"

    class Source(models.TextChoices):
        DESIGNED = "designed", "designed here"
        IMPORTED = "imported", "imported judgments"

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="studies")
    protocol = models.CharField(max_length=20)
    design = models.JSONField(help_text="The frozen StudyDesign; read it through design_of(study).")
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    source = models.CharField(max_length=10, choices=Source, default=Source.DESIGNED)
    simulated = models.BooleanField(
        default=False, help_text="Holds answers of the rehearsal crowd, not of people."
    )
    fingerprint = models.CharField(max_length=64, blank=True, help_text="SHA-256 of imported judgments.")
    platform = models.CharField(
        "place",
        db_column="place",
        max_length=20,
        blank=True,
        help_text="The crowd that it was first opened to, its sandbox or the live one; it never moves to another.",
    )
    notes = models.JSONField(default=dict, blank=True)
    created_by = account_key()
    created_at = models.DateTimeField(auto_now_add=True)
    generated_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="While an open study takes no claims; workers who hold a HIT may finish it.",
    )
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = StudyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "slug"]
        constraints = [
            models.CheckConstraint(
                condition=Q(paused_at=None) | Q(state="open"), name="only_an_open_study_is_paused"
            )
        ]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.name


class CandidatePair(models.Model):
    """Two candidates for one image in a triplet or pairwise study (V15 §3)."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="pairs", db_index=False)
    key = models.CharField(max_length=80)
    position = models.PositiveIntegerField()
    kind = models.CharField(
        max_length=2, blank=True, help_text="HC, HI, HM, MM (V15 §3); blank where unknown."
    )
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    first = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="+")
    first_system = models.ForeignKey(
        System, on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    second_system = models.ForeignKey(
        System, on_delete=models.SET_NULL, related_name="+", null=True, blank=True
    )
    references = models.JSONField(
        default=list, help_text="Keys of the reference captions the pair is judged and scored against."
    )
    published_winner = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="1 or 2 where a winner was published without votes."
    )

    class Meta:
        ordering = ["study_id", "position"]
        constraints = [models.UniqueConstraint(fields=["study", "key"], name="pair_key_once_per_study")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class Unit(models.Model):
    """The smallest thing that is judged. ``key`` is derived from content and seed, never from a row id."""

    class ControlKind(models.TextChoices):
        DEGRADED = "degraded", "an own caption against a damaged copy of it"
        REPEATED = "repeated", "a unit of the same HIT shown again"
        KNOWN_GOOD = "known-good", "an item whose answer the designer knows"
        REFERENCE = "reference", "a person's caption of the image"
        QUIZ = "quiz", "an item of the quiz, in no HIT"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="units", db_index=False)
    key = models.CharField(max_length=80)
    position = models.PositiveIntegerField()
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    reference = models.ForeignKey(
        Caption, on_delete=models.CASCADE, related_name="+", null=True, blank=True, db_index=False
    )
    first = models.ForeignKey(
        Caption, on_delete=models.CASCADE, related_name="+", null=True, blank=True, db_index=False
    )
    second = models.ForeignKey(
        Caption, on_delete=models.CASCADE, related_name="+", null=True, blank=True, db_index=False
    )
    pair = models.ForeignKey(
        CandidatePair,
        on_delete=models.CASCADE,
        related_name="units",
        null=True,
        blank=True,
        db_index=False,
    )
    kind = models.CharField(max_length=2, blank=True)
    control = models.BooleanField(default=False)
    expected = models.JSONField(null=True, blank=True, help_text="The right answer of a control item.")
    control_kind = models.CharField(
        max_length=10, choices=ControlKind, blank=True, help_text="Empty for judged units."
    )
    content = models.JSONField(
        default=dict, blank=True, help_text="What else its kind shows, as it was at generation."
    )
    systems = models.JSONField(
        default=list,
        blank=True,
        help_text="Row ids of the systems that an imported file credits with its text, or a list of them for each of "
        "its options; 0 for nobody; empty: all that gave it.",
    )
    filtered = models.BooleanField(
        default=False,
        help_text="Shown to fill the last ten up: filtered out, or given for another image (H13 §4.3.2).",
    )
    audited = models.BooleanField(
        default=False, help_text="Below the Bleu-pre threshold, drawn to see what the filter misses."
    )
    withdrawn = models.BooleanField(
        default=False, help_text="A withdrawn control item: it misled careful workers."
    )

    class Meta:
        ordering = ["study_id", "position"]
        constraints = [
            # As expressions, an index of its own also on SQLite: keys are in no order, and building the index after a
            # million rows takes a fifth of the time.
            models.UniqueConstraint("study", "key", name="unit_key_once_per_study"),
            models.CheckConstraint(
                condition=Q(withdrawn=False) | Q(control=True), name="only_control_items_are_withdrawn"
            ),
        ]
        indexes = [
            # most units have one caption alone, or no pair
            *(
                models.Index(fields=[name], condition=Q((f"{name}__isnull", False)), name=f"units_by_{name}")
                for name in ("reference", "first", "second", "pair")
            ),
            # Without this index, each page of a long list sorts all rows.
            models.Index(fields=["study", "position"], name="units_in_order"),
            models.Index(
                fields=["study", "position"], condition=Q(control=True), name="control_items_in_order"
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def source_text(self) -> str:
        return self.item.text


NOBODY = 0  # in the place of a system's row id


def credited(systems: Sequence[int], gave: Iterable[int]) -> list[int]:
    """Return the systems that a unit, or one of its options, scores for.

    Args:
        systems: those that the rows of its file credit; empty: no file says so.
        gave: those that gave its text.
    """
    return [system for system in systems if system != NOBODY] if systems else list(gave)


class SystemPair(models.Model):
    """Two systems of an arena, the units that compare them, and the current answers (contrib/arena/README.md)."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="system_pairs", db_index=False)
    position = models.PositiveIntegerField()
    first_system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    second_system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    start = models.PositiveIntegerField(
        help_text="Position of the first of its units, which follow one another."
    )
    units = models.PositiveIntegerField()
    wins = models.PositiveIntegerField(default=0, help_text="Answers for the first system.")
    ties = models.PositiveIntegerField(default=0)
    losses = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["study_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "position"], name="system_pairs_in_order"),
            models.UniqueConstraint(
                fields=["study", "first_system", "second_system"], name="two_systems_are_one_pair"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.first_system} {self.second_system}"


class DrawState(models.Model):
    """The answers that pages of an arena were drawn by. Never changed."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="draw_states", db_index=False)
    number = models.PositiveIntegerField()
    answers = models.PositiveIntegerField()
    counts = models.JSONField(help_text="[wins, ties, losses] of each pair of systems.")
    strengths = models.JSONField(help_text="Of each system, in the order of their names.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study_id", "number"]
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="draw_states_in_order")]

    def __str__(self) -> str:
        return f"{self.study_id} {self.number}"


class HIT(models.Model):
    """A form that a worker accepts at a time (*human intelligence task*)."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="hits", db_index=False)
    key = models.CharField(max_length=80)
    position = models.PositiveIntegerField()
    required = models.PositiveSmallIntegerField(help_text="How many different workers it goes to.")
    open_slots = models.PositiveSmallIntegerField(help_text="How many of them are still wanted.")
    spared = models.PositiveSmallIntegerField(
        default=0,
        help_text="Slots not asked for any more: the outcome of its units is decided, or they expired.",
    )
    extra = models.PositiveSmallIntegerField(
        default=0, help_text="How many were added to what the design says, since it was frozen."
    )
    external_id = models.CharField(max_length=80, blank=True, help_text="Its id at the study's crowd.")
    version = models.PositiveIntegerField(
        default=0,
        help_text="How often its units changed: control items were withdrawn, or an arena drew them.",
    )
    drawn_from = models.ForeignKey(
        DrawState, on_delete=models.RESTRICT, related_name="hits", null=True, blank=True, db_index=False,
        help_text="In an arena, the answers that its units were drawn by; empty until somebody takes it.",
    )  # fmt: skip
    units: Any = models.ManyToManyField(Unit, through="HITUnit", related_name="hits")

    class Meta:
        ordering = ["study_id", "position"]
        verbose_name = "HIT"
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="hit_key_once_per_study"),
            models.CheckConstraint(
                condition=Q(open_slots__gte=0) & Q(open_slots__lte=F("required") - F("spared")),
                name="open_slots_between_none_and_all",
            ),
        ]
        indexes = [
            # Claiming a HIT reads the head of this index, at a cost independent of the study's size.
            models.Index(
                fields=["study", "position"], condition=Q(open_slots__gt=0), name="open_hits_in_order"
            ),
            models.Index(fields=["study", "position"], name="hits_in_order"),
            models.Index(fields=["study"], condition=Q(version__gt=0), name="changed_hits"),
        ]

    def __str__(self) -> str:
        return self.key


class HITUnit(models.Model):
    hit = models.ForeignKey(HIT, on_delete=models.CASCADE, related_name="places", db_index=False)
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="places")
    position = models.PositiveSmallIntegerField()
    chance = models.FloatField(
        null=True, blank=True, help_text="In an arena, the chance of its pair of systems when it was drawn."
    )

    class Meta:
        ordering = ["hit_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["hit", "position"], name="one_unit_per_place"),
            models.UniqueConstraint(fields=["hit", "unit"], name="a_unit_once_per_hit"),
        ]

    def __str__(self) -> str:
        return f"{self.hit_id} {self.position}"


class OutcomeBounds(models.Model):
    """The outcome bounds of a judged unit: 1 for its first answer, -1 for its second, 0 for a tie.

    A cache that can be recomputed from the judgments.
    """

    unit = models.OneToOneField(Unit, on_delete=models.CASCADE, primary_key=True, related_name="bounds")
    full_depth = models.BooleanField(
        default=False, help_text="Gets all its judgments whatever they say: agreement is measured on these."
    )
    cast = models.PositiveSmallIntegerField(default=0, help_text="Judgments it has, used or not.")
    low = models.SmallIntegerField(default=-1)
    high = models.SmallIntegerField(default=1)
    done = models.BooleanField(
        default=False, help_text="No more judgments are wanted; later copies leave it out."
    )

    class Meta:
        verbose_name_plural = "outcome bounds"
        constraints = [
            models.CheckConstraint(
                condition=Q(low__gte=-1) & Q(low__lte=F("high")) & Q(high__lte=1),
                name="outcome_bounds_are_in_order",
            )
        ]

    def __str__(self) -> str:
        return f"{self.unit_id}: {self.low} to {self.high}"


class SavedPreset(models.Model):
    """A design without name, dataset and seed, offered with the shipped presets.

    Studies made from it hold their whole design: changing or deleting it changes none of them.
    """

    slug = models.SlugField(max_length=80, unique=True, help_text='Study files name it as preset = "…".')
    title = models.CharField(max_length=200)
    description = models.CharField(max_length=1000, blank=True)
    values = models.JSONField(help_text="What a study file would say.")
    made_by = account_key()
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["title", "slug"]
        verbose_name = "preset"

    def __str__(self) -> str:
        return self.title


IMPORTS_STUDY = "import_judgments"  # the kind of job that makes a study

DELETED_STUDY = "deleted_study"  # the argument that takes the place of "study"

# Kinds of jobs that nobody asked for, and that come and go while a page is looked at. One of a feature may still wait
# while the feature is off.
QUIET_JOBS = frozenset({"board", "figures"})


def of_studies(*slugs: str) -> Q:
    """Match jobs of studies. Until an import is done, a study of the name that it gives is somebody else's."""
    not_failed = ~Q(kind=IMPORTS_STUDY) | Q(state=Job.State.DONE)
    return not_failed & Q(args__study__in=slugs)


class JobQuerySet(models.QuerySet["Job"]):
    def due(self) -> JobQuerySet:
        """Return the queued jobs that may start now, oldest first."""
        now = Q(sent_at=None) | Q(sent_at__lte=Now())
        return self.filter(now, state=Job.State.QUEUED).order_by("pk")

    def under_way(self) -> JobQuerySet:
        return self.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])

    def give_back(self, *, sent_in: timedelta | None = None, counted: bool = True) -> int:
        """Queue running jobs again; return their number. The attempt may not count.

        Args:
            sent_in: when a message that was sent is due; None: none was sent.
        """
        return self.update(
            state=Job.State.QUEUED,
            attempts=F("attempts") - (0 if counted else 1),
            sent_at=Now() + sent_in if sent_in else None,
            owner="",
            progress=0.0,
            words="",
            heartbeat=None,
        )


class Job(models.Model):
    """A long-running job; only judgments.jobs changes its state."""

    class State(models.TextChoices):
        QUEUED = "queued", "waiting"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    kind = models.CharField(max_length=64)
    queue = models.CharField(max_length=16, default="heavy", db_default="heavy")
    args = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=16, choices=State, default=State.QUEUED)
    progress = models.FloatField(default=0.0)
    words = models.CharField(max_length=200, blank=True, default="")
    error = models.TextField(blank=True, default="")
    result = FiguresField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    owner = models.CharField(max_length=160, blank=True, default="")
    created_by = account_key()
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(
        null=True, blank=True, help_text="When its message is due at the broker; empty: none was sent."
    )
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["state"], name="jobs_by_state"),
            # SQLite uses no index with a condition for a query with parameters. This one answers by itself whose job
            # is next.
            models.Index(fields=["queue", "state", "sent_at", "created_by", "kind"], name="jobs_by_turn"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(progress__gte=0, progress__lte=1), name="job_progress_is_a_share"
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | (Q(heartbeat__isnull=False) & ~Q(owner="")),
                name="job_running_has_an_owner",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["done", "failed", "cancelled"], finished_at__isnull=False)
                | Q(state__in=["queued", "running"], finished_at__isnull=True),
                name="job_finished_when_ended",
            ),
            models.CheckConstraint(
                condition=Q(state="failed", error__gt="") | (~Q(state="failed") & Q(error="")),
                name="job_failed_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.state}"

    @property
    def is_under_way(self) -> bool:
        return self.state in (self.State.QUEUED, self.State.RUNNING)

    @property
    def has_failed(self) -> bool:
        """Whether it ended without effect: by itself, or cancelled."""
        return self.state in (self.State.FAILED, self.State.CANCELLED)


class CachedFigures(models.Model):
    """Cached figures, which can be recomputed from the study's rows."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="cached_figures")
    name = models.CharField(max_length=60)
    version = models.CharField(
        max_length=20, help_text="Of what a person did to the study before it was counted."
    )
    value = FiguresField(encoder=DjangoJSONEncoder)
    seconds = models.FloatField(help_text="How long the counting took.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="figures_are_kept_once_per_study")
        ]
        verbose_name_plural = "cached figures"

    def __str__(self) -> str:
        return f"{self.name}: {self.made_at}"


class StudyRole(models.Model):
    """A person's role in a study; each includes the rights of the ones before (judgments.access.roles)."""

    class Role(models.TextChoices):
        VIEWER = "viewer", "viewer"
        REVIEWER = "reviewer", "reviewer"
        DESIGNER = "designer", "designer"
        OWNER = "owner", "owner"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="roles")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="study_roles")
    role = models.CharField(max_length=10, choices=Role)
    given_by = account_key()
    given_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study_id", "user_id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "user"], name="one_role_per_study_and_person"),
            models.CheckConstraint(
                condition=models.Q(role__in=["viewer", "reviewer", "designer", "owner"]),
                name="role_is_a_known_one",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} of {self.study}"


class StudyEvent(AppendOnlyRow):
    """An action on a study: who, what, when and why. It outlives the study and keeps its slug."""

    study = models.ForeignKey(
        Study, on_delete=models.SET_NULL, related_name="events", null=True, blank=True,
        help_text="Empty once the study, never opened, was deleted.",
    )  # fmt: skip
    slug = models.SlugField(max_length=80, blank=True, help_text="The study's short name at that time.")
    what = models.CharField(max_length=40, help_text="In a word, such as opened or budget-raised.")
    words = models.CharField(max_length=1000, help_text="In a sentence.")
    why = models.CharField(max_length=500, blank=True, help_text="The reason that was given.")
    details = models.JSONField(default=dict, blank=True)
    by = account_key(models.PROTECT, "Empty where the platform did it by itself, or a command did.")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.what}: {self.slug}"


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def usable(self, now: datetime) -> ApiTokenQuerySet:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None, user__is_active=True)


class ApiToken(models.Model):
    """A key to the HTTP API, shown once; ``digest`` is its SHA-256."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="What it is for, such as the notebook of the pilot.")
    prefix = models.CharField(max_length=12, help_text="Its first characters, to tell it from others.")
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list, help_text="Of judgments.access.tokens.SCOPES.")
    limited = models.BooleanField(default=False, help_text="Opens the studies named, and no others.")
    studies = models.ManyToManyField(Study, related_name="+", blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def usable_at(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
