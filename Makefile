# From a fresh clone, with python3, a C++ compiler and the package index:
#   make demo     install into .venv and run the demo
#   make test     install with the test extras and run the whole suite
# Also: install, lint, format, asan, asan-engine, tsan, fuzz, bench, generate, docs, clean. A second
# call rebuilds only what changed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
TAG = $(shell $(BIN)/python -c 'import sys; print(sys.implementation.cache_tag)')
# Folders too: a file that was deleted leaves no other trace.
SOURCES := $(shell find src cpp -not -name '*.pyc' -not -name __pycache__) CMakeLists.txt pyproject.toml
CPP_SOURCES := $(shell find cpp -name '*.cpp' -o -name '*.hpp')

.PHONY: install test demo lint format asan asan-engine tsan fuzz bench generate docs clean
install: $(VENV)/.installed

$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'
	$(PIP) --group build
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	$(PIP) --no-build-isolation .
	touch $@

# The packages of an extra (test, lint, docs); again only when pyproject.toml changes. Ours is
# installed already, so that theirs are built, where they must be, in isolation.
$(VENV)/.extra-%: pyproject.toml | $(VENV)/.installed
	$(PIP) 'hopefear[$*]'
	touch $@

# A worker for each core; one that is done takes tests from another.
test: install $(VENV)/.extra-test
	$(BIN)/cmake --build build/$(TAG) --target engine_tests
	build/$(TAG)/engine_tests
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal tests

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

# The engine under ASan and UBSan: its own tests (asan-engine), then the Python tests marked
# "engine", with an installation of its own. Leaks of the interpreter itself are not ours to report.
ASAN := build/asan
asan-engine: $(VENV)/.tools
	$(BIN)/cmake -S . -B $(ASAN) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHOPEFEAR_SANITIZE=ON
	$(BIN)/cmake --build $(ASAN) --target engine_tests
	$(ASAN)/engine_tests
asan: asan-engine install $(VENV)/.extra-test
	$(PIP) --no-build-isolation --no-deps --target $(ASAN)/site --upgrade . \
	  -C build-dir=$(ASAN)/python -C cmake.define.HOPEFEAR_SANITIZE=ON -C cmake.build-type=RelWithDebInfo
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$(ASAN)/site $(BIN)/python -m pytest --capture=sys -m engine tests

# The engine's own tests under ThreadSanitizer.
TSAN := build/tsan
tsan: $(VENV)/.tools
	$(BIN)/cmake -S . -B $(TSAN) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS=-fsanitize=thread
	$(BIN)/cmake --build $(TSAN) --target engine_tests
	$(TSAN)/engine_tests

# Damaged files for every reader and for commands that use them, 100,000 each by default; FUZZ='--inputs 1000 arpa plf' for less,
# FUZZ='--log build/fuzz.jsonl' to go on where a run was stopped.
fuzz: install $(VENV)/.extra-test
	$(BIN)/python tests/fuzz/fuzz.py $(FUZZ)

# Speed and memory against their budgets, under five minutes; each file alone has its full table.
bench: install $(VENV)/.extra-test
	$(BIN)/python bench

# The example configurations and the tables of options in docs/options.
generate: install
	$(BIN)/python docs/generate.py

docs: generate $(VENV)/.extra-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

clean:
	rm -rf build .venv docs/_build
