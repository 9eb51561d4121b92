"""Posterior of the physical laws given the runs, sampled by sequential Monte Carlo.

Draws from the prior are tempered: the power of their likelihood rises from 0 to 1 in steps, with
resampling and Metropolis moves after each. What the draws predict is in `averaging.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.draw_weights import (
    normalised_weights,
    systematic_resample,
    tempering_step,
)
from engine.models.laws.laws import CLIFF, SPARSEST, STOP, Laws
from engine.models.laws.observations import Observations, log_likelihood
from engine.models.laws.prior_laws import first_prior_laws, stratified_prior_laws
from engine.models.laws.proposals import Proposals, ProposalStream
from engine.models.laws.reference_frame import LawFeatures

FIRST_DRAWS = 600_000
"""Draws from the prior, divided by the number of runs. Few runs need many draws: they leave laws of
different kinds, and the probability of each kind must not depend on chance."""

KEPT, FEWEST_KEPT, MOST_KEPT = 50_000, 500, 1_000
"""Draws that are kept and moved: the first divided by the number of runs, within the other two."""

MOVES, MOVES_AT_GOAL, LAST_MOVES = 4, 8, 2
"""Metropolis moves of each draw after a step, after a step that reaches the power aimed at, and
after the last one to the full likelihood, from draws that are moved already: of `MANY_RUNS`, where
most of these stay effective, or in a fit that does not answer alone."""

MIXED_MOVES, MIXED_MOVES_AT_GOAL = 2, 4
"""The first two in a fit that does not answer alone."""

MIXED_MOVES_FROM_PRIOR, MIXED_MOVES_FROM_PRIOR_AT_GOAL = 0, 2
"""The same after its first step, from draws of the prior: what a resampled one is apart from its
copies, the moves after later steps make of it."""

MANY_RUNS = 30
"""Runs from which on the tempered draws have at least nine tenths of the likelihood's power."""

EFFECTIVE_SHARE = 0.5
"""Effective sample size after a step, as a share of the draws that are kept."""

NEARLY_THERE = 0.9
"""Share of the way to the power aimed at from which on a step goes all of it: another step for the
rest would take as many moves as one."""

TIMES_PER_BLOCK = 131_072
"""Log times (laws x points) that are computed at once."""


@dataclass(frozen=True, eq=False)
class PosteriorDraws:
    """Equally probable draws of laws from the posterior given the runs.

    Args:
        observations: of the runs.
        tempered: draws given the likelihood raised to `power`: wide enough to serve, reweighted,
            with any one run left out.
        draw_untempered: continues these to the full likelihood. It is called on demand, since the
            search for outliers needs the tempered draws alone.
        prior_log_times: (p, .) log times at the runs' distinct points by the draws from the prior,
            in blocks. They do not depend on the run weights.
        path: the populations through which the draws were tempered, those from the prior first;
            each by the likelihood that it was drawn with.
        may_continue: whether draws for other run weights may begin with one of these.
    """

    observations: Observations
    tempered: Laws
    power: float
    draw_untempered: Callable[[], Laws]
    prior_log_times: Sequence[FloatArray]
    path: Sequence[Population] = ()
    may_continue: bool = False

    @cached_property
    def laws(self) -> Laws:
        """Draws given the full likelihood."""
        return self.draw_untempered()

    @cached_property
    def tempered_residuals(self) -> FloatArray:
        """(r, d) log times of the runs less those by the tempered draws, effects included."""
        log_times = self.tempered.log_times_from(self.observations.features)
        return self.observations.log_seconds[:, None] - log_times

    @cached_property
    def weighted_residuals(self) -> FloatArray:
        """(r, d) the precision of the runs times `tempered_residuals`."""
        return self.observations.weighted_by_precision(self.tempered_residuals)

    @cached_property
    def tempered_misfit(self) -> FloatArray:
        """(d,) misfit of the tempered draws."""
        return self.observations.misfit(self.tempered_residuals)

    @cached_property
    def tempered_log_density(self) -> FloatArray:
        """(d,) log density of the tempered draws relative to the prior, up to a constant."""
        return self.power * log_likelihood(self.tempered_misfit, self.observations.runs)

    @cached_property
    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """(r, d) error of log time of each run by each tempered draw given the other runs, effects
        included (Rasmussen and Williams, 5.12), and (r, d) weights that make these the posterior
        without the run (importance sampling)."""
        observations = self.observations
        precision = np.diag(observations.precision)[:, None]
        errors = self.weighted_residuals / precision
        without = np.maximum(self.tempered_misfit - errors**2 * precision, 0.0)
        run_weights = 1.0 if observations.run_weights is None else observations.run_weights[:, None]
        log_density = log_likelihood(without, observations.runs - run_weights)
        return errors, normalised_weights(log_density - self.tempered_log_density)


def posterior(
    observations: Observations, *, before: PosteriorDraws | None = None, seed: int = 0
) -> PosteriorDraws:
    """Draws of laws from the posterior given the runs, by sequential Monte Carlo.

    Draws from the prior are tempered in steps that keep enough of them effective, and moved by
    differential evolution after each step (Del Moral, Doucet and Jasra, J. R. Stat. Soc. B 2006;
    ter Braak, Statistics and Computing 2006), so that the laws of many runs are found too.

    Args:
        before: draws given the same runs with other run weights; their log times are used again,
            and where they `may_continue` the last of their populations that serves.
    """
    runs = len(observations)
    share = observations.draw_share
    size = int(max(share * np.clip(KEPT // runs, FEWEST_KEPT, MOST_KEPT), FEWEST_KEPT))
    frame = observations.frame
    features = frame.features(observations.at_distinct_points.points)
    likelihood = Likelihood(observations, features.in_single_precision)
    draws = max(int(share * FIRST_DRAWS) // runs, size)
    draw_prior = stratified_prior_laws if likelihood.is_mixed else first_prior_laws
    first = draw_prior(frame, draws, seed=seed)
    times = before.prior_log_times if before else likelihood.log_times(first)
    power = max(0.5, 1.0 - 3.0 / runs)
    path = likelihood.continued(before.path) if before and before.may_continue else []
    if not path:
        path = [Population(likelihood.scored(first, times), 0.0, ProposalStream(seed, size))]
    path = [*path[:-1], *likelihood.temper(path[-1], power)]
    return PosteriorDraws(
        observations,
        path[-1].scored.laws.in_double_precision,
        power,
        lambda: likelihood.temper(path[-1], 1.0)[-1].scored.laws.in_double_precision,
        times,
        path,
    )


@dataclass(frozen=True, eq=False)
class ScoredLaws:
    """d laws with their log likelihood and their log prior density, both (d,)."""

    laws: Laws
    log_likelihood: FloatArray
    log_prior: FloatArray

    def take(self, indices: IntArray) -> ScoredLaws:
        laws = self.laws.take(indices)
        log_prior = self.log_prior[indices] if len(self.log_prior) else laws.log_prior
        return ScoredLaws(laws, self.log_likelihood[indices], log_prior)


@dataclass(frozen=True, eq=False)
class Population:
    """Laws drawn given the likelihood to a power, and the random numbers that follow."""

    scored: ScoredLaws
    power: float
    stream: ProposalStream


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The likelihood of laws given the runs; `features` are those of their p distinct points."""

    observations: Observations
    features: LawFeatures

    def log_times(self, laws: Laws) -> list[FloatArray]:
        """Log times (p, .) at the points by all laws, in blocks of laws small enough for the CPU's
        cache."""
        laws_per_block = max(1, TIMES_PER_BLOCK // len(self.features.terms))
        starts = range(0, len(laws), laws_per_block)
        return [
            laws.take(slice(at, at + laws_per_block)).log_times_from(self.features) for at in starts
        ]

    def scored(self, laws: Laws, times: Sequence[FloatArray]) -> ScoredLaws:
        """The laws with their log likelihood, from their log times at the points."""
        log_likelihood = np.concatenate([self.from_log_times(part) for part in times])
        return ScoredLaws(laws, log_likelihood, np.empty(0))

    def temper(self, start: Population, goal: float) -> list[Population]:
        """The populations from `start` to the likelihood to the power `goal`."""
        path = [start]
        while path[-1].power < goal:
            path.append(self._next(path[-1], goal))
        return path

    def _next(self, population: Population, goal: float) -> Population:
        """The next population on the way to the power `goal`."""
        scored, power, stream = population.scored, population.power, population.stream.copy()
        step = tempering_step(scored.log_likelihood, goal - power, EFFECTIVE_SHARE * stream.count)
        if step >= NEARLY_THERE * (goal - power):
            step = goal - power
        from_prior = power == 0.0
        power = goal if step == goal - power else power + step
        moves = self._moves(at_goal=power == goal, from_prior=from_prior)
        if power == 1.0 and (len(self.observations) >= MANY_RUNS or self.is_mixed):
            moves = LAST_MOVES
        return self._moved(scored, step * scored.log_likelihood, power, stream, moves)

    @property
    def is_mixed(self) -> bool:
        """Whether the fit is mixed with another one: less hangs on chance in its draws."""
        return self.observations.draw_share < 1.0

    def _moves(self, *, at_goal: bool, from_prior: bool = False) -> int:
        """Metropolis moves after a step; fewer in a fit that is mixed with another one."""
        if not self.is_mixed:
            return MOVES_AT_GOAL if at_goal else MOVES
        if from_prior:
            return MIXED_MOVES_FROM_PRIOR_AT_GOAL if at_goal else MIXED_MOVES_FROM_PRIOR
        return MIXED_MOVES_AT_GOAL if at_goal else MIXED_MOVES

    def _moved(
        self,
        scored: ScoredLaws,
        log_weights: FloatArray,
        power: float,
        stream: ProposalStream,
        moves: int,
    ) -> Population:
        """The laws drawn by their weights, and moved given the likelihood to a power."""
        weights = normalised_weights(log_weights)
        scored = scored.take(systematic_resample(weights, stream.count, stream.offset()))
        for _ in range(moves):
            scored = _metropolis_step(scored, self, power, stream.proposals())
        return Population(scored, power, stream)

    def continued(self, path: Sequence[Population]) -> list[Population]:
        """A path by likelihoods with other run weights, up to the last population that, reweighted
        for this one, leaves as large an effective sample as a step does; then that one reweighted
        and moved. Empty where none but the prior's does.

        What lies before tells nothing of the change: it is not made again.
        """
        for index in range(len(path) - 1, 0, -1):
            scored, power = path[index].scored, path[index].power
            log_likelihood = self.log_likelihood(scored.laws)
            log_weights = power * (log_likelihood - scored.log_likelihood)
            weights = normalised_weights(log_weights)
            if 1.0 / (weights @ weights) >= EFFECTIVE_SHARE * len(weights):
                scored = replace(scored, log_likelihood=log_likelihood)
                moves = self._moves(at_goal=index == len(path) - 1)
                stream = path[index].stream.copy()
                moved = self._moved(scored, log_weights, power, stream, moves)
                return [*path[: index + 1], moved]
        return []

    def log_likelihood(self, laws: Laws) -> FloatArray:
        """(d,) log likelihood of the laws."""
        return self.from_log_times(laws.log_times_from(self.features))

    def from_log_times(self, times: FloatArray) -> FloatArray:
        """(d,) log likelihood of laws from the log times (p, d) that they predict at the points."""
        misfit = self.observations.at_distinct_points.misfit(times)
        return log_likelihood(misfit, self.observations.runs)


def _metropolis_step(
    scored: ScoredLaws, likelihood: Likelihood, power: float, proposals: Proposals
) -> ScoredLaws:
    """The laws after one Metropolis step of each."""
    laws, proposal = scored.laws, _proposed_laws(scored.laws, proposals)
    log_likelihood, log_prior = likelihood.log_likelihood(proposal), proposal.log_prior
    gain = power * (log_likelihood - scored.log_likelihood) + log_prior - scored.log_prior
    accepted = proposals.log_uniform < gain
    return ScoredLaws(
        Laws(laws.frame, np.where(accepted, proposal.parameters, laws.parameters)),
        np.where(accepted, log_likelihood, scored.log_likelihood),
        np.where(accepted, log_prior, scored.log_prior),
    )


def _proposed_laws(laws: Laws, proposals: Proposals) -> Laws:
    """The proposed laws: each moved along the difference of two others (differential evolution)."""
    parameters = laws.parameters
    proposed = parameters.take(proposals.first, axis=1) - parameters.take(proposals.second, axis=1)
    proposed *= proposals.step_by_parameter
    proposed += parameters
    shares = proposed[:CLIFF]
    shares += proposals.jitter
    np.maximum(shares, SPARSEST, out=shares)
    proposed[CLIFF] = np.where(
        proposals.redraws_cliff, proposals.redrawn_cliff, proposed_cliffs(laws, proposals)
    )
    if laws.frame.iteration_range == 0.0:  # one number of iterations shows nothing of it
        proposed[STOP:] = parameters[STOP:]
    return Laws(laws.frame, proposed)


def proposed_cliffs(laws: Laws, proposals: Proposals) -> FloatArray:
    """(d,) proposed cliff of each law, as a probability of its prior.

    It moves along the difference of the cliffs of two laws, where both are in the same piece of the
    prior, and wraps round within that piece: so the reverse move is as likely.
    """
    edges, widths = laws.frame.cliff_pieces
    cliff, first, second = laws.cliff, proposals.first, proposals.second
    piece = edges.searchsorted(cliff, side="right") - 1
    moves = (piece > 0) & (piece.take(first) == piece) & (piece.take(second) == piece)
    start = edges.take(piece)
    moved = cliff - start
    moved += moves * proposals.step * (cliff.take(first) - cliff.take(second))
    moved %= widths.take(piece)
    moved += start
    return np.asarray(moved)
