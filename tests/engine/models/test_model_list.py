"""The list of models: their names, and what is imported when one of them is asked."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import engine
from engine.models import MODELS_BY_NAME

TABLE = """instance_type,nodes,input_size,seconds
m5.xlarge,2,1e10,600
m5.xlarge,4,1e10,330
m5.xlarge,8,1e10,200
"""

IMPORTED = """
import sys, engine
fitted = engine.fit(engine.read(sys.argv[1]))
engine.recommend(fitted, catalog=engine.load_catalog("aws"), deadline_seconds=900)
print(*sorted(sys.modules))
"""

NOT_FOR_TABLES = (
    *(f"engine.models.{name}" for name in ("boe", "ernest", "optex", "peridot", "simcost")),
    *("engine.models.replay.model", "engine.models.stages", "engine.sources.logs"),
)


LISTED = """
import sys, engine
assert all(model.summary for model in engine.MODELS)
print(*sorted(sys.modules))
"""


def test_each_model_is_listed_under_its_own_name() -> None:
    for model in engine.MODELS:
        assert MODELS_BY_NAME[model.name] is model
        assert getattr(import_module(model.module), model.kind).name == model.name
    assert [model.name for model in engine.MODELS] == list(MODELS_BY_NAME)


def test_models_are_listed_without_what_fitting_needs() -> None:
    found = subprocess.run(
        [sys.executable, "-c", LISTED], capture_output=True, text=True, check=True
    )
    imported = set(found.stdout.split())
    assert imported.isdisjoint({"numpy", "engine.profile"})
    assert imported.isdisjoint(model.module for model in engine.MODELS)


def test_a_table_is_planned_without_other_models_and_without_the_readers_of_logs(
    tmp_path: Path,
) -> None:
    table = tmp_path / "runs.csv"
    table.write_text(TABLE, encoding="utf-8")
    found = subprocess.run(
        [sys.executable, "-c", IMPORTED, str(table)], capture_output=True, text=True, check=True
    )
    imported = found.stdout.split()
    assert "engine.models.laws.model" in imported
    assert [name for name in imported if name.startswith(NOT_FOR_TABLES)] == []
