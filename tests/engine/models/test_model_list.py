"""The list of models: their names, and what is imported when one of them is asked."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from threading import Barrier
from types import ModuleType

import pytest

import engine
from engine.models import HOMES, MODELS_BY_NAME
from engine.models.base import Model

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


def test_each_model_is_listed_under_its_own_name() -> None:
    assert [model.name for model in engine.MODELS] == list(HOMES) == list(MODELS_BY_NAME)
    assert all(MODELS_BY_NAME[model.name] is model for model in engine.MODELS)


def test_threads_that_ask_at_once_get_the_same_models(monkeypatch: pytest.MonkeyPatch) -> None:
    by_name, importing = type(MODELS_BY_NAME)(), Barrier(8)

    def import_together(name: str) -> ModuleType:
        importing.wait()  # none has a model yet
        return import_module(name)

    def ask(_: int) -> Model:
        return by_name["ernest"]

    monkeypatch.setattr("engine.models.import_module", import_together)

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(ask, range(8))
    assert all(model is first for model in others)


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
