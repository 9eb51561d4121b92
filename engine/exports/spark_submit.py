"""`spark-submit` options, to put before the application and its arguments."""

from __future__ import annotations

from engine.exports.base import Export, Handover, comments, heap_mib, spark_properties

_OPTIONS = {
    "spark.executor.instances": "--num-executors",
    "spark.executor.cores": "--executor-cores",
    "spark.executor.memory": "--executor-memory",
}
"""Settings with a command-line option of their own; the others use --conf."""


class SparkSubmit(Export):
    name = "spark-submit"
    summary = "options for spark-submit (YARN and Kubernetes)"
    suffix = ".sh"

    def render(self, handover: Handover) -> str:
        arguments = ["spark-submit"]
        for key, value in spark_properties(handover).items():
            option = _OPTIONS.get(key)
            arguments.append(f"{option} {value}" if option else f"--conf {key}={value}")
        note = "" if heap_mib(handover.layout) else "\n# executor memory: not known, set your own"
        arguments.append("YOUR_APPLICATION")
        return f"{comments(handover)}{note}\n" + " \\\n  ".join(arguments) + "\n"
