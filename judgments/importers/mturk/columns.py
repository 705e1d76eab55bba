"""Columns of result files, under the requester pages' names.

The requester pages' columns are stable, though some files lack the three approval rates. The command line
tools (2008 to 2017) used lower-case names, separated by tabs.
"""

from __future__ import annotations

COLUMNS = (
    "HITId",
    "HITTypeId",
    "Title",
    "Description",
    "Keywords",
    "Reward",
    "CreationTime",
    "MaxAssignments",
    "RequesterAnnotation",
    "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds",
    "Expiration",
    "NumberOfSimilarHITs",
    "LifetimeInSeconds",
    "AssignmentId",
    "WorkerId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
    "AutoApprovalTime",
    "ApprovalTime",
    "RejectionTime",
    "RequesterFeedback",
    "WorkTimeInSeconds",
    "LifetimeApprovalRate",
    "Last30DaysApprovalRate",
    "Last7DaysApprovalRate",
)
REVIEW_COLUMNS = ("Approve", "Reject")
INPUT, ANSWER = "Input.", "Answer."

# The command line tools' names that differ by more than case. Their "reject" is an equivalent flag.
OLD_NAMES = {
    "assignments": "MaxAssignments",
    "annotation": "RequesterAnnotation",
    "assignmentduration": "AssignmentDurationInSeconds",
    "autoapprovaldelay": "AutoApprovalDelayInSeconds",
    "hitlifetime": "LifetimeInSeconds",
    "assignmentaccepttime": "AcceptTime",
    "assignmentsubmittime": "SubmitTime",
    "assignmentapprovaltime": "ApprovalTime",
    "assignmentrejecttime": "RejectionTime",
    "feedback": "RequesterFeedback",
}
# Their last column: every answer follows it, name and value in turn.
OLD_ANSWERS = "answers[question_id answer_value]"

_KNOWN = {name.lower(): name for name in (*COLUMNS, *REVIEW_COLUMNS)} | OLD_NAMES


def canonical(name: str) -> str:
    """Return a header's name as the requester pages write it; keep the case of unknown names."""
    name = name.strip()
    for prefix in (INPUT, ANSWER):
        if name.lower().startswith(prefix.lower()):
            return prefix + name[len(prefix) :]
    return _KNOWN.get(name.lower(), name)


def is_known(name: str) -> bool:
    return name.lower() in _KNOWN or name.startswith((INPUT, ANSWER)) or name.lower() == OLD_ANSWERS
