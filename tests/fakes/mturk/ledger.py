"""The requester's prepaid account: available, held and spent, in integer cents.

Funds are held when work is put up, paid when it is approved, and given back when it is rejected, expires or
is taken down (MTURK.md §2 D). Always: deposited = available + held + spent.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from tests.fakes.mturk.errors import ParameterValidationError, RequestError

BASE_PERCENT = 20  # of rewards and of bonuses (D)
MANY_PERCENT = 20  # more when a HIT asks for ten or more assignments (D)
MASTERS_PERCENT = 5  # more when Masters are asked for (D)
MANY = 10
LEAST_FEE = 1  # cent, for an assignment and for a bonus (D)


def fee_cents(cents: int, percent: int) -> int:
    """The fee on an amount: rounded half up to the cent, one cent at least."""
    return max(LEAST_FEE, (cents * percent + 50) // 100)


def fee_percent(max_assignments: int, masters: bool) -> int:
    """What share of a reward the service takes."""
    return (
        BASE_PERCENT + (MANY_PERCENT if max_assignments >= MANY else 0) + (MASTERS_PERCENT if masters else 0)
    )


def cents_of(amount: str, name: str) -> int:
    """`"1.5"` is 150; the pattern of the model has been checked before."""
    whole, _, part = amount.partition(".")
    if not whole:
        raise ParameterValidationError(f"The value {amount} is invalid for {name}.")
    return int(whole) * 100 + int(part.ljust(2, "0") or 0)


def dollars(cents: int) -> str:
    """150 is `"1.50"`."""
    return f"{cents // 100}.{cents % 100:02d}"


@dataclass(frozen=True)
class Entry:
    """One movement; `cents` without the fee, which stands beside it."""

    at: datetime
    kind: str  # deposit, hold, release, reward, bonus
    about: str  # HIT or assignment
    worker: str
    cents: int
    fee: int


class Ledger:
    """The account and everything that ever moved on it."""

    def __init__(self, balance_cents: int) -> None:
        self.deposited = balance_cents
        self.available = balance_cents
        self.spent = 0
        self.holds: Counter[str] = Counter()
        self.entries: list[Entry] = []

    @property
    def held(self) -> int:
        """What lies held for work that is up or waits to be judged."""
        return self.holds.total()

    def deposit(self, cents: int, at: datetime) -> None:
        """More prepaid money."""
        self.deposited += cents
        self.available += cents
        self.entries.append(Entry(at, "deposit", "", "", cents, 0))

    def hold(self, hit_id: str, cents: int, at: datetime) -> None:
        """Brings the money held for a HIT to `cents`: takes what is missing, gives back what is too much."""
        change = cents - self.holds[hit_id]
        if change > 0:
            self.demand(change)
        if change:
            self.available -= change
            self.holds[hit_id] = cents
            self.entries.append(Entry(at, "hold" if change > 0 else "release", hit_id, "", abs(change), 0))

    def pay_held(self, hit_id: str, entry: Entry) -> None:
        """Pays a reward and its fee out of what is held for the HIT."""
        self.holds[hit_id] -= entry.cents + entry.fee
        self._book(entry)

    def pay_available(self, entry: Entry) -> None:
        """Pays a bonus, or a reward whose hold was given back before."""
        self.demand(entry.cents + entry.fee)
        self.available -= entry.cents + entry.fee
        self._book(entry)

    def demand(self, cents: int) -> None:
        """Refuses what the account does not cover (D; wording O resourcecontracts.org#538)."""
        if cents > self.available:
            raise RequestError(
                "This Requester has insufficient funds in their account to complete this transaction.",
                "InsufficientFunds",
            )

    def paid(self, kind: str) -> tuple[int, int]:
        """Cents and fees paid as `"reward"` or `"bonus"`."""
        entries = [entry for entry in self.entries if entry.kind == kind]
        return sum(entry.cents for entry in entries), sum(entry.fee for entry in entries)

    def as_json(self) -> dict[str, Any]:
        """Everything, for tests in other processes."""
        return {
            "deposited": self.deposited,
            "available": self.available,
            "held": self.held,
            "spent": self.spent,
            "entries": [asdict(entry) | {"at": entry.at.isoformat()} for entry in self.entries],
        }

    def _book(self, entry: Entry) -> None:
        self.spent += entry.cents + entry.fee
        self.entries.append(entry)
