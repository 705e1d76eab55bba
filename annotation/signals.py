"""What other apps may listen to."""

from django.dispatch import Signal

ids_forgotten = Signal()  # gets ``study``, in the transaction that deletes its raw ids
