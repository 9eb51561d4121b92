# Two commands do everything: `make run` opens the planner, `make test` checks the whole tree.
# Both make .venv themselves, with uv where it is installed, else with Python's own venv and pip.
# The tests use a real Spark, which is installed for them where there is a Java to run it.
# Sources are compiled once, by all cores: many containers set PYTHONDONTWRITEBYTECODE, and then
# every command would compile what it needs anew. That a library has a file for another Python is
# nothing that keeps it from being installed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
comma := ,
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
EXTRAS := dev$(if $(shell command -v java),$(comma)spark)

.PHONY: run test test-deep lint style types tests bench clean

# On the machines of README's pictures: no log of a sample says where it ran.
run: $(STAMP)
	$(BIN)/sparkplan nightly-features --ran-on m5.xlarge

# Types are checked beside the tests: in a fresh tree that takes one core for a minute.
test: style
	@$(MAKE) --no-print-directory -j2 types tests

# Linear algebra in one thread, as the command has it; files in the order of tests/conftest.py. What
# pytest makes of the sources of the tests is kept from one run to the next. In a fresh tree it is
# made once, before the workers begin: each of them would make all of it, at the same time.
tests: export PYTHONDONTWRITEBYTECODE :=
tests: export OPENBLAS_NUM_THREADS := 1
tests: $(DEV_STAMP)
	@ls tests/tui/__pycache__/*-pytest-*.pyc >/dev/null 2>&1 || $(BIN)/pytest --collect-only >/dev/null || true
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

# The same tests with many more random cases (tests/depth.py): before a release.
test-deep:
	SPARKPLAN_TESTS=deep $(MAKE) test

lint: style types

style: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV_STAMP)
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV_STAMP)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/slider.py
	$(BIN)/python benchmarks/optimiser.py
	$(BIN)/python benchmarks/ingest.py
	$(BIN)/python benchmarks/design.py

$(STAMP): pyproject.toml constraints.txt
	@$(call install,.)
	@touch $@

$(DEV_STAMP): pyproject.toml constraints.txt
	@$(call install,.[$(EXTRAS)])
	@touch $@ $(STAMP)

define install
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "sparkplan needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }; \
echo "installing into $(VENV), once"; \
if command -v uv >/dev/null 2>&1; then \
  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
  uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '$(1)'; \
else \
  $(PYTHON) -m venv $(VENV) && \
  $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '$(1)'; \
fi && \
{ $(BIN)/python -m compileall -qq -j 0 -x /tests/ $(VENV)/lib || true; } && \
$(BIN)/python -m compileall -q engine tui
endef

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache dist
