# Two commands a fresh machine needs: `make demo` and `make test`. Everything lives in .venv and build/.
PYTHON ?= python3
BIN := .venv/bin
CPP_SOURCES := CMakeLists.txt $(shell find cpp -name '*.hpp' -o -name '*.cpp')

.PHONY: demo build test long-test bench docs lint clean

demo: build
	$(BIN)/treedgp demo

test: build lint
	$(BIN)/pytest -n 2 --dist worksteal -m "not long"

long-test: build
	$(BIN)/pytest -n 2 --dist worksteal

bench: build .venv/bench
	cd benchmarks && for page in kernel rounds mixing schedules growth friedman fit class_priors classes exp2d_limit shared_tree class_growth python_peers; do OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 ../$(BIN)/python $$page.py; done

# Tutorials run as they are built; a warning is an error.
docs: build .venv/docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo "Open build/docs/index.html"

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_includes.py

build: .venv/built

.venv/built: .venv/ready $(CPP_SOURCES)
	$(BIN)/pip install -q --no-build-isolation --no-deps -e . -C cmake.define.TREEDGP_TESTING=ON
	@touch $@

.venv/ready: pyproject.toml
	@$(PYTHON) tools/check_machine.py
	$(PYTHON) -m venv .venv
	$(BIN)/python tools/install_dependencies.py
	@touch $@

.venv/docs: .venv/ready
	$(BIN)/python tools/install_dependencies.py docs
	@touch $@

# BART is one of the peers; where it cannot be installed, its rows are left out.
.venv/bench: .venv/ready
	-$(BIN)/python tools/install_dependencies.py bench
	@touch $@

clean:
	rm -rf .venv build
