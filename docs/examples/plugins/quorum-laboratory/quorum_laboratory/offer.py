"""What study files may ask of the crowd; apart from its class, since designs are read before crowds are."""

from judgments.design.crowds import QUALIFIED, CrowdOffer

OFFER = CrowdOffer("laboratory", "People in a laboratory", frozenset({QUALIFIED}))
