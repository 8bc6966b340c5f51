# Two commands for a newcomer: `make reproduce` and `make test`. Both set up everything in .venv first.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help test test-slow reproduce docs bench format clean
help:
	@echo "make reproduce   draw the paper's figures and judge its claims"
	@echo "make test        run all checks: ruff, mypy, import-linter, pytest"
	@echo "make test-slow   run the longer statistical checks"
	@echo "make docs        build the site: guide, gallery, reference, search"
	@echo "make bench       measure the engines"
	@echo "make format      let ruff lay out the source"
	@echo "make clean       remove .venv, caches and reproduction/"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("matchbandit needs Python 3.11 or newer; say make PYTHON=/path/to/it")'
	@echo "setting up .venv ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

reproduce: $(READY)
	@$(BIN)/matchbandit reproduce

test: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check src tests benchmarks docs/make
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist loadscope

test-slow: $(READY)
	$(BIN)/pytest -n 2 -m slow

docs: $(READY)
	@$(BIN)/sphinx-build --quiet --nitpicky --fail-on-warning --keep-going docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(READY)
	$(BIN)/pytest benchmarks --benchmark-only -q -s

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format src tests benchmarks docs/make

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks .numba_cache reproduction docs/_build
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
