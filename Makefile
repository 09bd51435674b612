# Every target sets up what it needs; nothing is reinstalled unless pyproject.toml changed.
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-slow mutants lint format bench reproduce clean

$(READY): pyproject.toml
	python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

demo: $(READY)  ## fit free and parity models on bundled data, print the table, save the tradeoff
	$(BIN)/python examples/demo.py

# one test process a core and one BLAS thread each: more threads than cores wait for each other
WORKERS ?= $(shell nproc)
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# what this machine cannot run is left out aloud; CI has both
NO_DATA := $(if $(MEANPARITY_DATA),, and not data)
NO_BROWSER := $(if $(shell command -v chromium || command -v chromium-browser),, and not browser)
LEFT_OUT := $(NO_DATA)$(NO_BROWSER)
define say_left_out
	@if [ -n "$(NO_DATA)" ]; then echo "Left out: tests of the paper's data files, as MEANPARITY_DATA is not set."; fi
	@if [ -n "$(NO_BROWSER)" ]; then echo "Left out: tests of the report in a browser, as there is no Chromium."; fi
endef

test: $(READY)  ## the suite
	$(say_left_out)
	$(PYTEST) -m "not slow$(LEFT_OUT)"
	$(say_left_out)

test-slow: $(READY)  ## statistical and large tests
	$(say_left_out)
	$(PYTEST) -m "slow$(LEFT_OUT)"

SEED ?= 0
SAMPLE ?= 200
ROOMS ?=
JOBS ?= $(WORKERS)
mutants: $(READY)  ## small changes to the package, and those that no test notices (SEED, SAMPLE, ROOMS="audit report")
	$(BIN)/python -m tools.mutants --seed $(SEED) --sample $(SAMPLE) --jobs $(JOBS) $(if $(ROOMS),--rooms $(ROOMS))

lint: $(READY)  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## let ruff rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## time and memory beside scikit-learn and the paper's formula (idle machine, minutes)
	$(BIN)/python benchmarks/bench_fit.py
	$(BIN)/python -m benchmarks.bench_everyday
	$(BIN)/python -m benchmarks.bench_baselines
	$(BIN)/python -m benchmarks.bench_losses
	$(BIN)/python -m benchmarks.bench_choosing
	$(BIN)/python -m benchmarks.bench_scale
	$(BIN)/python -m benchmarks.bench_exact

reproduce: $(READY)  ## the paper's tables and figures (ARGS="--quick", ARGS="fig:tradeoff", ...)
	$(BIN)/python -m reproduction $(ARGS)

clean:  ## remove what the targets made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
