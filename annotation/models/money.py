"""The models of budgets and their ledger, spending limits, and orders that wait for a second person."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext_lazy

from annotation.models.crowds import PLATFORM_LENGTH, CrowdCall, CrowdSession, Publication
from common.rows.append_only import AppendOnlyRow
from judgments.models import Study
from judgments.models.fields import account_key

KEY_LENGTH = 200
CURRENCY_LENGTH = 3  # ISO 4217


class Budget(models.Model):
    """A study's budget at a platform, with counters of reserved and spent money.

    Only annotation.money.ledger changes the counters, and adds an entry for each change.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="budgets")
    platform = models.CharField("crowd", db_column="place", max_length=PLATFORM_LENGTH)
    currency = models.CharField(max_length=CURRENCY_LENGTH, help_text="ISO 4217, such as USD.")
    budget_cents = models.PositiveBigIntegerField(default=0)
    reserved_cents = models.PositiveBigIntegerField(default=0)
    spent_cents = models.PositiveBigIntegerField(default=0)
    over_cents = models.PositiveBigIntegerField(
        default=0, help_text="Beyond the budget, because the crowd paid it without being asked."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "platform"], name="one_budget_per_study_and_place"),
            models.CheckConstraint(
                condition=Q(reserved_cents__gte=0)
                & Q(spent_cents__gte=0)
                & Q(budget_cents__gte=F("reserved_cents") + F("spent_cents") - F("over_cents")),
                name="what_is_over_the_budget_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} at {self.platform}"

    @property
    def forecast_cents(self) -> int:
        """The spent money, if all reserved money is spent, too."""
        return self.reserved_cents + self.spent_cents

    @property
    def left_cents(self) -> int:
        """The money that is neither reserved nor spent; negative if the crowd spent more than the budget."""
        return self.budget_cents - self.forecast_cents

    @property
    def bonus_cents(self) -> int:
        """The sum of all bonuses."""
        return self.entries.filter(what="bonus").aggregate(cents=Sum("spent_cents"))["cents"] or 0


class LedgerEntry(AppendOnlyRow):
    """One change of a budget. The sums of a budget's entries equal its counters; ``key`` prevents double entries."""

    # lookups from a row to its studies (judgments.access.visible_rows)
    study_lookups = ("budget__study",)

    budget = models.ForeignKey(Budget, on_delete=models.PROTECT, related_name="entries")
    key = models.CharField(
        max_length=160,
        unique=True,
        help_text="Identifies a payment by crowd, participant, session and purpose.",
    )
    # unmatched: a payment in a panel's list without a session here, or for one that is not to be paid. matched: its
    # cancellation, once a session accounts for it. No code writes ``move`` any more.
    what = models.CharField(
        "type",
        max_length=12,
        help_text="reserve, release, move, reward, bonus, screened-out, unmatched, matched",
    )
    reserved_cents = models.BigIntegerField("change of the reserved amount in cents", default=0)
    spent_cents = models.BigIntegerField("change of the spent amount in cents", default=0)
    publication = models.ForeignKey(
        Publication, on_delete=models.PROTECT, related_name="entries", null=True, blank=True
    )
    session = models.ForeignKey(
        CrowdSession, on_delete=models.PROTECT, related_name="entries", null=True, blank=True
    )
    call = models.ForeignKey(
        CrowdCall,
        on_delete=models.PROTECT,
        related_name="entries",
        null=True,
        blank=True,
        verbose_name="outbox message",
    )
    by = account_key(
        models.PROTECT, "Empty if the platform, the crowd or a command caused the entry.", label="account"
    )
    door = models.CharField(
        "source of the request", max_length=7, blank=True, help_text="page, api, job or command"
    )
    request = models.CharField(
        max_length=200,
        blank=True,
        help_text="The address of the request, the kind and number of the job, or the name of the command.",
    )
    at = models.DateTimeField("time", default=timezone.now)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "ledger entries"
        indexes = [models.Index(fields=["at"], name="ledger_entries_of_a_day")]

    def __str__(self) -> str:
        return self.key


class Commitment(models.Model):
    """The part of a budget's reserved and spent money that an account ordered. All parts sum to the whole."""

    study_lookups = ("budget__study",)

    budget = models.ForeignKey(Budget, on_delete=models.PROTECT, related_name="commitments")
    account = account_key(
        models.PROTECT, "Empty for what commands ordered, and what the crowd paid without being asked."
    )
    cents = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["budget", "account"], name="one_commitment_of_an_account"),
            models.UniqueConstraint(
                fields=["budget"], condition=Q(account=None), name="one_commitment_of_nobody"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.account or 'nobody'}: {self.cents}"


class SpendingLimit(models.Model):
    """The spending limits of an account, or of the whole installation, in one currency. Empty fields set no limit."""

    account = account_key(models.PROTECT, "Empty: the whole installation.")
    currency = models.CharField(max_length=CURRENCY_LENGTH, help_text="ISO 4217, such as USD.")
    day_cents = models.PositiveBigIntegerField("limit per day", null=True, blank=True)
    total_cents = models.PositiveBigIntegerField("total limit", null=True, blank=True)
    account_day_cents = models.PositiveBigIntegerField("limit per account and day", null=True, blank=True)
    account_total_cents = models.PositiveBigIntegerField("total limit per account", null=True, blank=True)
    confirm_cents = models.PositiveBigIntegerField(
        "amount above which a second person confirms", null=True, blank=True
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "currency"], name="one_limit_of_an_account"),
            models.UniqueConstraint(
                fields=["currency"], condition=Q(account=None), name="one_limit_of_the_installation"
            ),
            models.CheckConstraint(
                condition=Q(account=None)
                | Q(account_day_cents=None, account_total_cents=None, confirm_cents=None),
                name="the_installation_alone_has_rules_for_all",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.account or 'The installation'}, {self.currency}"


class SpendingRequest(models.Model):
    """An order of more money than one person may spend alone. It waits until a second person confirms it."""

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("waiting")
        DONE = "done", gettext_lazy("confirmed and done")
        REFUSED = "refused", gettext_lazy("refused")
        VOID = "void", gettext_lazy("void (the study changed after the request)")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="spending_requests")
    operation = models.CharField(max_length=20, help_text="Its name, such as open or bonus.")
    values = models.JSONField(default=dict, blank=True, help_text="Its parameters.")
    cents = models.PositiveBigIntegerField(help_text="What it would commit, fees included.")
    currency = models.CharField(max_length=CURRENCY_LENGTH)
    # of the design, state, platform, pause and cost: if one has changed, the request becomes void (money/orders.py)
    situation = models.CharField(max_length=64, help_text="A digest of what it was asked about.")
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    asked_by = account_key(models.PROTECT, "Empty for a command.")
    door = models.CharField(
        "source of the request", max_length=7, blank=True, help_text="page, api, job or command"
    )
    asked_at = models.DateTimeField(default=timezone.now)
    decided_by = account_key(models.PROTECT)
    decided_at = models.DateTimeField(null=True, blank=True)
    words = models.CharField(max_length=1000, blank=True, help_text="What became of it.")

    class Meta:
        ordering = ["id"]
        permissions = [("confirm_spending", "Can confirm orders above the installation's sum")]
        constraints = [
            models.CheckConstraint(
                condition=Q(decided_by=None)
                | Q(asked_by=None)
                | ~Q(decided_by=F("asked_by"))
                | ~Q(state="done"),
                name="who_asks_for_money_does_not_confirm",
            )
        ]

    def __str__(self) -> str:
        return f"{self.operation} of {self.study}"


class MoneyRequest(models.Model):
    """An HTTP request with an idempotency key, and its response, which is returned again if the request is repeated."""

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=KEY_LENGTH, help_text="The Idempotency-Key it came with.")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    step = models.CharField(max_length=20, help_text="bonus, top-up, budget, retry, was-done, was-not-done.")
    digest = models.CharField(
        max_length=64, help_text="Of all that was asked: the same key must ask for the same."
    )
    answer = models.JSONField(default=dict, blank=True, help_text="What was answered, and is again.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["by", "key"], name="a_key_once_per_account")]

    def __str__(self) -> str:
        return f"{self.step} {self.key}"
