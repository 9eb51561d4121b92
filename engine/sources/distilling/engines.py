"""Detects native engines that replace Spark's SQL operators: Photon, RAPIDS and others.

An engine shows in the operators that ran (the RDD scopes of stages) and in the settings that load
it. A log whose engine was loaded but disabled is one of plain Spark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.notices import Notice
from engine.profile import Run

if TYPE_CHECKING:
    from engine.sources.logs.application import Application

TAGS = "spark.databricks.clusterUsageTags."
"""Prefix of the properties in which Databricks describes a cluster."""

DIFFERENT = "different-engine"
_LOADERS = ("spark.plugins", "spark.sql.extensions")


@dataclass(frozen=True, slots=True)
class _Engine:
    """A native engine and how to recognise it in a log.

    Args:
        operators: pattern for the beginning of its operators' names.
        classes: any of them in `spark.plugins` or `spark.sql.extensions` loads it.
        enabling: (setting, lower-case value) pairs, any of which enables it.
        disabling: pairs, any of which disables it although it is loaded.
    """

    name: str
    operators: str
    classes: tuple[str, ...] = ()
    enabling: tuple[tuple[str, str], ...] = ()
    disabling: tuple[tuple[str, str], ...] = ()

    def ran(self, operations: set[str]) -> bool:
        return any(re.match(self.operators, operation) for operation in operations)

    def is_on(self, properties: Mapping[str, str]) -> bool:
        loaders = [properties.get(key, "") for key in _LOADERS]
        loaded = any(name in text for name in self.classes for text in loaders)
        return (loaded or _any_set(self.enabling, properties)) and not _any_set(
            self.disabling, properties
        )


def _any_set(settings: tuple[tuple[str, str], ...], properties: Mapping[str, str]) -> bool:
    return any(properties.get(key, "").strip().lower() == value for key, value in settings)


_PHOTON = _Engine(
    "Photon",
    r"Photon[A-Z]",
    enabling=((f"{TAGS}runtimeEngine", "photon"), ("spark.databricks.photon.enabled", "true")),
    disabling=(("spark.databricks.photon.enabled", "false"),),
)
_ENGINES = (
    _Engine(
        "the RAPIDS accelerator",
        r"Gpu[A-Z]",
        classes=("com.nvidia.spark.SQLPlugin", "com.nvidia.spark.rapids.SQLExecPlugin"),
        disabling=(("spark.rapids.sql.enabled", "false"), ("spark.rapids.sql.mode", "explainonly")),
    ),
    _Engine(
        "DataFusion Comet",
        r"Comet[A-Z]",
        classes=("org.apache.spark.CometPlugin", "org.apache.comet.CometSparkSessionExtensions"),
        disabling=(("spark.comet.enabled", "false"), ("spark.comet.exec.enabled", "false")),
    ),
    _Engine(
        "Auron",
        r"Native[A-Z]",
        classes=("AuronSparkSessionExtension", "BlazeSparkSessionExtension"),
        disabling=(("spark.auron.enable", "false"), ("spark.blaze.enable", "false")),
    ),
    _Engine(
        "the native execution engine of Fabric",
        r"(?!)",
        enabling=(("spark.native.enabled", "true"),),
    ),
    _Engine(
        "the native runtime of Dataproc's Lightning Engine",
        r"(?!)",
        enabling=(("spark.dataproc.lightningEngine.runtime", "native"),),
    ),
    _Engine(
        "Gluten",
        r"\w*ExecTransformer|WholeStageCodegenTransformer|VeloxColumnar|RowToVelox",
        classes=("org.apache.gluten.GlutenPlugin", "io.glutenproject.GlutenPlugin"),
        disabling=(("spark.gluten.enabled", "false"), ("spark.gluten.sql.enabled", "false")),
    ),
)
"""Engines that services build on Gluten come before it, since they run its operators."""


def other_engine_notice(application: Application) -> Notice | None:
    """The notice that a native engine ran: its task times do not carry over to plain Spark."""
    properties = application.properties
    operations = {name for stage in application.stages.values() for name in stage.operations}
    names = [
        engine.name
        for engine in (_PHOTON, *_ENGINES)
        if engine.ran(operations) or engine.is_on(properties)
    ]
    if not names and _photon_runtime(properties):
        names = [_PHOTON.name]
    if not names:
        return None
    return Notice(
        DIFFERENT,
        f"the run used {names[0]}: its task times, and how they change with the machine, hold "
        "for that engine alone",
        "compare with clusters of the same engine only",
    )


def mixed_engines_notice(runs: Sequence[Run]) -> Notice | None:
    """The notice that the runs are of several engines: a fit cannot separate the speed of an engine
    from the effect of more cores or a smaller input."""
    of_logs = [run for run in runs if run.stages]
    texts = (tuple(n.text for n in run.notices if n.code == DIFFERENT) for run in of_logs)
    engines = Counter(texts)
    if len(engines) < 2:
        return None
    _, most = engines.most_common(1)[0]
    return Notice(
        "mixed-engines",
        f"the logs are of {len(engines)} engines, {most} of {len(of_logs)} runs of the "
        "commonest: how much faster one is than another is taken for a gain of cores or of "
        "smaller input",
        "give the logs of one engine at a time",
    )


def _photon_runtime(properties: Mapping[str, str]) -> bool:
    """Whether the Databricks runtime version names Photon, as only early ones did."""
    keys = (f"{TAGS}sparkVersion", f"{TAGS}effectiveSparkVersion")
    named = any("-photon-" in properties.get(key, "") for key in keys)
    return named and not _any_set(_PHOTON.disabling, properties)
