"""The wheel as a user gets it, and what importing costs."""

import ast
import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def python(code: str) -> str:
    """What a fresh interpreter prints for a line of code."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout


def test_importing_the_engine_loads_none_of_the_heavy_packages() -> None:
    code = (
        "import engine, sys, json;print(json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"
    )
    loaded = set(json.loads(python(code)))
    assert not loaded & {"textual", "rich", "pandas", "scipy", "numpy", "yaml"}


@pytest.mark.parametrize("command", [["--version"], ["models"], ["samples"], ["catalog", "list"]])
def test_light_commands_load_neither_textual_nor_pandas(command: list[str]) -> None:
    code = (
        "import sys, json; from tui.cli import main\n"
        f"try: main({command!r})\n"
        "except SystemExit: pass\n"
        "print(json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"
    )
    loaded = set(json.loads(python(code).splitlines()[-1]))
    assert not loaded & {"textual", "rich", "pandas", "scipy"}


@pytest.mark.parametrize("asked", ["list_samples()", "check_sources('nightly-features')"])
def test_names_of_samples_are_known_without_what_reads(asked: str) -> None:
    """`sparkplan samples` and the planner, before it paints, ask no more."""
    code = f"import sys, json, engine; engine.{asked}; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(python(code)))
    assert "engine.sources" in loaded
    assert not loaded & {"numpy", "engine.sources.reader", "engine.memory"}


def test_the_import_contract_knows_every_module_of_the_engine() -> None:
    """Of a module or package that no layer names, nothing would be checked."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = {
            one["name"]: one for one in tomllib.load(file)["tool"]["importlinter"]["contracts"]
        }
    layers = contracts["imports point down only"]["layers"]
    named = {name.strip() for layer in layers for name in layer.split("|")}
    modules = {
        f"engine.{path.stem}"
        for path in (ROOT / "engine").glob("[!_]*")
        if path.suffix in ("", ".py")
    }
    assert named - {"tui"} == modules
    private = contracts["the terminal uses the engine through its public API alone"]
    assert private["forbidden_modules"] == ["engine.*"]


def test_every_public_name_exists_and_is_listed() -> None:
    import engine

    for name in engine.__all__:
        assert getattr(engine, name) is not None
    assert set(engine.__all__) <= set(dir(engine))
    with pytest.raises(AttributeError):
        engine.no_such_name  # noqa: B018


def test_the_type_stub_names_what_the_package_offers() -> None:
    """And from the same modules: type checkers read the one, programs the other."""
    import engine

    stub = ast.parse((ROOT / "engine" / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    homes = {alias.asname: one.module for one in imports for alias in one.names}
    assert homes == engine._HOME
    assert {*homes, "__version__"} == set(engine.__all__)


@pytest.mark.parametrize("stub", [True, False])
def test_the_engine_is_imported_from_a_zip(tmp_path: Path, stub: bool) -> None:
    """As of a zipped application; bundlers leave out the stub, which no program needs."""
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        for path in (ROOT / "engine").rglob("*.py*"):
            if path.suffix == ".py" or (stub and path.suffix == ".pyi"):
                archive.write(path, path.relative_to(ROOT))
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'app.zip')!r});"
        "import engine; print(engine.__file__, engine.parse_seconds('45m'))"
    )
    assert python(code).split() == [str(tmp_path / "app.zip" / "engine" / "__init__.py"), "2700.0"]


@pytest.mark.slow
def test_the_wheel_works_from_a_folder_with_its_own_catalogs(tmp_path: Path) -> None:
    """A user's folder may hold `catalogs/` and `engine/` of its own: ours must be the one used."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "-o",
            str(tmp_path),
            str(ROOT),
        ],
        check=True,
        capture_output=True,
    )
    wheel = next(tmp_path.glob("sparkplan-*.whl"))
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, system_site_packages=False)
    site = next((home / "lib").glob("python*/site-packages"))
    # The dependencies are those of this interpreter: only our own package comes from the wheel.
    (site / "dependencies.pth").write_text(_site_packages() + "\n", encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True)
    assert (site / "engine" / "py.typed").is_file(), "type checkers would not read the types"
    work = tmp_path / "work"
    for folder in ("catalogs", "sample_logs"):
        (work / folder).mkdir(parents=True)
        (work / folder / "mine.yaml").write_text("not: ours\n", encoding="utf-8")
    listed = _installed(home, work, "catalog", "list", "--json")
    assert {entry["name"] for entry in listed["catalogs"]} >= {"aws", "papers"}
    said = _installed(
        home, work, "predict", "ernest-rcv1", "--model", "ernest", "--nodes", "4",
        "--input-size", "1", "--json",
    )  # fmt: skip
    assert said["seconds"] == pytest.approx(44.6515640166, rel=1e-6)


def _site_packages() -> str:
    import numpy

    return str(Path(numpy.__file__).parents[1])


def _installed(home: Path, work: Path, *arguments: str) -> dict[str, list[dict[str, str]]]:
    """Runs the command out of the wheel, with nothing of this checkout on the path."""
    code = (
        "import sys; from tui.cli import main; import tui;"
        f"assert {str(home)!r} in tui.__file__, tui.__file__;"
        "sys.exit(main(sys.argv[1:]))"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [str(home / "bin" / "python"), "-c", code, *arguments],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))
