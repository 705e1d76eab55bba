"""Plan the size of a study: the pairs, references, votes and people needed to distinguish two systems or metrics.

Power is simulated, as in Card et al. 2020 ("With Little Power Comes Great Responsibility"), with the t tests over items
and raters that later evaluate the study (`PeoplesWinners`). Type S error: Gelman, Carlin 2014. Voters follow a
beta-binomial model, whose parameters are assumed or fitted to a pilot.
"""

from quorum.statistics.power.plans import Plan, fresh_seed, plan_design
from quorum.statistics.power.questions import CONVENTIONAL_POWER, Question, Size, TwoMetrics, TwoSystems
from quorum.statistics.power.simulation import PowerResult, power_of
from quorum.statistics.power.voters import MAX_TASTE, PilotModel, VoterModel, fit_voter_model, true_share
