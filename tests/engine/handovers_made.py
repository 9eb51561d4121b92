"""A handover to export, and how the words of what is exported are read."""

import json
import shlex

import hcl2

from engine.cluster import Layout
from engine.exports import EXPORTS
from engine.exports.base import Handover

SCRIPTS = [target for target in EXPORTS if target.name not in ("markdown", "html")]
"""Targets to paste; the others are to be read."""


def handover(**changes: object) -> Handover:
    given: dict[str, object] = {
        "application": "nightly",
        "composition": {"r5.2xlarge": 14},
        "executors": 28,
        "layout": Layout(2, 4, 22.5),
        "statement": ("14 x r5.2xlarge", "predicted time 41m"),
        "provider": "aws",
        "region": "us-east-1",
        "master": "m5.xlarge",
        "node_memory_gib": 56.0,
    }
    return Handover(**{**given, **changes})


def words(text: str) -> list[str]:
    """The command of an export as a shell splits it, comments left out."""
    return shlex.split(text.replace("\\\n", " "), comments=True)


def after(said: list[str], option: str) -> str:
    return said[said.index(option) + 1]


def resources(text: str) -> dict[str, dict]:
    """Resource type -> arguments of its only resource, as a parser of HCL reads them."""
    found = hcl2.loads(text)["resource"]
    plain = json.loads(json.dumps(found).replace('\\"', ""))
    return {kind: next(iter(named.values())) for entry in plain for kind, named in entry.items()}
