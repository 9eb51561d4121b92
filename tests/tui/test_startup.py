"""What the planner imports before it paints: nothing that takes long."""

import subprocess
import sys


def test_a_file_opens_without_the_engines_readers():
    code = (
        "import sys; from tui import cli; cli.check_there([sys.executable]); import tui.app, "
        "tui.session, tui.panels; "
        "print(*(m for m in ('numpy', 'scipy', 'pandas', 'yaml', 'msgspec') if m in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
