"""Recommendations as text to paste. A new target is a file here and a line in `EXPORTS`."""

from __future__ import annotations

from engine.errors import UnknownName
from engine.exports.base import Export, Handover
from engine.exports.databricks import Databricks
from engine.exports.dataproc import Dataproc
from engine.exports.emr import Emr
from engine.exports.for_target import for_target
from engine.exports.kubernetes import Kubernetes
from engine.exports.report_html import Html
from engine.exports.report_markdown import Markdown
from engine.exports.spark_defaults import SparkDefaults
from engine.exports.spark_submit import SparkSubmit
from engine.exports.terraform import Terraform

EXPORTS: tuple[Export, ...] = (
    SparkSubmit(),
    SparkDefaults(),
    Emr(),
    Dataproc(),
    Databricks(),
    Kubernetes(),
    Terraform(),
    Markdown(),
    Html(),
)


def render(handover: Handover, *, to: str) -> str:
    """The text of a recommendation for one target.

    Raises:
        UnknownName: for a target that is not in `EXPORTS`.
        BadInput: when the target cannot express the recommendation.
    """
    by_name = {target.name: target for target in EXPORTS}
    if to not in by_name:
        raise UnknownName("export target", to, by_name, where="--to")
    target = by_name[to]
    return target.render(for_target(handover, target))
