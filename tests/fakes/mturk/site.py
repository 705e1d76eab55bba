"""The workers' side: what a person sees, accepts, hands in and gives back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from tests.fakes.mturk import lifecycle
from tests.fakes.mturk.eligibility import may
from tests.fakes.mturk.operations.qualifications import grant
from tests.fakes.mturk.questions import Field, answers_document, form_answers_document, parse_test, score
from tests.fakes.mturk.state import HIT, Assignment, QualificationRequest, QualificationType, Worker, World

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # the id in a preview (D)
MOST_HELD = 25  # assignments that a worker may hold at once (?)


class SiteRefusal(Exception):
    """What the site tells a worker instead of doing what was asked."""

    def __init__(self, message: str, status: int = 409) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass(frozen=True)
class Frame:
    """The page of a HIT inside the site's own: where it lies and how high it is."""

    hit_id: str
    assignment_id: str
    url: str
    height: int


class Site:
    """What workers can do. Every method takes the lock and lets time pass first."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.base_url = ""  # what turkSubmitTo says

    def hits(self, worker_id: str) -> list[HIT]:
        """The HITs that a worker finds: open, not done before, and not hidden from this worker."""
        with self.world.lock:
            now = self.world.settle()
            worker = self.world.worker(worker_id)
            if worker_id in self.world.blocks:
                return []
            return [
                hit
                for hit in self.world.hits.values()
                if hit.status == "Assignable"
                and may(self.world, worker, hit.type, "discover")
                and self._turn_at(hit, worker_id) is None
                and hit.expiration > now
            ]

    def held(self, worker_id: str) -> list[Assignment]:
        """What a worker has accepted and not finished."""
        with self.world.lock:
            self.world.settle()
            return list(self.world.holding[worker_id].values())

    def hit(self, hit_id: str) -> HIT:
        """A HIT that is up."""
        hit = self.world.hits.get(hit_id)
        if hit is None or hit.status == "Disposed":
            raise SiteRefusal("There is no such HIT.", 404)
        return hit

    def preview(self, hit_id: str, worker_id: str = "") -> Frame:
        """The HIT's page before it is accepted: without a worker, and with no assignment (D)."""
        with self.world.lock:
            self.world.settle()
            hit = self.hit(hit_id)
            if hit.status != "Assignable":
                raise SiteRefusal("There are no more of these HITs.")
            if worker_id and not may(self.world, self.world.worker(worker_id), hit.type, "preview"):
                raise SiteRefusal(
                    "Your qualifications do not meet the requirements to preview this HIT.", 403
                )
            return self._frame(hit, {"assignmentId": PREVIEW, "hitId": hit.hit_id})

    def accept(self, hit_id: str, worker_id: str) -> Frame:
        """A worker's turn begins. A worker does a HIT once (D); who gave it back may take it again."""
        with self.world.lock:
            now = self.world.settle()
            worker = self.world.worker(worker_id)
            hit = self.hit(hit_id)
            earlier = self._turn_at(hit, worker_id)
            if earlier is not None and earlier.state == "Working":
                return self._assigned(earlier)
            self._demand_free(hit, worker, earlier)
            return self._assigned(lifecycle.take(self.world, hit, worker_id, now))

    def _demand_free(self, hit: HIT, worker: Worker, earlier: Assignment | None) -> None:
        if earlier is not None:
            raise SiteRefusal("You have already done this HIT.")
        if worker.worker_id in self.world.blocks:
            raise SiteRefusal("You are not allowed to do this Requester's HITs.", 403)
        if hit.status != "Assignable":
            raise SiteRefusal("There are no more of these HITs.")
        if not may(self.world, worker, hit.type, "accept"):
            raise SiteRefusal("Your qualifications do not meet the requirements to accept this HIT.", 403)
        if len(self.held(worker.worker_id)) >= MOST_HELD:
            raise SiteRefusal(f"You hold {MOST_HELD} HITs already; finish or return one first.")

    def assigned(self, assignment_id: str, worker_id: str) -> Frame:
        """The page of a turn that is going on."""
        with self.world.lock:
            self.world.settle()
            return self._assigned(self._own(assignment_id, worker_id))

    def turn(self, assignment_id: str) -> Assignment | None:
        """The latest turn of that id."""
        with self.world.lock:
            return self.world.assignments.get(assignment_id)

    def give_back(self, assignment_id: str, worker_id: str) -> None:
        """The worker returns it; nothing of the turn remains with the requester (O)."""
        with self.world.lock:
            now = self.world.settle()
            lifecycle.give_up(self.world, self._own(assignment_id, worker_id), "Returned", now)

    def submit(self, fields: Sequence[tuple[str, str]], worker_id: str = "") -> Assignment:
        """The form post of `externalSubmit`.

        Without a signed-in worker the assignment's id decides, as a form in a frame may come without cookies;
        with one, it must be the worker whose turn it is. Twice, too late, or for a turn that was given back
        or went on to somebody else: refused.
        """
        ids = [value for name, value in fields if name == "assignmentId"]
        answers = [(name, value) for name, value in fields if name != "assignmentId"]
        with self.world.lock:
            now = self.world.settle()
            if len(ids) != 1 or ids[0] == PREVIEW or not answers:
                raise SiteRefusal("There was a problem submitting your results for this HIT.", 400)
            turn = self.world.assignments.get(ids[0])
            if turn is None:
                raise SiteRefusal("There is no such assignment.", 404)
            if worker_id and turn.worker_id != worker_id:
                raise SiteRefusal("This HIT is not assigned to you.", 403)
            if turn.state != "Working":
                raise SiteRefusal("This HIT was submitted, returned or abandoned before.")
            question = turn.hit.question
            document = (
                form_answers_document(question.fields, answers)
                if question.kind == "form"
                else answers_document(answers)
            )
            lifecycle.submit(self.world, turn, document, now)
            return turn

    def _turn_at(self, hit: HIT, worker_id: str) -> Assignment | None:
        return next((turn for turn in hit.kept if turn.worker_id == worker_id), None)

    def _own(self, assignment_id: str, worker_id: str) -> Assignment:
        turn = self.world.assignments.get(assignment_id)
        if turn is None or turn.worker_id != worker_id or turn.state != "Working":
            raise SiteRefusal("This HIT is not assigned to you.", 403)
        return turn

    def _assigned(self, turn: Assignment) -> Frame:
        parameters = {
            "assignmentId": turn.assignment_id,
            "hitId": turn.hit.hit_id,
            "workerId": turn.worker_id,
            "turkSubmitTo": self.base_url,
        }
        return self._frame(turn.hit, parameters)

    def _frame(self, hit: HIT, parameters: dict[str, str]) -> Frame:
        if hit.question.kind == "external":
            url = hit.question.address(parameters)
        else:
            url = f"{self.base_url}/_frames/{hit.hit_id}?{urlencode(parameters)}"
        return Frame(hit.hit_id, parameters["assignmentId"], url, hit.question.frame_height)

    def request_qualification(self, type_id: str, worker_id: str) -> QualificationRequest:
        """A worker asks for a qualification: granted at once, decided by the requester, or after a test."""
        with self.world.lock:
            now = self.world.settle()
            kind = self.world.qualification_types.get(type_id)
            if kind is None or kind.status != "Active":
                raise SiteRefusal("There is no such qualification.", 404)
            self._demand_retry(kind, worker_id, now)
            self.world.worker(worker_id)
            number = self.world.number()
            request = QualificationRequest(number, self.world.new_id(), kind, worker_id, now)
            self.world.requests[request.request_id] = request
            if kind.test is None:
                request.state, request.submitted = "Pending", now
            return request

    def _demand_retry(self, kind: QualificationType, worker_id: str, now: datetime) -> None:
        """Once only, unless a delay was set and is over (D, CreateQualificationType)."""
        earlier = [
            request
            for request in self.world.requests.values()
            if request.type is kind and request.worker_id == worker_id
        ]
        if not earlier:
            return
        latest = max(earlier, key=lambda request: request.number)
        if latest.state == "Pending":
            raise SiteRefusal("Your request for this qualification is waiting for a decision.")
        if kind.retry_delay is None:
            raise SiteRefusal("You can request this qualification only once.")
        if now < latest.asked + timedelta(seconds=kind.retry_delay):
            raise SiteRefusal("You cannot request this qualification again yet.")

    def test_fields(self, request_id: str, worker_id: str) -> tuple[Field, ...]:
        """The questions of a test that was begun."""
        with self.world.lock:
            return parse_test(self._begun(request_id, worker_id).type.test or "")

    def take_test(
        self, request_id: str, worker_id: str, fields: Sequence[tuple[str, str]]
    ) -> QualificationRequest:
        """Hands a test in: scored by its answer key at once, or left to the requester."""
        with self.world.lock:
            now = self.world.settle()
            request = self._begun(request_id, worker_id)
            kind = request.type
            if now > request.asked + timedelta(seconds=kind.test_duration or 0):
                request.state = "Rejected"
                raise SiteRefusal("The time for this test is over.")
            request.submitted = now
            request.answer = form_answers_document(parse_test(kind.test or ""), list(fields))
            if kind.answer_key is None:
                request.state = "Pending"
            else:
                request.state = "Granted"
                grant(self.world, kind, worker_id, score(kind.answer_key, list(fields)), now)
            return request

    def _begun(self, request_id: str, worker_id: str) -> QualificationRequest:
        request = self.world.requests.get(request_id)
        if request is None or request.worker_id != worker_id or request.state != "Started":
            raise SiteRefusal("There is no test of yours to take here.", 404)
        return request
