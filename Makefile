# `make demo` runs the main job, `make test` passes the tests; both set up what they need first.
BIN := .venv/bin

.PHONY: demo samples test test-fast test-root test-engine check docs bench setup clean

demo: setup ## a model over two Ray nodes on this machine, and a question answered
	$(BIN)/raygang run examples/smollm2.yaml --ask "What is the capital of France?"

test: check test-fast test-root test-engine docs ## everything

setup:
	@tools/setup.sh

check: setup ## format, lint, types, layer rule
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

samples: setup
	@tools/samples.sh

test-fast: setup samples ## everything that needs no engine, with coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

test-root: setup ## networks of namespaces with faults; skipped where not root
	@tools/system.sh
	$(BIN)/pytest -q -m root

test-engine: setup ## real Ray nodes, real vLLM (about ten minutes on two cores)
	$(BIN)/pytest -q -m engine

docs: setup
	$(BIN)/mkdocs build --strict --quiet

bench: setup ## ratios against what a user would pick instead
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .uv site .coverage*
