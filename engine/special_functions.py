"""The normal and Student's t distribution: SciPy's functions, under SciPy's names.

`import scipy.special` takes 0.3 s, a third of the time of a command: for arrays of other libraries
than NumPy, which nothing here uses, it imports numpy.testing, numpy.f2py and much else. Its
compiled functions alone take a tenth of that.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_PACKAGE = "scipy.special"
_COMPILED = f"{_PACKAGE}._ufuncs"


def ndtr(x: npt.ArrayLike) -> FloatArray:
    """(...) P(Z <= x) of the standard normal distribution."""
    return np.asarray(_functions().ndtr(x), dtype=np.float64)


def ndtri(p: npt.ArrayLike) -> FloatArray:
    """(...) quantile of the standard normal distribution at probability `p`."""
    return np.asarray(_functions().ndtri(p), dtype=np.float64)


def stdtr(dof: npt.ArrayLike, t: npt.ArrayLike) -> FloatArray:
    """(...) P(T <= t) of Student's t with `dof` degrees of freedom; the two are broadcast."""
    return np.asarray(_functions().stdtr(dof, t), dtype=np.float64)


def stdtrit(dof: npt.ArrayLike, p: npt.ArrayLike) -> FloatArray:
    """(...) quantile at probability `p` of Student's t with `dof` degrees of freedom; the two are
    broadcast."""
    return np.asarray(_functions().stdtrit(dof, p), dtype=np.float64)


@cache
def _functions() -> ModuleType:
    """The module with SciPy's functions: the compiled one where it can be imported by itself."""
    # Another thread could meet the stand-in for the package, which is empty.
    alone = threading.active_count() == 1
    if alone and _PACKAGE not in sys.modules:
        try:
            return _compiled_functions()
        except Exception:  # a SciPy that is arranged in another way may raise anything
            pass
    return import_module(_PACKAGE)


def _compiled_functions() -> ModuleType:
    """The compiled module of `scipy.special`, without what the package imports beside it. A later
    `import scipy.special` imports the whole package, with the same functions.

    Raises:
        ImportError: where SciPy has no such module, or that lacks a function; and whatever the
            module raises that is imported without its package.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(f"{_PACKAGE} is no package")
    stand_in = ModuleType(_PACKAGE)
    stand_in.__path__ = spec.submodule_search_locations
    sys.modules[_PACKAGE] = stand_in
    try:
        compiled = import_module(_COMPILED)
    finally:
        del sys.modules[_PACKAGE]
    missing = [
        each.__name__
        for each in (ndtr, ndtri, stdtr, stdtrit)
        if each.__name__ not in vars(compiled)
    ]
    if missing:
        raise ImportError(f"{_COMPILED} lacks {', '.join(missing)}")
    return compiled
