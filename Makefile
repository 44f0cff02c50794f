# `make` or `make help` lists the targets. Everything happens in .venv and, for `make run`, in $(ROOT).
.DEFAULT_GOAL := help
.PHONY: help setup build wheel test test-fast test-cluster cluster run stop lint types check bench bench-ready soak clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where `make run` keeps its state; kept short, since sockets live in it.
ROOT ?= .run
# More flags for `make run` (podherd run --help), and for pytest.
ARGS ?=
KILLS ?= 500
SEED ?= 1
PODS ?= 40
FAST := tests/rules tests/model tests/wire tests/machines tests/cgroups tests/cri tests/sources tests/volumes tests/server

INSTALLED := $(VENV)/.installed
BUILT := $(VENV)/.built
NATIVE := $(wildcard native/*.pyx native/*.pxd native/*.py)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(BUILT) ## make .venv, install everything into it, build the extensions

$(INSTALLED): pyproject.toml setup.py
	@PYTHON=$(PYTHON) deploy/packages.sh build
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11) and "podherd needs Python 3.11 or newer: make setup PYTHON=python3.12")'
	@echo "installing into $(VENV), about a minute"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(BUILT): $(INSTALLED) $(NATIVE)
	@$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

build: setup ## build the Cython extensions in place where they are out of date

wheel: setup ## build a wheel into dist/
	$(BIN)/python -m build --wheel --no-isolation --outdir dist

run: setup ## set up a runtime if there is none, run the agent on examples/manifests (ROOT=dir, ARGS=flags)
	@echo "In another terminal: export PODHERD_ROOT=$(abspath $(ROOT)); $(abspath $(BIN))/podherd get pods"
	@$(BIN)/podherd run --provision --root-dir $(abspath $(ROOT)) --manifests examples/manifests $(ARGS)

stop: setup ## undo `make run`: end the agent, its containers and its own containerd, and remove that (ROOT=dir)
	@$(BIN)/python -m podherd.agent.undo $(abspath $(ROOT))

test: setup lint types ## everything: rules, units, compiled code, Ray, real containers, a real cluster (ARGS=flags of pytest)
	@deploy/packages.sh runtime
	$(BIN)/python -m pytest $(ARGS)

test-fast: setup ## tests that need neither root nor Ray nor a runtime (ARGS=flags of pytest)
	$(BIN)/python -m pytest -q $(wildcard $(FAST)) $(ARGS)

test-cluster: setup ## podherd as a node of a real Kubernetes control plane, which is built once (ARGS=flags of pytest)
	@deploy/packages.sh runtime
	@deploy/control_plane.sh >/dev/null || true
	$(BIN)/python -m pytest tests/cluster $(ARGS)

cluster: setup ## a Kubernetes control plane of your own with podherd as its node, until Ctrl-C
	@deploy/packages.sh runtime
	@deploy/control_plane.sh >/dev/null || true
	@$(BIN)/python -m tests.kit.try_cluster

soak: setup ## 500 random kills over 40 real pods, about 25 minutes (KILLS=n SEED=n PODS=n)
	@deploy/packages.sh runtime
	KILLS=$(KILLS) SEED=$(SEED) PODS=$(PODS) $(BIN)/python -m pytest -rA tests/node/test_kills.py $(ARGS)

lint: setup ## ruff, formatting, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup ## mypy, strict
	$(BIN)/mypy

check: lint types test-fast ## the fast gate before a commit

bench: setup ## the micro benchmarks (`podherd bench start` measures a whole agent)
	$(BIN)/python -m podherd.benchmarks.micro

bench-ready: setup ## one pod from creation to Ready, side by side with a real kubelet (KUBELET=program, ARGS=flags)
	@deploy/packages.sh runtime
	@deploy/control_plane.sh >/dev/null || true
	@$(BIN)/python -m tests.kit.side_by_side $(if $(KUBELET),--kubelet $(KUBELET)) $(ARGS)

clean: ## remove .venv and what was built; $(ROOT) and its containers stay
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -f native/*.so native/*.c native/*.html
	find . -name __pycache__ -not -path './.run/*' -prune -exec rm -rf {} +
