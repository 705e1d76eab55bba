"""The name of the crowd, and what study files can require of its workers.

This is not in the module of the backend, since designs are read before backends are loaded.
"""

from judgments.design.crowds import QUALIFIED, CrowdOffer

OFFER = CrowdOffer("laboratory", "People in a laboratory", frozenset({QUALIFIED}))
