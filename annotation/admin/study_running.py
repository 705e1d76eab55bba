"""Operations on an open study, for the dashboard's forms."""

from annotation.work.operations import expire, extend, pause, resume
from judgments.admin.operations import add_operation

add_operation(pause, label="Pause")
add_operation(resume, label="Resume")
add_operation(
    extend, name="add-workers", label="Extend", fields=("workers", "hits", "why"), needed=("workers",)
)
add_operation(
    extend, name="more-time", label="Give more time", fields=("minutes", "why"), needed=("minutes",)
)
add_operation(expire, name="take-back", label="Take back", fields=("why",))
add_operation(
    expire, name="expire-slots", label="Expire open slots", fields=("hits", "why"), needed=("hits",)
)
