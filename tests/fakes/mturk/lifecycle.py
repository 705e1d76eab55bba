"""What happens to HITs and assignments: by requesters, by workers, and by the passing of time.

Three clocks (MTURK.md §2 D): the lifetime closes a HIT to new workers only; an assignment's deadline gives its
place back; the auto-approval delay pays whether anybody looked or not.
"""

from datetime import datetime, timedelta

from tests.fakes.mturk.errors import RequestError, wrong_state
from tests.fakes.mturk.ledger import Entry
from tests.fakes.mturk.questions import Question
from tests.fakes.mturk.state import HIT, Assignment, HITType, World

OVERRIDABLE = timedelta(days=30)  # a rejection, counted from the submission (D)
DISPOSED_AFTER = timedelta(days=120)  # without use (D)


def counters(world: World, hit: HIT, now: datetime) -> tuple[int, int, int]:
    """Pending, available, completed. Completed is approved and rejected, not submitted (D)."""
    working = len(hit.having("Working"))
    unheard = sum(not turn.known(now) for turn in hit.having("Submitted"))
    judged = len(hit.having("Approved", "Rejected"))
    return working + unheard, max(0, hit.max_assignments - len(hit.kept)), judged


def refresh(world: World, hit: HIT, at: datetime) -> None:
    """Brings a HIT's state and the money held for it in line with its assignments and the time."""
    pending, available, _ = counters(world, hit, at)
    if hit.status == "Disposed":
        status = "Disposed"
    elif available and hit.expiration > at:
        status = "Assignable"
    elif pending:
        status = "Unassignable"
    else:
        status = "Reviewing" if hit.status == "Reviewing" else "Reviewable"
    before, hit.status = hit.status, status
    world.ledger.hold(hit.hit_id, held_for(hit, at), at)
    if status == "Reviewable" and before not in {"Reviewable", "Reviewing"}:
        hit.reviewable_since = at
        world.later(at + DISPOSED_AFTER, lambda then: _dispose_unused(world, hit, at, then))
        world.tell("HITReviewable", hit, at)


def held_for(hit: HIT, at: datetime) -> int:
    """What must lie held: each place that is taken and not judged, and each open one while the HIT is open."""
    if hit.status == "Disposed":
        return 0
    places = len(hit.having("Working", "Submitted"))
    if hit.expiration > at:
        places += max(0, hit.max_assignments - len(hit.kept))
    return places * hit.unit_cost


def create(
    world: World,
    hit_type: HITType,
    question: Question,
    *,
    lifetime: int,
    places: int,
    annotation: str | None,
    now: datetime,
) -> HIT:
    """Puts a HIT up and holds the money for all its places."""
    hit = HIT(
        number=world.number(),
        hit_id=world.new_id(),
        type=hit_type,
        question=question,
        created=now,
        expiration=now + timedelta(seconds=lifetime),
        max_assignments=places,
        annotation=annotation,
    )
    world.ledger.hold(hit.hit_id, places * hit.unit_cost, now)
    world.hits[hit.hit_id] = hit
    _watch_expiration(world, hit)
    world.tell("HITCreated", hit, now)
    return hit


def set_expiration(world: World, hit: HIT, expiration: datetime, now: datetime) -> None:
    """Closes a HIT, or keeps it open for longer; opening it again needs the money for its open places."""
    extends = expiration > hit.expiration
    if expiration > now:
        open_places = max(0, hit.max_assignments - len(hit.kept))
        needed = (len(hit.having("Working", "Submitted")) + open_places) * hit.unit_cost
        world.ledger.demand(needed - world.ledger.holds[hit.hit_id])
    hit.expiration = expiration
    _watch_expiration(world, hit)
    if extends and expiration > now:
        world.tell("HITExtended", hit, now)
    refresh(world, hit, now)


def add_places(world: World, hit: HIT, places: int, now: datetime) -> None:
    """More assignments; needs the money for them while the HIT is open."""
    if hit.expiration > now:
        world.ledger.demand(places * hit.unit_cost)
    hit.max_assignments += places
    world.tell("HITExtended", hit, now)
    refresh(world, hit, now)


def dispose(world: World, hit: HIT, at: datetime) -> None:
    """Takes a HIT away for good; what is held for it goes back."""
    hit.status = "Disposed"
    refresh(world, hit, at)
    world.tell("HITDisposed", hit, at)


def take(world: World, hit: HIT, worker_id: str, now: datetime) -> Assignment:
    """A worker's turn begins. The id of a turn that was given up goes to the next worker (O psiTurk#184)."""
    identifier = hit.free_ids.pop(0) if hit.free_ids else world.new_id()
    turn = Assignment(
        number=world.number(),
        assignment_id=identifier,
        hit=hit,
        worker_id=worker_id,
        accepted=now,
        deadline=now + timedelta(seconds=hit.type.duration),
    )
    hit.turns.append(turn)
    world.assignments[identifier] = turn
    world.holding[worker_id][identifier] = turn
    world.later(turn.deadline, lambda at: give_up(world, turn, "Abandoned", at))
    world.tell("AssignmentAccepted", hit, now, turn)
    refresh(world, hit, now)
    return turn


def give_up(world: World, turn: Assignment, state: str, at: datetime) -> None:
    """A turn ends without work: Returned by the worker, or Abandoned when its time is over."""
    if turn.state != "Working":
        return
    turn.state = state
    del world.holding[turn.worker_id][turn.assignment_id]
    turn.hit.free_ids.append(turn.assignment_id)
    world.tell(f"Assignment{state}", turn.hit, at, turn)
    refresh(world, turn.hit, at)


def submit(world: World, turn: Assignment, answer: str, now: datetime) -> None:
    """The work is handed in. The requester's side may hear of it only later (O ParlAI#2957)."""
    turn.state = "Submitted"
    del world.holding[turn.worker_id][turn.assignment_id]
    turn.order = world.number()
    turn.answer = answer
    turn.submitted = now
    turn.visible = now + timedelta(seconds=world.lag_seconds)
    turn.auto_approval = now + timedelta(seconds=turn.hit.type.auto_approval)
    world.tell("AssignmentSubmitted", turn.hit, now, turn)
    if world.lag_seconds:
        world.later(turn.visible, lambda at: refresh(world, turn.hit, at))
    world.later(turn.auto_approval, lambda at: _approve_by_time(world, turn, at))
    refresh(world, turn.hit, now)


def approve(world: World, turn: Assignment, *, feedback: str | None, override: bool, now: datetime) -> None:
    """Pays the reward. A rejection is overridden from free money, for 30 days, while the HIT is there (D)."""
    hit = turn.hit
    entry = Entry(now, "reward", turn.assignment_id, turn.worker_id, hit.type.reward_cents, hit.unit_fee)
    if turn.state == "Rejected" and override:
        if turn.submitted is None or now - turn.submitted > OVERRIDABLE:
            raise RequestError(
                f"Assignment {turn.assignment_id} was submitted more than 30 days ago.",
                "AssignmentTooOldToOverride",
            )
        if hit.status == "Disposed":
            raise wrong_state("HIT", "Assignable, Unassignable, Reviewable, Reviewing", hit.status)
        world.ledger.pay_available(entry)
        turn.rejected = None
        world.worker(turn.worker_id).rejected -= 1
    else:
        _demand_submitted(world, turn, now)
        world.ledger.pay_held(hit.hit_id, entry)
    turn.state = "Approved"
    turn.approved = now
    turn.feedback = feedback or turn.feedback
    world.worker(turn.worker_id).approved += 1
    world.reviewed.add(turn.worker_id)
    world.tell("AssignmentApproved", hit, now, turn)
    refresh(world, hit, now)


def reject(world: World, turn: Assignment, *, feedback: str, now: datetime) -> None:
    """Pays nothing and gives the held money back."""
    _demand_submitted(world, turn, now)
    turn.state = "Rejected"
    turn.rejected = now
    turn.feedback = feedback
    world.worker(turn.worker_id).rejected += 1
    world.reviewed.add(turn.worker_id)
    world.tell("AssignmentRejected", turn.hit, now, turn)
    refresh(world, turn.hit, now)


def _demand_submitted(world: World, turn: Assignment, now: datetime) -> None:
    """The two wordings are those of reports: null where the service knows of no submission (O ParlAI#2957)."""
    if turn.state == "Working" or (turn.state == "Submitted" and not turn.known(now)):
        raise wrong_state("Assignment", "null")
    if turn.state != "Submitted":
        raise wrong_state("Assignment", "Submitted")


def _watch_expiration(world: World, hit: HIT) -> None:
    at = hit.expiration

    def expire(then: datetime) -> None:
        if hit.expiration == at != hit.told_expired and hit.status != "Disposed":
            hit.told_expired = at
            world.tell("HITExpired", hit, then)
            refresh(world, hit, then)

    world.later(at, expire)


def _approve_by_time(world: World, turn: Assignment, at: datetime) -> None:
    if turn.state == "Submitted":
        if turn.visible is not None and turn.visible > at:
            turn.visible = at
        approve(world, turn, feedback=None, override=False, now=at)


def _dispose_unused(world: World, hit: HIT, since: datetime, at: datetime) -> None:
    waiting = hit.status in {"Reviewable", "Reviewing"} and hit.reviewable_since == since
    if waiting and not hit.having("Submitted"):
        dispose(world, hit, at)
