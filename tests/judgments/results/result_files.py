"""Small result files in the forms of fifteen years; people, pictures and words are ours."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

COLUMNS = (
    "HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime", "MaxAssignments",
    "RequesterAnnotation", "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds", "Expiration",
    "NumberOfSimilarHITs", "LifetimeInSeconds", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime",
    "SubmitTime", "AutoApprovalTime", "ApprovalTime", "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds",
    "LifetimeApprovalRate", "Last30DaysApprovalRate", "Last7DaysApprovalRate",
)  # fmt: skip
ROW: dict[str, str] = {
    "HITId": "3KHIT00000000000000000000000A1",
    "HITTypeId": "3KTYPE0000000000000000000000T1",
    "Title": "Which sentence fits the picture?",
    "Description": "Look at a picture, read two sentences, choose one.",
    "Keywords": "picture, sentence",
    "Reward": "$0.10",
    "CreationTime": "Wed Nov 20 21:03:26 PST 2019",
    "MaxAssignments": "3",
    "RequesterAnnotation": "BatchId:1234567;OriginalHitTemplateId:765432100;",
    "AssignmentDurationInSeconds": "3600",
    "AutoApprovalDelayInSeconds": "259200",
    "Expiration": "Wed Nov 27 21:03:26 PST 2019",
    "LifetimeInSeconds": "",
    "AssignmentId": "3ASSIGNMENT0000000000000000001",
    "WorkerId": "AWORKER0000001",
    "AssignmentStatus": "Submitted",
    "AcceptTime": "Thu Nov 21 08:00:00 PST 2019",
    "SubmitTime": "Thu Nov 21 08:00:44 PST 2019",
    "WorkTimeInSeconds": "44",
    "LifetimeApprovalRate": "0% (0/0)",
    "Last30DaysApprovalRate": "0% (0/0)",
    "Last7DaysApprovalRate": "0% (0/0)",
    "Input.image": "pier.jpg",
    "Input.a": "Two people fish .",
    "Input.b": "A dog sleeps .",
    "Answer.choice": "left",
    "Approve": "",
    "Reject": "",
}


def row_with(**changes: str) -> dict[str, str]:
    """ROW with other cells; ``Input__image`` names ``Input.image``."""
    return ROW | {name.replace("__", "."): cell for name, cell in changes.items()}


def csv_text(*rows: Mapping[str, str], without: tuple[str, ...] = ()) -> str:
    """The rows as the requester pages write them: every cell in quotes, a column for each name in any row."""
    columns = dict.fromkeys(
        name for row in rows for name in row if name not in (*COLUMNS, "Approve", "Reject")
    )
    names = [name for name in (*COLUMNS, *columns, "Approve", "Reject") if name not in without]
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([[row.get(name, "") for name in names] for row in rows])
    return stream.getvalue()


def csv_file(folder: Path, *rows: Mapping[str, str], without: tuple[str, ...] = ()) -> Path:
    """The same as a file."""
    path = folder / "Batch_1234567_batch_results.csv"
    path.write_text(csv_text(*rows, without=without), encoding="utf-8")
    return path


OLD_NAMES = (
    "hitid", "hittypeid", "title", "description", "keywords", "reward", "creationtime", "assignments", "numavailable",
    "numpending", "numcomplete", "hitstatus", "reviewstatus", "annotation", "assignmentduration", "autoapprovaldelay",
    "hitlifetime", "viewhit", "assignmentid", "workerid", "assignmentstatus", "autoapprovaltime",
    "assignmentaccepttime", "assignmentsubmittime", "assignmentapprovaltime", "assignmentrejecttime", "deadline",
    "feedback", "reject",
)  # fmt: skip
OLD_ROW: dict[str, str] = {
    "hitid": "OLDHIT1",
    "hittypeid": "OLDTYPE1",
    "title": "Which sentence?",
    "reward": "$0.05",
    "creationtime": "Sun Feb 21 04:20:00 GMT 2010",
    "assignments": "3",
    "hitstatus": "Reviewable",
    "annotation": "pier.jpg",
    "assignmentid": "OLDASSIGNMENT1",
    "workerid": "AOLD1",
    "assignmentstatus": "Approved",
    "assignmentaccepttime": "Sun Feb 21 04:24:15 GMT 2010",
    "assignmentsubmittime": "Sun Feb 21 04:25:15 GMT 2010",
}


def old_line(row: Mapping[str, str], *answers: str) -> str:
    """A line of a ``.results`` file: cells in quotes with tabs between them, the answers behind."""
    cells = [row.get(name, "") for name in OLD_NAMES] + list(answers)
    return "\t".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"


def old_header(*answers: str) -> str:
    """Its first line, with the columns of the answers."""
    return "\t".join(f'"{name}"' for name in (*OLD_NAMES, *answers)) + "\n"
