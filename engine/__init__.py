"""sparkplan's engine: how long a Spark job takes on which cluster, and what that costs.

This is the whole public API; everything else is internal. Names load on first use (PEP 562), so
that `import engine` is cheap and a command pays only for what it needs. The stub `__init__.pyi`
tells type checkers and editors the same names.

    profile = engine.read("run1.zstd", "runs.csv")
    fitted = engine.fit(profile, model="sparkplan")
    cluster = engine.Cluster.of_nodes(instance_type="m5.xlarge", nodes=8, catalog=catalog)
    prediction = fitted.predict(cluster=cluster, confidence=0.9)
    best = engine.recommend(fitted, catalog=catalog, deadline_seconds=3600)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "engine.errors": (
        "BadInput",
        "EngineError",
        "ModelDoesNotFit",
        "ServiceUnavailable",
        "UnknownName",
    ),
    "engine.units": (
        "format_bytes",
        "format_seconds",
        "format_usd",
        "has_size_unit",
        "parse_bytes",
        "parse_fraction",
        "parse_memory_gib",
        "parse_seconds",
        "parse_times",
        "parse_usd",
    ),
    "engine.catalog": ("Billing", "Catalog", "InstanceType", "Offer", "Price"),
    "engine.cluster": ("Cluster", "Layout", "NodeGroup", "Workload"),
    "engine.profile": (
        "CATEGORIES",
        "Measure",
        "Notice",
        "OptexProfile",
        "Profile",
        "Run",
        "StageRun",
    ),
    "engine.limits": ("Limits",),
    "engine.catalog_file": ("list_catalogs", "load_catalog", "validate_catalog"),
    "engine.sources": ("format_profile", "list_samples", "read", "write_profile"),
    "engine.models": ("DEFAULT_MODEL", "MODELS", "fit"),
    "engine.models.job_profiles": ("with_job_profiles",),
    "engine.models.base": ("FittedModel", "Model", "Prediction", "Predictions"),
    "engine.optimiser": (
        "Choice",
        "Goal",
        "Recommendation",
        "Rejected",
        "recommend",
        "recommend_owned",
    ),
    "engine.planner": (
        "Curve",
        "Plan",
        "PlanReport",
        "PlanRequest",
        "cost_of",
        "export",
        "plan",
        "prepare",
        "prepare_fitted",
    ),
    "engine.exports": ("EXPORTS",),
    "engine.experiments": ("Experiment", "ExperimentPlan", "equal_waves"),
    "engine.collect": (
        "PLACEHOLDERS",
        "Job",
        "Outcome",
        "collect_runs",
        "experiments_in",
        "find_spark_submit",
        "template_of",
        "training_runs",
    ),
    "engine.training": ("KnownType", "TrainingRequest", "lessons_of", "plan_experiments"),
    "engine.advice": ("Advice", "NextRun", "advise"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
