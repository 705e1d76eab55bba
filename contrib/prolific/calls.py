"""The URL of Prolific's demographics below /api/."""

from contrib.prolific.demographics import demographics
from judgments.api.operations import operation_path

urlpatterns = [operation_path(demographics)]
