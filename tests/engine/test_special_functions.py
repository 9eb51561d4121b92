"""SciPy's functions of the normal and Student's distribution, and what is imported for them."""

import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
from scipy import special as scipys

from engine import special_functions

PROBABILITIES = np.concatenate((np.logspace(-12, -1, 23), np.linspace(0.1, 0.999, 31)))
DOF = np.asarray([0.5, 1.0, 2.3, 4.0, 29.0, 1e6])[:, None]

FIRST = """
import io, sys
from contextlib import redirect_stderr, redirect_stdout
{first}
with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
    from tui import cli
    status = cli.main(["predict", "sort-small", "--nodes", "4", "--instance", "m5.xlarge"])
print(status, *sorted(sys.modules))
"""

LATER = """
from engine import special_functions
quantile = special_functions.stdtrit(3.5, 0.9)
import scipy, scipy.special, scipy.stats
assert scipy.special is sys.modules["scipy.special"]
assert scipy.special.stdtrit(3.5, 0.9) == quantile
assert special_functions._functions().stdtrit is scipy.special.stdtrit
print(scipy.special.gammaln(4.0), scipy.stats.t(3.5).ppf(0.9) - quantile)
"""


def printed_by(code: str) -> list[str]:
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return found.stdout.split()


def test_they_are_scipys() -> None:
    at = np.linspace(-9.0, 9.0, 37)
    np.testing.assert_array_equal(special_functions.ndtr(at), scipys.ndtr(at))
    np.testing.assert_array_equal(
        special_functions.ndtri(PROBABILITIES), scipys.ndtri(PROBABILITIES)
    )
    np.testing.assert_array_equal(special_functions.stdtr(DOF, at), scipys.stdtr(DOF, at))
    np.testing.assert_array_equal(
        special_functions.stdtrit(DOF, PROBABILITIES), scipys.stdtrit(DOF, PROBABILITIES)
    )


def test_a_prediction_imports_the_compiled_functions_alone() -> None:
    status, *imported = printed_by(FIRST.format(first=""))
    assert status == "0"
    assert "scipy.special._ufuncs" in imported
    assert not {"scipy.special", "numpy.testing", "numpy.f2py", "unittest"} & set(imported)


def test_the_package_is_whole_where_it_is_imported_later() -> None:
    logarithm, difference = map(float, printed_by(f"import sys\n{LATER}"))
    assert logarithm == pytest.approx(np.log(6.0))
    assert difference == pytest.approx(0.0, abs=1e-9)


def test_beside_other_threads_the_whole_package_is_imported() -> None:
    """They could meet the empty stand-in."""
    thread = "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    first = f"import threading, time; {thread}"
    status, *imported = printed_by(FIRST.format(first=first))
    assert status == "0"
    assert {"scipy.special", "scipy.special._ufuncs"} <= set(imported)


@pytest.fixture
def not_yet_imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delitem(sys.modules, "scipy.special")
    monkeypatch.setattr(special_functions.threading, "active_count", lambda: 1)
    special_functions._functions.cache_clear()
    yield
    special_functions._functions.cache_clear()


@pytest.mark.usefixtures("not_yet_imported")
@pytest.mark.parametrize(
    "failure", [ImportError("none"), AttributeError("another"), RuntimeError("other"), None]
)
def test_a_scipy_arranged_in_another_way_is_imported_whole(
    monkeypatch: pytest.MonkeyPatch, failure: Exception | None
) -> None:
    """Whatever the compiled module does by itself, or where it lacks the functions."""
    whole = ModuleType("scipy.special")

    def imported(name: str) -> ModuleType:
        if name != "scipy.special":
            if failure is None:
                return ModuleType(name)
            raise failure
        assert name not in sys.modules, "the stand-in is still there"
        return whole

    monkeypatch.setattr(special_functions, "import_module", imported)
    assert special_functions._functions() is whole
