"""sparkplan's engine: how long a Spark job takes on which cluster, and what that costs.

This is the whole public API; everything else is internal. Names load on first use (PEP 562), so
that `import engine` is cheap and a command pays only for what it needs. Which they are, and where
they come from, says the stub `__init__.pyi`: here, and to type checkers and editors.

    profile = engine.read("run1.zstd", "runs.csv")
    fitted = engine.fit(profile, model="sparkplan")
    cluster = engine.Cluster.of_nodes(instance_type="m5.xlarge", nodes=8, catalog=catalog)
    prediction = fitted.predict(cluster=cluster, confidence=0.9)
    best = engine.recommend(fitted, catalog=catalog, deadline_seconds=3600)
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def _home_of_each_name() -> dict[str, str]:
    """The module of each public name, by the imports of the stub."""
    with open(os.path.join(os.path.dirname(__file__), "__init__.pyi"), encoding="utf-8") as stub:
        imports = [line.split() for line in stub if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in imports}


_HOME = _home_of_each_name()
__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
