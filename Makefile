# make demo    what it is about, on bundled data: numbers and a picture
# make test    tests, linter, types, formatting
# make sanitize   the core under the address and undefined-behaviour sanitizers
# make bench   speed beside Vowpal Wabbit, scikit-learn and River; make bench BENCH=--page puts it into the pages
# make docs    the documentation as a site, in site/
# Everything is installed into .venv from PyPI; nothing else is needed but Python >= 3.10 and a C++ compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(shell find core -type f)
CXX_FILES = $(shell find core tests/core -name '*.hpp' -o -name '*.cpp')
export UNITLESS_WERROR := ON

.PHONY: demo test pytest lint types format-check format sanitize bench docs clean

define install
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[$(1)]'
	@touch $@
endef

$(VENV)/.demo: $(SOURCES)
	$(call install,demo)

$(VENV)/.test: $(SOURCES)
	$(call install,test)

$(VENV)/.bench: $(SOURCES)
	$(call install,bench)

$(VENV)/.docs: $(SOURCES)
	$(call install,docs)

demo: $(VENV)/.demo
	$(BIN)/python -m unitless.demo

# Each check runs whatever the others say; the first line of the summary that is not "ok" is what failed.
test: $(VENV)/.test
	@status=0; summary=""; \
	for check in lint types format-check pytest; do \
	  if $(MAKE) --no-print-directory $$check; then summary="$$summary\n  ok      $$check"; \
	  else status=1; summary="$$summary\n  FAILED  $$check"; fi; \
	done; \
	printf "$$summary\n"; exit $$status

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

format-check: $(VENV)/.test
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)

pytest: $(VENV)/.test
	$(BIN)/python -m pytest -q --numprocesses 2 --dist loadfile

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

sanitize:
	cmake -S . -B build/sanitize -DUNITLESS_SANITIZE=ON -DUNITLESS_WERROR=ON -DCMAKE_BUILD_TYPE=Debug
	cmake --build build/sanitize --parallel 2
	build/sanitize/core_test
	build/sanitize/text_test

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py $(BENCH)
	$(BIN)/python benchmarks/instructions.py
	$(BIN)/python benchmarks/river_stream.py
	@test -z "$$UNITLESS_DATA" || $(BIN)/python benchmarks/automatic.py
	@test -z "$$UNITLESS_DATA" || $(BIN)/python benchmarks/estimators.py

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "The site: site/index.html"

clean:
	rm -rf $(VENV) build site
