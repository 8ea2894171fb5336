# make demo    the main job on bundled data: trains, prints metrics, writes a report and a picture into out/
# make test    what a change needs: linter, types, formatting, and the tests that take no other process; make test FOLDER=data
#              runs the tests of one folder, tests/data
# make test-all   all tests
# make test-spark   distributed training on Spark; needs Java
# make test-redis   learning from message brokers; needs redis-server
# make test-page   the server's live page in a browser; needs Chromium
# make sanitize   the core and its Python bindings under the address and undefined-behavior sanitizers
# make sanitize-threads   many threads that use one model, under the thread sanitizer
# make fuzz    fuzz the readers of text, numbers and model files; ten minutes, needs Clang
# make fuzz-serve   fuzz a server with requests, for FUZZ_SERVE_SECONDS (60)
# make cross   build the core for ARM, run it with qemu, and compare its results with those of this machine, bit by bit
# make bench   speed and memory compared with other programs; make bench BENCH=--page puts it into the pages, BENCH=threads measures
#              1, 2, ... threads, BENCH="dense --compare HEAD~1" compares with the version of a commit
# make bench-serve   the server compared with VW's daemon and FastAPI with River: processor time, speed, latency
# make crash-serve   the server killed 200 times and 100 power cuts, under load; about 10 minutes
# make docs    the documentation as a site, in site/
# make docs-check   check that the numbers on the pages agree with docs/results.toml
# make docs-outputs   put the numbers that the examples print now into the pages and docstrings
# make gallery run the scripts of examples/gallery and write their pages and pictures into docs/tutorials
# make wheel   build wheels in dist/ for every installed Python from 3.10 to 3.14, and try them in empty environments
# Everything is installed into .venv from PyPI; nothing else is needed but Python >= 3.10 and a C++ compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(shell find core tests/core -type f)
CPP := $(shell find core tests -name '*.hpp' -o -name '*.cpp')
export UNITLESS_WERROR := ON
export UNITLESS_TESTS := build/core

.PHONY: demo test test-all test-spark test-redis test-page pytest lint types format-check core-tests format sanitize sanitize-threads fuzz fuzz-serve cross bench docs docs-check docs-outputs gallery wheel clean bench-serve crash-serve

# .venv/.NAME: the package, compiled and installed, with the dependencies of its extra NAME. The build tools stay in .venv:
# in pip's temporary environment they would have another path each time, and everything would be compiled again.
BUILD_TOOLS := 'scikit-build-core>=0.10' 'nanobind>=2.4' 'cmake>=3.20' 'ninja>=1.10'
$(VENV)/.%: $(SOURCES)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(BUILD_TOOLS)
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	$(BIN)/python -m pip install --quiet 'unitless[$*]'
	@touch $@

demo: $(VENV)/.plot
	$(BIN)/unitless demo

# Every check runs, whether or not others fail; the summary marks the checks that failed.
test: $(VENV)/.test
	@status=0; summary=""; \
	for check in lint types format-check core-tests pytest; do \
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
	$(BIN)/clang-format --dry-run --Werror $(CPP)

# Tests of the core without Python; these programs were built when the package was installed.
core-tests: $(VENV)/.test
	build/core/core_test
	build/core/mixture_test
	build/core/raw_test
	build/core/text_test
	build/core/threads_test
	build/core/workers_test
	build/core/digests > build/core/digests.txt

PYTEST := $(BIN)/python -m pytest -q --numprocesses 2 --dist loadfile --no-loadscope-reorder
# The marks are set in tests/conftest.py.
pytest: $(VENV)/.test
	$(PYTEST) $(if $(FOLDER),tests/$(FOLDER),-m "not (cluster or process or docs or long)")

test-all: $(VENV)/.test
	$(PYTEST)

test-spark: $(VENV)/.test $(VENV)/.spark
	$(BIN)/python -m pytest -q tests/cluster/test_spark.py tests/cluster/test_training_spark.py
	$(BIN)/python -m pytest -q tests/test_docs.py -k spark

test-page: $(VENV)/.test $(VENV)/.page-test
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || { echo "Chromium is not installed: apt-get install chromium"; exit 1; }
	$(BIN)/python -m pytest -q tests/serve/test_serve_page.py

test-redis: $(VENV)/.test
	@command -v redis-server >/dev/null || { echo "redis-server is not installed: apt-get install redis-server"; exit 1; }
	$(BIN)/python -m pytest -q tests/serve/test_serve_redis.py tests/serve/test_serve_kafka.py

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

# Python itself is not built for the sanitizer, so the sanitizer's library and the C++ library are loaded first. The
# environment has the installed packages but not the installed unitless. Leaks are ignored: Python's memory looks like one.
SANITIZED := build/sanitize/venv
SANITIZED_TESTS := averaging bad_input center core_calls csv_reader exact hard_cases interactions merge merge_order mixture model_file models \
                   one_vs_all predictor repeated_names restored_state row_learning form_reading shuffle sparse_rows sweep target text_readers weights
sanitize: $(VENV)/.test
	$(BIN)/cmake -S . -B build/sanitize -DUNITLESS_SANITIZE=address,undefined -DUNITLESS_TESTS=build/sanitize \
	  -DUNITLESS_BINDINGS=ON -DUNITLESS_WERROR=ON -DCMAKE_BUILD_TYPE=Debug -DPython_EXECUTABLE="$(abspath $(BIN))/python" \
	  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)"
	$(BIN)/cmake --build build/sanitize --parallel 2
	build/sanitize/core_test
	build/sanitize/mixture_test
	build/sanitize/raw_test
	build/sanitize/text_test
	build/sanitize/threads_test
	build/sanitize/workers_test
	rm -rf build/sanitize/python && mkdir build/sanitize/python
	cp -r src/unitless build/sanitize/_core.*.so build/sanitize/python/
	mv build/sanitize/python/_core.*.so build/sanitize/python/unitless/
	$(BIN)/python -m venv --without-pip $(SANITIZED)
	$(BIN)/python -c 'import sysconfig; print("$(abspath build/sanitize/python)\n" + sysconfig.get_path("purelib"))' \
	  > $$($(SANITIZED)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/sanitized.pth
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(SANITIZED)/bin/python -m pytest -q --numprocesses 2 --dist loadfile -p no:cacheprovider --timeout 600 \
	  $(foreach name, $(SANITIZED_TESTS), $(shell find tests -name test_$(name).py))

# Instruction sets do not matter to threads: the baseline alone is built.
sanitize-threads:
	cmake -S . -B build/threads -DUNITLESS_SANITIZE=thread -DUNITLESS_TESTS=build/threads -DUNITLESS_WERROR=ON \
	  -DUNITLESS_X86_KERNELS=OFF -DCMAKE_BUILD_TYPE=Debug
	cmake --build build/threads --parallel 2 --target threads_test workers_test
	TSAN_OPTIONS=halt_on_error=1 build/threads/threads_test 30
	TSAN_OPTIONS=halt_on_error=1 build/threads/workers_test

# A fuzzer stores its corpus in build/fuzz/corpus, and inputs that fail in build/fuzz; its last lines name them.
FUZZ_SECONDS ?= 100
CLANG ?= $(firstword $(foreach name, clang++ clang++-20 clang++-19 clang++-18 clang++-17 clang++-16, \
           $(shell $(name) -dumpversion 2> /dev/null | grep -qE '^(1[6-9]|[2-9][0-9])' && echo $(name))))
FUZZERS := number csv vw libsvm snapshot
fuzz: $(VENV)/.test
	@test "$(CLANG)" || { echo "make fuzz needs Clang 16 or newer with libFuzzer (Debian: apt-get install clang-16)"; exit 1; }
	cmake -S . -B build/fuzz -DCMAKE_CXX_COMPILER=$(CLANG) -DUNITLESS_FUZZ=ON -DUNITLESS_SANITIZE=address,undefined \
	  -DUNITLESS_X86_KERNELS=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo
	cmake --build build/fuzz --parallel 2
	set -e; for target in $(FUZZERS); do \
	  mkdir -p build/fuzz/corpus/$$target; \
	  build/fuzz/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=2048 -verbosity=0 \
	    -print_final_stats=1 -artifact_prefix=build/fuzz/$$target- build/fuzz/corpus/$$target tests/fuzz/corpus/$$target; \
	done
	$(BIN)/python tests/fuzz/model_files.py $(FUZZ_SECONDS)

FUZZ_SERVE_SECONDS ?= 60
fuzz-serve: $(VENV)/.test
	$(BIN)/python tests/fuzz/serve.py $(FUZZ_SERVE_SECONDS)

# Debian: apt-get install g++-aarch64-linux-gnu qemu-user. Every kernel of this machine is compared with the other's.
cross: $(VENV)/.test
	cmake -S . -B build/cross -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_EXE_LINKER_FLAGS=-static -DUNITLESS_TESTS=build/cross \
	  -DUNITLESS_WERROR=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
	cmake --build build/cross --parallel 2
	qemu-aarch64 build/cross/text_test
	qemu-aarch64 build/cross/core_test
	qemu-aarch64 build/cross/mixture_test
	qemu-aarch64 build/cross/raw_test
	qemu-aarch64 build/cross/digests > build/cross/aarch64.txt
	build/core/digests > build/cross/here.txt
	cmp build/cross/here.txt build/cross/aarch64.txt
	@tail -n 1 build/cross/here.txt

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py $(BENCH)
	$(BIN)/python benchmarks/instructions.py
	$(BIN)/python benchmarks/river_stream.py
	$(BIN)/python benchmarks/fit_cost.py
	$(BIN)/python benchmarks/fit_threads.py
	$(BIN)/python benchmarks/changed_concepts.py
	@test -z "$$UNITLESS_DATA" || $(BIN)/python benchmarks/automatic.py
	@test -z "$$UNITLESS_DATA" || $(BIN)/python benchmarks/estimators.py

bench-serve: $(VENV)/.bench
	$(BIN)/python benchmarks/serve.py $(BENCH)
	$(BIN)/python benchmarks/serve_replicas.py
	$(BIN)/python benchmarks/serve_large.py

crash-serve: $(VENV)/.test
	$(BIN)/python benchmarks/serve_crashes.py

# Every number that several pages show must equal that in docs/results.toml.
docs-check: $(VENV)/.test
	$(BIN)/python tools/docs_check.py

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "The site: site/index.html"

docs-outputs: $(VENV)/.test
	$(BIN)/python tools/page_outputs.py

gallery: $(VENV)/.test
	$(BIN)/python tools/gallery.py

# PYTHONS="python3.12 /opt/python/bin/python3.14" builds for those.
wheel:
	$(PYTHON) tools/wheels.py $(PYTHONS)

clean:
	rm -rf $(VENV) build site
