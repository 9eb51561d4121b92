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
        "BudgetTooSmall",
        "EngineError",
        "ModelDoesNotFit",
        "ServiceUnavailable",
        "UnknownName",
        "UnknownType",
    ),
    "engine.units": (
        "format_bytes",
        "format_interval",
        "format_seconds",
        "format_usd",
        "format_usd_to",
        "usd_decimals",
    ),
    "engine.text.quantities": (
        "check_times",
        "has_size_unit",
        "parse_bytes",
        "parse_confidence",
        "parse_fraction",
        "parse_memory_gib",
        "parse_seconds",
        "parse_times",
        "parse_usd",
    ),
    "engine.text.lists": ("printable",),
    "engine.text.time_differences": ("format_time_difference",),
    "engine.text.reachable": ("format_factor", "reachable_seconds", "reachable_usd"),
    "engine.notices": ("Notice", "in_order", "never_ends", "of_one_batch"),
    "engine.catalog": ("Billing", "Catalog", "InstanceType", "Offer", "Price"),
    "engine.cost": ("OWNED_MASTER_LINE", "billing_notes"),
    "engine.cluster": (
        "BesideHeap",
        "Cluster",
        "Layout",
        "NodeGroup",
        "Workload",
        "parse_heap_gib",
    ),
    "engine.given_profiles": ("OptexProfile", "ResourceProfile"),
    "engine.stage_run": ("Measure", "StageRun"),
    "engine.profile": ("CATEGORIES", "Profile", "Run"),
    "engine.mixing.composition": ("Composed", "composition_cost", "predict_composition"),
    "engine.machines.beside_heap": ("with_overhead_per_core",),
    "engine.machines.hardware_threads": ("with_filled_nodes",),
    "engine.memory": ("beside_heap_gib",),
    "engine.choosing.limits": ("Limits",),
    "engine.choosing.cluster_costs": (
        "cost_assumptions",
        "cost_of",
        "observed_price",
        "predict_on_spot",
    ),
    "engine.runs.barrier_stages": ("BarrierStage",),
    "engine.choosing.room": ("starts",),
    "engine.machines.platforms": ("PLATFORMS", "on_platform"),
    "engine.machines.services": (
        "another_service_notice",
        "least_on_demand",
        "most_worker_types",
    ),
    "engine.text.located_yaml": ("Section", "read_yaml"),
    "engine.catalog_files.reader": (
        "find_type",
        "load_catalog",
        "named_type",
        "validate_catalog",
    ),
    "engine.catalog_files.index": ("list_catalogs",),
    "engine.checkpoints": ("checked_by",),
    "engine.files": ("write_text",),
    "engine.machines.named_types": ("held_against",),
    "engine.machines.where_it_ran": ("WhereItRan", "noting_missing_dbus", "where_it_ran"),
    "engine.machines.host": ("HostReport", "host_catalog_text", "measure_host", "resources_text"),
    "engine.machines.host_probes": ("Measured",),
    "engine.refresh": ("PriceChange", "Refreshed", "refresh_catalog"),
    "engine.sources": ("LEAST_PAUSE_SECONDS", "check_sources", "list_samples", "read", "read_each"),
    "engine.sources.applications": ("JobEvidence",),
    "engine.sources.formats.profile_file": ("write_profile",),
    "engine.sources.formats.profile_text": ("format_profile",),
    "engine.sources.formats.resource_profile": ("read_resources", "revise_resources"),
    "engine.sources.workflow_file": ("is_workflow", "read_workflow"),
    "engine.sources.peek": ("Peek", "peek"),
    "engine.sources.access.history_server": ("HistoryApplication", "list_applications"),
    "engine.sources.access.remote": ("RemoteEntry", "list_remote"),
    "engine.models.boe.model": ("fit_states", "fit_workflow"),
    "engine.models.boe.fitted_states": ("FittedStates",),
    "engine.models.boe.workflow": ("OwnNodes", "Workflow", "with_scheduler"),
    "engine.models.boe.workflow_report": (
        "JobSpan",
        "StageInState",
        "StageSkew",
        "WorkflowReport",
        "WorkflowState",
    ),
    "engine.models": ("DEFAULT_MODEL", "MODELS", "MODELS_BY_NAME", "fit"),
    "engine.models.optex.job_profiles": ("with_job_profiles",),
    "engine.models.base": ("FittedModel", "Prediction", "Predictions"),
    "engine.models.model": ("Model",),
    "engine.optimiser": ("recommend", "sensitivity"),
    "engine.choosing.objectives": ("METHODS", "OBJECTIVES", "OBJECTIVE_SYNONYMS"),
    "engine.choosing.outlines": ("Outline", "outlines"),
    "engine.choosing.owned": ("recommend_owned",),
    "engine.choosing.recommendation": (
        "HARDLY_SLOWER",
        "Change",
        "Choice",
        "Compromise",
        "Goal",
        "Recommendation",
        "Rejected",
        "Sensitivity",
    ),
    "engine.planner": (
        "Curve",
        "Plan",
        "PlanReport",
        "PlanRequest",
        "export",
        "plan",
        "prepare",
        "prepare_fitted",
    ),
    "engine.evidence": (
        "DeadlineRecord",
        "FitOutcome",
        "LeftOut",
        "ModelAnswer",
        "ask",
        "compare_models",
        "errors_on_common_runs",
        "fit_outcome",
    ),
    "engine.timeline": ("StageSpan", "Timeline", "measured_timeline", "predicted_timeline"),
    "engine.exports": ("EXPORTS",),
    "engine.experiments.plans": ("Experiment", "ExperimentPlan"),
    "engine.experiments.paper_plans": ("equal_waves",),
    "engine.experiments.commands": (
        "PLACEHOLDERS",
        "Job",
        "experiments_in",
        "find_spark_submit",
        "template_of",
        "training_runs",
    ),
    "engine.collect": ("Outcome", "collect_runs"),
    "engine.experiments.training": ("TrainingRequest", "plan_experiments"),
    "engine.experiments.known_runs": ("KnownType", "lessons_of"),
    "engine.experiments.advice": ("Advice", "NextRun", "advise"),
    "engine.experiments.narrowing": ("Narrowing", "narrowed"),
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
