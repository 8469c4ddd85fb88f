# make demo   the main job, on a web and an engine of its own: no network, no model
# make check  formatting, lint, types, contracts, tests with branch coverage, case files, the built wheel
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Exported, so that a question may hold quotes.
QUESTION ?= How do I run a function in a new thread and wait until it is done?
# As it was typed: make would read a dollar sign in it as a variable of its own.
override QUESTION := $(value QUESTION)
export QUESTION

.PHONY: demo check lint test cases wheel fuzz mutants load bench clean

demo: $(VENV)/.demo
	@$(BIN)/hostcall demo -- "$$QUESTION"

check: $(VENV)/.dev lint test cases wheel

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --cov --cov-report=term

cases: $(VENV)/.dev
	$(BIN)/python -m tests.cases.tooltext tests/cases/tooltext-open.jsonl
	$(BIN)/python -m tests.cases.address tests/cases/address-open.jsonl
	$(BIN)/python -m tests.cases.html tests/cases/html-open.jsonl
	$(BIN)/python -m tests.cases.answers tests/cases/answers-open.jsonl

# The wheel, made from the sdist, imported with nothing but what it depends on.
wheel: $(VENV)/.dev
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m build -q --outdir build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip install -q build/wheel/*.whl
	cd build/wheel && venv/bin/python -c "import hostcall; print('imported hostcall', hostcall.__version__)"
	rm -rf build/wheel

# What is longer than a check.
FUZZ_RUNS ?= 200000
fuzz: $(VENV)/.fuzz
	for target in fuzz/fuzz_*.py; do \
		name=$$(basename $$target .py); \
		$(BIN)/python -m fuzz.$$name -runs=$(FUZZ_RUNS) -max_len=4096 fuzz/corpus/$${name#fuzz_} || exit 1; \
	done

# mutmut changes the functions of the guarded web (NAMES=seen: one module), ours its tables and patterns and the loop.
mutants: $(VENV)/.mutants
	$(BIN)/python -m tests.bench.function_mutants $(NAMES)
	$(BIN)/python -m tests.bench.mutants $(NAMES)

# The chat service: 500 streams, first token, stops, 10,000 short answers. On two idle cores it takes five minutes.
load: $(VENV)/.dev
	$(BIN)/python -m tests.bench.load $(PARTS)

bench: $(VENV)/.dev
	for name in imports stream filter page guard fetch answers; do $(BIN)/python -m tests.bench.$$name || exit 1; done

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[all]' --group test --group lint
	@touch $@

$(VENV)/.mutants: $(VENV)/.dev
	$(BIN)/python -m pip install -q --group mutants
	@touch $@

$(VENV)/.fuzz: $(VENV)/.dev
	$(BIN)/python -m pip install -q --group fuzz
	@touch $@

clean:
	rm -rf $(VENV) build dist .coverage .mypy_cache .ruff_cache .pytest_cache
