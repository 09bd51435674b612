# Every target sets up what it needs; nothing is reinstalled unless pyproject.toml changed.
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-slow test-oldest test-newest test-neighbours dist test-wheel mutants lint format bench bench-peers reproduce docs clean

$(READY): pyproject.toml
	python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[all]" --group dev
	touch $@

demo: $(READY)  ## fit models with and without parity to bundled data, print a table, plot the tradeoff
	$(BIN)/python examples/demo.py

# one test process for each core, with one BLAS thread each: more threads than cores slow each other down
WORKERS ?= $(shell nproc)
ON_ALL_CORES := -m pytest -n $(WORKERS) --dist worksteal
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python $(ON_ALL_CORES)

# tests that this machine cannot run are left out, with a message; CI runs them
NO_DATA := $(if $(MEANPARITY_DATA),, and not data)
NO_BROWSER := $(if $(shell command -v chromium || command -v chromium-browser),, and not browser)
NO_TORCH := $(if $(wildcard $(VENV)/lib/python*/site-packages/torch),, and not torch)
ELSEWHERE := $(NO_DATA)$(NO_BROWSER) and not torch
LEFT_OUT := $(NO_DATA)$(NO_BROWSER)$(NO_TORCH)
define say_left_out
	@if [ -n "$(NO_DATA)" ]; then echo "Left out: tests of the paper's data files, as MEANPARITY_DATA is not set."; fi
	@if [ -n "$(NO_BROWSER)" ]; then echo "Left out: tests of the report in a browser, as there is no Chromium."; fi
	@if [ -n "$(NO_TORCH)" ]; then echo "Left out: tests of devices, as PyTorch is not installed in $(VENV)."; fi
	@echo "Left out: tests with XGBoost, LightGBM, CatBoost, SHAP and MLflow, which \`make test-neighbours\` runs."
endef

test: $(READY)  ## the suite
	$(say_left_out)
	$(PYTEST) -m "not slow and not neighbours$(LEFT_OUT)"
	$(say_left_out)

test-slow: $(READY)  ## statistical and large tests
	$(say_left_out)
	$(PYTEST) -m "slow and not neighbours$(LEFT_OUT)"

# Environments of their own, with the versions that `uv` resolves: TESTS="tests/cli" runs a part of the suite
TESTS ?=
UV := $(BIN)/uv pip install --quiet --editable ".[all]" --group test
elsewhere = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(1)/bin/python $(ON_ALL_CORES) $(TESTS)

.venv-oldest/.ready: pyproject.toml | $(READY)
	$(BIN)/uv venv --quiet --clear --python 3.11 .venv-oldest
	$(UV) --python .venv-oldest --resolution lowest-direct
	touch $@

.venv-neighbours/.ready: pyproject.toml | $(READY)
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-neighbours
	$(UV) --group neighbours --python .venv-neighbours
	touch $@

# what the old versions depend on is new, and deprecates what they use
test-oldest: .venv-oldest/.ready  ## the suite with the oldest versions that pyproject.toml allows
	$(say_left_out)
	$(call elsewhere,.venv-oldest) -m "not slow and not neighbours$(ELSEWHERE)" \
		-W ignore::DeprecationWarning -W ignore::FutureWarning

NEWEST_PYTHON ?= 3.13
test-newest: $(READY)  ## the suite with the newest versions there are (NEWEST_PYTHON=3.14)
	$(say_left_out)
	$(BIN)/uv venv --quiet --clear --python $(NEWEST_PYTHON) .venv-newest
	$(UV) --python .venv-newest --upgrade
	$(call elsewhere,.venv-newest) -m "not slow and not neighbours$(ELSEWHERE)"

test-neighbours: .venv-neighbours/.ready  ## with XGBoost, LightGBM, CatBoost, SHAP and MLflow, which nothing else needs
	$(call elsewhere,.venv-neighbours) -m neighbours

dist: $(READY)  ## the source distribution and the wheel, checked
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*

test-wheel: $(READY)  ## the wheel alone in a new environment: every module is imported, or names what it needs
	test -d dist || $(MAKE) dist
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-wheel
	$(BIN)/uv pip install --quiet --python .venv-wheel dist/*.whl
	cd dist && ../.venv-wheel/bin/python -W error ../tools/import_all.py

SEED ?= 0
SAMPLE ?= 200
ROOMS ?=
JOBS ?= $(WORKERS)
mutants: $(READY)  ## change the package in small ways, and list the changes that no test detects (SEED, SAMPLE, ROOMS="audit report")
	$(BIN)/python -m tools.mutants --seed $(SEED) --sample $(SAMPLE) --jobs $(JOBS) $(if $(ROOMS),--rooms $(ROOMS))

lint: $(READY)  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## reformat the sources with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## time and memory, compared with scikit-learn and the paper's formula (takes minutes, on an idle machine)
	$(BIN)/python benchmarks/bench_fit.py
	$(BIN)/python -m benchmarks.bench_everyday
	$(BIN)/python -m benchmarks.bench_baselines
	$(BIN)/python -m benchmarks.bench_losses
	$(BIN)/python -m benchmarks.bench_budgets
	$(BIN)/python -m benchmarks.bench_choosing
	$(BIN)/python -m benchmarks.bench_scale
	$(BIN)/python -m benchmarks.bench_exact

PEERS := .venv-peers
$(PEERS)/.ready: pyproject.toml
	python3 -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[datasets]" --group peers
	touch $@

bench-peers: $(PEERS)/.ready  ## error, gaps, time and memory beside other libraries (an environment of its own)
	$(PEERS)/bin/python -m benchmarks.bench_peers --features
	$(PEERS)/bin/python -m benchmarks.bench_peers

reproduce: $(READY)  ## the paper's tables and figures (ARGS="--quick", ARGS="fig:tradeoff", ...)
	$(BIN)/python -m reproduction $(ARGS)

DOCS_READY := $(VENV)/.docs-ready
$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group docs
	touch $@

docs: $(DOCS_READY)  ## the site, in output/site (runs the gallery; a few minutes)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs output/site
	@echo "Pages that load scripts or styles from the network (there must be none):"
	@! grep -rlE '<(script|link)[^>]* (src|href)="https?://[^"]*\.(js|css)' output/site --include='*.html'
	@echo "The site: $(CURDIR)/output/site/index.html"

clean:  ## remove everything that the targets have created
	rm -rf $(VENV) .venv-* build dist output/site docs/gallery docs/sg_execution_times.rst docs/api/generated docs/api/examples .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
