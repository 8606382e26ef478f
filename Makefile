# From a fresh clone, with python3, a C++ compiler and the package index:
#   make demo     install into .venv and run the demo
#   make test     install with the test extras and run the whole suite
# Also: install, lint, format, asan, bench, docs, clean. A second call rebuilds only what changed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
SOURCES := $(shell find src cpp -type f -not -name '*.pyc') CMakeLists.txt pyproject.toml
CPP_SOURCES := $(shell find cpp -name '*.cpp' -o -name '*.hpp')

.PHONY: install test demo lint format asan bench docs clean
install: $(VENV)/.installed

$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'
	$(PIP) --group build
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	$(PIP) --no-build-isolation .
	touch $@

# The packages of an extra (test, lint, docs); again only when pyproject.toml changes.
$(VENV)/.extra-%: pyproject.toml | $(VENV)/.installed
	$(PIP) --no-build-isolation '.[$*]'
	touch $@

test: install $(VENV)/.extra-test
	$(BIN)/python -m pytest tests

demo: install
	$(BIN)/hopefear demo

# mypy sees the sources and, beside them, the engine's stub that the build made.
lint: install $(VENV)/.extra-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/types && mkdir -p build/types/hopefear
	ln -s $(CURDIR)/src/hopefear/* build/types/hopefear/
	cp $$($(BIN)/python -c 'import hopefear; print(*hopefear.__path__)')/_engine.pyi build/types/hopefear/
	$(BIN)/mypy build/types/hopefear
	$(BIN)/clang-format --dry-run --Werror $(CPP_SOURCES)

format: $(VENV)/.extra-lint
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP_SOURCES)

clean:
	rm -rf build .venv docs/_build
