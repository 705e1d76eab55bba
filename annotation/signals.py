"""Signals for other apps."""

from django.dispatch import Signal

ids_forgotten = Signal()  # gets ``study``, in the transaction that deletes its raw ids
# gets ``study`` and ``words`` (what named people -> what stands in its place), in the transaction that erases them
person_erased = Signal()
# gets ``study`` and ``withdraw``, after that transaction; may be sent again
erasure_committed = Signal()
