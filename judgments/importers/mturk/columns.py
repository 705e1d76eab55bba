"""The columns of result files, under the names of the requester pages.

The requester pages have written the same columns for fifteen years, some files without the three approval rates.
The command line tools (2008 to 2017) wrote names of their own in lower case, separated by tabs.
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

# Where the command line tools' name differs by more than capitals. Their "reject" is a flag of the same meaning.
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
# Their last column: a row holds every answer behind it, a name and a value in turn.
OLD_ANSWERS = "answers[question_id answer_value]"

_KNOWN = {name.lower(): name for name in (*COLUMNS, *REVIEW_COLUMNS)} | OLD_NAMES


def canonical(name: str) -> str:
    """A header's name as the requester pages write it; names of our own keep their letters."""
    name = name.strip()
    for prefix in (INPUT, ANSWER):
        if name.lower().startswith(prefix.lower()):
            return prefix + name[len(prefix) :]
    return _KNOWN.get(name.lower(), name)


def is_known(name: str) -> bool:
    """Whether a canonical name belongs to a result file."""
    return name.lower() in _KNOWN or name.startswith((INPUT, ANSWER)) or name.lower() == OLD_ANSWERS
