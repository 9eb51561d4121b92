"""Terms of run time in machines m and scale s: what computation and communication patterns cost.

Each is a function of arrays (n,) -> (n,). The scale is relative to the largest run measured, so
that a coefficient reads as seconds; every term grows with the scale or ignores it, so that with
coefficients >= 0 more input is never faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray


@dataclass(frozen=True, slots=True)
class Term:
    """One term: its name as shown, its phase in words, and its function of (machines, scale)."""

    name: str
    phase: str
    of: Callable[[FloatArray, FloatArray], FloatArray]


def serial(machines: FloatArray, scale: FloatArray) -> FloatArray:
    """1: serial computation (Ernest Eq. 1, theta_0)."""
    return np.ones_like(machines * scale)


def parallel(machines: FloatArray, scale: FloatArray) -> FloatArray:
    """s / m: computation that is shared evenly (Ernest Eq. 1, theta_1)."""
    return scale / machines


def tree_aggregation(machines: FloatArray, scale: FloatArray) -> FloatArray:
    """ln m: an aggregation tree (Ernest Eq. 1, theta_2); none within one machine or part of one."""
    return np.log(np.maximum(machines, 1.0)) + 0.0 * scale


def per_machine(machines: FloatArray, scale: FloatArray) -> FloatArray:
    """m: all-to-one communication, scheduling (Ernest Eq. 1, theta_3)."""
    return machines + 0.0 * scale


def square_root(machines: FloatArray, scale: FloatArray) -> FloatArray:
    """sqrt(m): two-level aggregation by sqrt(n) tasks for n partitions (Ernest 3.4), with the
    partitions in proportion to the machines."""
    return np.sqrt(machines) + 0.0 * scale


def serial_data(machines: FloatArray, scale: FloatArray) -> FloatArray:
    """s: data that passes through one place whatever the machines: the driver, a skewed partition,
    shared storage."""
    return scale + 0.0 * machines


def quasi_linear(machines: FloatArray, scale: FloatArray) -> FloatArray:
    """n log^2 n / m: random projections, sorting (Ernest 6.6), for n = `ROWS` x scale rows."""
    rows = ROWS * scale
    growth = np.log2(1.0 + rows) / np.log2(1.0 + ROWS)
    return np.asarray(scale * growth**2 / machines)


ROWS = 1e6
"""Rows assumed in the largest run: sizes come in bytes or other units, and only the curvature of
the logarithm depends on this (factor 2.2 for twice the rows; 2.1 for a thousand times as many)."""


def memory_pressure(machines: FloatArray, scale: FloatArray) -> FloatArray:
    """s / m^2: computation whose cost per byte falls as its share of memory grows (collection,
    spilling, eviction); the law that OptEx's Tables IV and VI follow."""
    return scale / machines**2


SERIAL = Term("1", "serial", serial)
PARALLEL = Term("scale / machines", "parallel", parallel)
TREE = Term("ln(machines)", "aggregation", tree_aggregation)
PER_MACHINE = Term("machines", "per machine", per_machine)
SQUARE_ROOT = Term("sqrt(machines)", "two-level aggregation", square_root)
SERIAL_DATA = Term("scale", "serial data", serial_data)
QUASI_LINEAR = Term("scale log^2(scale) / machines", "quasi-linear", quasi_linear)
MEMORY_PRESSURE = Term("scale / machines^2", "memory pressure", memory_pressure)

ERNEST_TERMS = (SERIAL, PARALLEL, TREE, PER_MACHINE)
EXTRA_TERMS = (SQUARE_ROOT, SERIAL_DATA, QUASI_LINEAR, MEMORY_PRESSURE)


def columns(terms: tuple[Term, ...], machines: FloatArray, scale: FloatArray) -> FloatArray:
    """(n, p) the values of p terms."""
    return np.stack([term.of(machines, scale) for term in terms], axis=-1)
