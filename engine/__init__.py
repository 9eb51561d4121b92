"""sparkplan's engine: how long a Spark job takes on which cluster, and what that costs.

This is the whole public API; everything else is internal. Names load on first use (PEP 562), so
that `import engine` is cheap and a command pays only for what it needs. They are listed once, in
the stub `__init__.pyi`, which type checkers and editors read too: a new one is one line there.

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

with open(os.path.join(os.path.dirname(__file__), "__init__.pyi"), encoding="utf-8") as _stub:
    # from MODULE import NAME as NAME
    _HOME = {line.split()[3]: line.split()[1] for line in _stub if line.startswith("from ")}
"""Public name -> the module that it is in: each is one line of the stub."""

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
