"""The smooth remainder and the waves of a Gaussian process at many points, from few of each kind.

A squared exponential of several coordinates is the product of one of the first (the machines) and
one of the others; a wave effect that of one of the cores and one of the input. So the covariance of
a point with run r is

    c_r = a_g(r) b_r + w_u(r) v_r

with a by the machines of the point and of the run (g), b by all else that is asked (the kind of the
point), w by the cores of both (u), and v by the input. Runs are on few numbers of machines and of
cores, and the points of a grid are few kinds on few numbers of machines. So what is linear or
quadratic in c is so in a and w, with coefficients that are sums over the runs, made once for each
kind and input.

In: points and runs. Out: linear and quadratic forms of their covariances. Explained in
docs/models/sparkplan_rules_run_tables.md#the-rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from engine.distinct import distinct_rows
from engine.forecast import BoolArray, FloatArray, IntArray

WAVES_LENGTH = 0.1
"""The length of the waves: neighbouring numbers of cores, and inputs, hardly share the effect
peculiar to one."""

KINDS_AT_ONCE = 64
"""Kinds of points that are computed at once, each on the machines of all."""


@dataclass(frozen=True, eq=False)
class ProcessInputs:
    """n points as the process sees them.

    Args:
        effects: (n, e) columns of the linear effects, each times its prior standard deviation.
        coordinates: (n, c) of the smooth remainder.
        cores: (n,) log of the cores in all.
        sizes: (n,) log of the input.
    """

    effects: FloatArray
    coordinates: FloatArray
    cores: FloatArray
    sizes: FloatArray

    def __len__(self) -> int:
        return len(self.effects)


@dataclass(frozen=True, eq=False)
class SizeIterationGrid:
    """Sizes, and iterations, that replace those of points: s combinations.

    Args:
        columns: (q,) the coordinates that change.
        values: (s, q) what these become, the same for all points.
        sizes: (s,) log of the input.
    """

    columns: IntArray
    values: FloatArray
    sizes: FloatArray


@dataclass(frozen=True, eq=False)
class Remainder:
    """The part of the kernel that is no linear effect.

    Args:
        runs: r runs.
        amplitude: of the smooth remainder.
        waves: (k,) amplitudes of the wave effects: by cores, and by cores and input.
        lengths: (c,) of the coordinates.
    """

    runs: ProcessInputs
    amplitude: float
    waves: FloatArray
    lengths: FloatArray

    @property
    def variance(self) -> float:
        """Prior variance of a point."""
        return float(self.amplitude**2 + self.waves @ self.waves)

    @property
    def covariance(self) -> FloatArray:
        """(r, r) of the runs."""
        scaled, cores = self.runs.coordinates / self.lengths, self.runs.cores
        waves = self._by_size(self.runs.sizes) * wave_correlation(cores, cores)
        return np.asarray(self.amplitude**2 * _squared_exponential(scaled, scaled) + waves)

    def forms(
        self, at: ProcessInputs, precision: FloatArray, columns: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(n,) c' P c and (n, q) c' Q of the covariances c of n points with the runs, for a
        symmetric `precision` P (r, r) and `columns` Q (r, q)."""
        squares, products = np.empty(len(at)), np.empty((len(at), columns.shape[1]))
        core_groups, run_cores = self._core_groups
        for part in self._kinds(at.coordinates, at.sizes, np.empty(0, dtype=np.int64)):
            by_machines = part.by_run[:, None] * part.run_groups
            weighted = by_machines @ precision
            square = part.quadratic(weighted @ by_machines.swapaxes(1, 2))
            by_size = self._by_size(part.sizes)
            with_waves = (weighted * by_size[part.size_of][:, None]) @ core_groups.T
            linear = part.linear(np.concatenate((by_machines @ columns, with_waves), axis=2))
            product, crossed = np.split(linear, [columns.shape[1]], axis=1)
            waves = wave_correlation(at.cores[part.rows], run_cores)
            for size, by_cores in enumerate(by_size[:, None] * core_groups):
                of = slice(None) if len(by_size) == 1 else part.size_of[part.kind_of] == size
                both = 2.0 * crossed[of] + waves[of] @ (by_cores @ precision @ by_cores.T)
                square[of] += np.einsum("nu,nu->n", both, waves[of])
                product[of] += waves[of] @ (by_cores @ columns)
            squares[part.rows], products[part.rows] = square, product
        return squares, products

    def means(
        self, at: ProcessInputs, dual_weights: FloatArray, grid: SizeIterationGrid
    ) -> FloatArray:
        """(s, n) c' w of points with each size and iterations of the grid, for weights w (r,)."""
        core_groups, run_cores = self._core_groups
        weights = (self._by_size(grid.sizes) * dual_weights) @ core_groups.T
        means = weights @ wave_correlation(run_cores, at.cores)
        lengths = self.lengths[grid.columns]
        known = self.runs.coordinates[:, grid.columns] / lengths
        weights = dual_weights * _squared_exponential(grid.values / lengths, known)
        for part in self._kinds(at.coordinates, np.zeros(len(at)), grid.columns):
            by_machines = part.by_run[:, None] * part.run_groups
            means[:, part.rows] += part.linear(by_machines @ weights.T).T
        return means

    def _by_size(self, sizes: FloatArray) -> FloatArray:
        """(z, r) covariance of the waves at (z,) sizes with those of the runs, on their cores."""
        by_cores, by_both = (*self.waves**2, 0.0, 0.0)[:2]
        return np.asarray(by_cores + by_both * wave_correlation(sizes, self.runs.sizes))

    @cached_property
    def _core_groups(self) -> tuple[BoolArray, FloatArray]:
        return _groups(self.runs.cores)

    def _kinds(
        self, coordinates: FloatArray, sizes: FloatArray, without: IntArray
    ) -> Iterator[_Kinds]:
        """Points with (n, c) coordinates, `without` some of these, and (n,) sizes, in parts of few
        kinds."""
        wanted, known = (
            np.delete(of / self.lengths, without, axis=1)
            for of in (coordinates, self.runs.coordinates)
        )
        if not wanted.shape[1]:
            wanted, known = np.zeros((len(wanted), 1)), np.zeros((len(known), 1))
        run_groups, run_firsts = _groups(known[:, 0])
        kinds, kind_of = distinct_rows([sizes, *wanted.T[1:]])
        order = np.argsort(kind_of, kind="stable")
        parts = range(0, len(kinds), KINDS_AT_ONCE)
        begins = np.searchsorted(kind_of[order], [*parts, len(kinds)])
        for least, (start, end) in zip(parts, pairwise(begins), strict=True):
            rows = order[start:end]
            of_part = kinds[least : least + KINDS_AT_ONCE]
            firsts, first_of = np.unique(wanted[rows, 0], return_inverse=True)
            distinct_sizes, size_of = np.unique(sizes[of_part], return_inverse=True)
            by_run = _squared_exponential(wanted[of_part, 1:], known[:, 1:])
            yield _Kinds(
                rows=rows,
                by_first=_squared_exponential(firsts[:, None], run_firsts[:, None]),
                run_groups=run_groups,
                by_run=self.amplitude**2 * by_run,
                sizes=distinct_sizes,
                size_of=size_of,
                kind_of=kind_of[rows] - least,
                first_of=first_of,
            )


@dataclass(frozen=True, eq=False)
class _Kinds:
    """n of the points: k kinds, which differ in more than the first coordinate, on m values of it.

    Args:
        rows: (n,) their indices.
        by_first: (m, g) the kernel by the first coordinate, with the g groups of runs that are
            alike in it. run_groups: (g, r) which runs these are.
        by_run: (k, r) that by the other coordinates, amplitude included.
        sizes: (z,) of the points. size_of: (k,) which each kind has.
        kind_of, first_of: (n,) which each point has.
    """

    rows: IntArray
    by_first: FloatArray
    run_groups: BoolArray
    by_run: FloatArray
    sizes: FloatArray
    size_of: IntArray
    kind_of: IntArray
    first_of: IntArray

    def linear(self, coefficients: FloatArray) -> FloatArray:
        """(n, q) the sums over `by_first` with (k, g, q) coefficients."""
        return self._at_points(np.tensordot(self.by_first, coefficients, (1, 1)))

    def quadratic(self, coefficients: FloatArray) -> FloatArray:
        """(n,) the quadratic forms of `by_first` with (k, g, g) coefficients."""
        pairs = self.by_first[:, :, None] * self.by_first[:, None]
        forms = pairs.reshape(len(pairs), -1) @ coefficients.reshape(len(coefficients), -1).T
        return self._at_points(forms[:, :, None])[:, 0]

    def _at_points(self, values: FloatArray) -> FloatArray:
        """(n, q) of the points, from (m, k, q) of each kind on each first coordinate."""
        firsts, kinds, columns = values.shape
        cells = self.first_of * kinds + self.kind_of
        return np.asarray(values.reshape(firsts * kinds, columns).take(cells, axis=0))


def _groups(values: FloatArray) -> tuple[BoolArray, FloatArray]:
    """(g, r) which of (r,) values are each of the distinct ones, and (g,) these."""
    known = np.unique(values)
    return known[:, None] == values, known


def _squared_exponential(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, r) exp(-1/2 d^2) of the distances d of rows (n, c) and (r, c)."""
    apart = -2.0 * (x @ y.T)
    apart += np.einsum("nc,nc->n", x, x)[:, None]
    apart += np.einsum("rc,rc->r", y, y)
    return np.asarray(np.exp(-0.5 * np.maximum(apart, 0.0, out=apart)))


def wave_correlation(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, r) correlation of the wave effects of numbers of cores, or of inputs, (n,) and (r,)."""
    return np.asarray(np.exp(-0.5 * ((x[:, None] - y) / WAVES_LENGTH) ** 2))
