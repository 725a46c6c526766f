# The two commands of the project are `make serve` and `make test`. Everything they install goes to .venv, but for
# Debian packages that only apt-get can bring (tools/need).

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

ADDRESS := 127.0.0.1
PORT := 8778
DATABASE := sqlite:///$(CURDIR)/placement.sqlite

# More arguments for pytest or the benchmarks: make test ARGS='-k allocations -x'
ARGS :=
# How long each random load of `make soak` goes on.
SECONDS := 60

.PHONY: help serve test test-deployment soak bench docs lint typecheck clean

help:
	@echo 'make serve      run the service on http://$(ADDRESS):$(PORT), with a SQLite database in this folder'
	@echo 'make test       run all tests, on SQLite and on a private MariaDB'
	@echo 'make test-deployment  run the tests with Apache, nginx, Keystone and the OpenStack clients, where they can be had'
	@echo 'make soak       run the tests of races and faults for long, a quarter of an hour (ARGS=, SECONDS= of each load)'
	@echo 'make bench      measure the service beside the reference (ARGS=--help)'
	@echo 'make docs       make docs/openapi.json and docs/microversions.md anew'
	@echo 'make lint       check style, import order and docstrings'
	@echo 'make typecheck  check the types of placement/'
	@echo 'make clean      remove what the others made, the database included'

serve: $(VENV)/installed
	@OS_API__AUTH_STRATEGY=noauth2 \
	OS_PLACEMENT_DATABASE__CONNECTION='$(DATABASE)' \
	OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP=True \
	exec tools/serve $(BIN)/python $(ADDRESS) $(PORT)

# Without MariaDB its tests are skipped and reported so; `.ci/run` insists on it. Files are run in the order of their names,
# not the one with most tests first: the slow ones have few, and the quick ones of tests/unit fill the gaps at the end.
test: $(VENV)/installed-tests
	@tools/need 'mariadb-server-core mariadb-client-core' sh -c 'PATH=$$PATH:/usr/sbin; command -v mariadbd && command -v mariadb-install-db' \
	|| echo 'The tests on MariaDB will be skipped.' >&2
	$(BIN)/python -m pytest -m 'not deployment and not soak' --numprocesses 2 --dist loadfile --no-loadscope-reorder $(ARGS)

# Keystone and the clients are installed into .cache. Servers that are missing are skipped and reported so.
test-deployment: $(VENV)/installed-tests
	$(BIN)/python -m pytest -m deployment $(ARGS)

# All of tests/concurrency, with longer loads, every kill on both databases, and a Galera cluster if there is galera-4. See
# docs/guarantees.md.
soak: $(VENV)/installed-tests
	PLACEMENT_TEST_HISTORY_SECONDS=$(SECONDS) $(BIN)/python -m pytest tests/concurrency --override-ini timeout=1200 $(ARGS)

# Needs MariaDB, and the package index for the reference. See benchmarks/RESULTS.md.
bench: $(VENV)/installed-tests
	$(BIN)/python -m benchmarks $(ARGS)

# The documents that are made of the code's data.
docs: $(VENV)/installed
	$(BIN)/python -m placement.apidoc docs

lint: $(VENV)/installed-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typecheck: $(VENV)/installed-tests
	$(BIN)/mypy

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo 'Python 3.11 or later is needed; name it with: make PYTHON=/path/to/python3' >&2; exit 1; }
	@tools/need python3-venv $(PYTHON) -c 'import ensurepip, venv'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python setup.cfg pyproject.toml
	$(PIP) --editable .
	@touch $@

$(VENV)/installed-tests: $(VENV)/installed test-requirements.txt
	$(PIP) --requirement test-requirements.txt
	@touch $@

clean:
	rm -rf $(VENV) .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache placement.sqlite placement.sqlite-shm placement.sqlite-wal
