"""What the planner imports before it paints: nothing that takes long."""

import subprocess
import sys

from tui.cli import ALGEBRA_THREADS, limit_algebra_threads


def loaded(code: str, *modules: str) -> tuple[str, str]:
    """What a new interpreter prints that runs `code`, and which of the modules it has then."""
    told = f"import sys; from tui import cli; {code}; "
    told += f"print(*({set(modules)} & set(sys.modules)), file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return found.stdout, found.stderr.strip()


def test_a_file_opens_without_the_engines_readers():
    code = "cli.check_there([sys.executable]); import tui.app, tui.session, tui.panels"
    assert loaded(code, "numpy", "scipy", "pandas", "yaml", "msgspec") == ("", "")


def test_the_options_of_recommend_are_told_without_the_optimiser():
    code = "print(cli.parser_of('recommend').format_help())"
    told, unwanted = loaded(code, "numpy", "yaml", "engine.optimiser")
    assert "interior-point" in told
    assert not unwanted


def test_a_shell_that_completes_waits_for_no_numpy():
    told, unwanted = loaded("cli.run(['completion', 'bash'])", "numpy", "scipy", "textual")
    assert told
    assert not unwanted


def test_linear_algebra_gets_one_thread_unless_told_or_submitting_jobs():
    given: dict[str, str] = {}
    limit_algebra_threads(["recommend", "log"], given)
    assert given == {ALGEBRA_THREADS: "1"}
    told = {ALGEBRA_THREADS: "8"}
    limit_algebra_threads([], told)
    assert told == {ALGEBRA_THREADS: "8"}
    inherited: dict[str, str] = {}
    limit_algebra_threads(["collect", "plan.yaml"], inherited)
    assert inherited == {}


FIRST = """
import importlib, pkgutil, sys, tui
for module in pkgutil.walk_packages(tui.__path__, "tui."):
    for name in [name for name in sys.modules if name == "tui" or name.startswith("tui.")]:
        del sys.modules[name]
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        print(module.name, error)
"""


def test_any_module_can_be_imported_first():
    """In a circle of imports it hangs on who begins: `tui.headless.export` could not."""
    found = subprocess.run(
        [sys.executable, "-c", FIRST], capture_output=True, text=True, check=True
    )
    assert found.stdout == ""
