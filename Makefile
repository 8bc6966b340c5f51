# Two commands for a newcomer: `make reproduce` and `make test`. Each installs what it needs into .venv first.
PYTHON ?= python3
BIN := .venv/bin
LAB := .venv/.lab-installed
PAPER := .venv/.paper-installed
DEV := .venv/.dev-installed
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --editable

# The suite starts many processes, which share what the first one has compiled to bytecode.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help lint-js test test-slow reproduce docs paper bench format clean
help:
	@echo "make reproduce   draw the paper's figures and judge its claims"
	@echo "make test        run all checks: ruff, mypy, import-linter, ESLint, Prettier, pytest"
	@echo "make lint-js     check the JavaScript alone; needs node"
	@echo "make test-slow   run the longer statistical checks"
	@echo "make docs        build the site: guide, gallery, reference, search"
	@echo "make paper       typeset the proofs of rank1-certify as an article in PDF"
	@echo "make bench       measure the engines"
	@echo "make format      let ruff lay out the source"
	@echo "make clean       remove .venv, caches and reproduction/"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("matchbandit needs Python 3.11 or newer; say make PYTHON=/path/to/it")'
	@echo "creating .venv ..."
	@$(PYTHON) -m venv .venv

$(LAB): pyproject.toml | $(BIN)/python
	@echo "installing matchbandit[lab] into .venv: numpy, numba, scipy, matplotlib, pyarrow and what they need ..."
	@$(PIP_INSTALL) ".[lab]"
	@touch $@

$(PAPER): pyproject.toml | $(BIN)/python
	@echo "installing matchbandit[paper] into .venv: pandoc and typst ..."
	@if $(PIP_INSTALL) ".[paper]" --quiet; then touch $@; else echo "could not install pandoc and typst"; fi

$(DEV): pyproject.toml | $(BIN)/python
	@echo "installing matchbandit[dev] into .venv ..."
	@$(PIP_INSTALL) ".[dev]" --quiet
	@touch $(LAB) $(PAPER) $@

reproduce: $(LAB)
	@echo "drawing the paper's figures into reproduction/ ..."
	@$(BIN)/matchbandit reproduce

test: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check src tests benchmarks docs/make
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory lint-js
	$(BIN)/pytest -n 2 --dist loadgroup --no-loadscope-reorder

# ESLint and Prettier, from node_modules; skipped where node is missing or too old for ESLint, or npm cannot fetch them.
lint-js:
	@if ! command -v npm >/dev/null; then echo "lint-js: skipped, since npm is not installed"; \
	elif ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b > 12) || (a == 20 && b > 18) ? 0 : 1)'; then \
	  echo "lint-js: skipped, since ESLint needs node 20.19, 22.13 or newer; this is $$(node --version)"; \
	elif ! cmp -s package-lock.json node_modules/.installed-lock.json && ! { npm ci --silent --no-audit --no-fund \
	  && cp package-lock.json node_modules/.installed-lock.json; }; then \
	  echo "lint-js: skipped, since npm cannot install ESLint and Prettier (no network?)"; \
	else npm run --silent lint; fi

test-slow: $(DEV)
	$(BIN)/pytest -n 2 --dist loadgroup --no-loadscope-reorder -m slow

docs: $(DEV)
	@$(BIN)/sphinx-build --jobs auto --quiet --nitpicky --fail-on-warning --keep-going docs docs/_build/html
	@echo "open docs/_build/html/index.html"

paper: $(PAPER)
	@$(BIN)/python docs/make/paper.py

bench: $(DEV)
	$(BIN)/pytest benchmarks --benchmark-only -q -s

format: $(DEV)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format src tests benchmarks docs/make

clean:
	rm -rf .venv node_modules .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks .numba_cache reproduction docs/_build
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
