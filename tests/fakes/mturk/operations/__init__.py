"""The operations of the requester's side, one function each, by the names of the service's model.

Importing a module enters its functions in `OPERATIONS`.
"""

from tests.fakes.mturk.operations import assignments, hits, notifications, qualifications, workers
from tests.fakes.mturk.operations.registry import OPERATIONS

__all__ = ["OPERATIONS", "assignments", "hits", "notifications", "qualifications", "workers"]
