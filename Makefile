PY := .venv/bin/python

# Compiled modules are kept, also where the environment says otherwise: collecting tests takes half as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test test-all test-compose heavy roles gpu mutants lint docs test-docs errors audit chaos fuzz protos bench reproduce reproduce-quick reproduce-older train-mnist chromium images locks sbom pip-audit release clean

INSTALL = $(PY) -I ostraka/deploy/install.py

install: .venv/installed

$(PY):
	python3 -m venv .venv

.venv/installed: pyproject.toml | $(PY)
	$(INSTALL) dev
	touch $@

# What a simulation needs, where not everything is there already.
.venv/simulation: pyproject.toml | $(PY)
	$(INSTALL) simulate
	touch $@

demo: $(if $(wildcard .venv/installed),install,.venv/simulation)
	.venv/bin/ostraka simulate --config examples/demo.toml

test: install
	$(PY) -m $(if $(COVERAGE),tests.coverage,pytest)

test-all: test heavy roles test-docs test-compose

heavy: install chromium
	$(PY) -m pytest -m 'heavy'

# Installs the wheel for each role alone, and says how large and how quick that is.
roles: install
	$(PY) -m pytest -m roles -n 0 -s tests/deploy

# Tests, measures and simulates on an NVIDIA card; says so where there is none.
gpu: install
	$(PY) -m benchmarks.gpu

# Images first, with docker's own progress: no case waits for them.
test-compose: install
	$(PY) -m tests.compose.engine
	$(PY) -m pytest -m compose -n 0 tests/compose

chromium:
	command -v chromium > /dev/null || (apt-get update && apt-get install -y chromium)

lint: install
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/pyright --project tests/editors/pyrightconfig.json
	.venv/bin/lint-imports
	.venv/bin/zizmor --quiet --offline --strict-collection .github/workflows

# The documentation as a site in build/site, that opens without a network and a server.
docs: install
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

# The site as it was just built: searched and looked at in Chromium.
test-docs: docs chromium
	$(PY) -m pytest -m docs -n 0 tests/deploy/reference

SAMPLES = 50000

audit: install
	$(PY) -m tests.privacy.audit --samples $(SAMPLES)
	$(PY) -m benchmarks.argmax --prove --every 16

SCHEDULES = 300
HISTORIES = 20000
KILLS = 180
PROPERTIES = random

# PROPERTIES= leaves out the search for examples that break a property: CI fails for what a change changed.
chaos: install
	$(if $(PROPERTIES),$(PY) -m pytest -m 'hypothesis and not heavy' --hypothesis-profile $(PROPERTIES))
	$(PY) -m tests.chaos.schedules --schedules $(SCHEDULES)
	$(PY) -m tests.chaos.schedules --schedules $$(($(SCHEDULES) / 2)) --backend postgresql
	$(PY) -m tests.chaos.histories --histories $(HISTORIES) $(if $(HISTORIES_SEED),--seed $(HISTORIES_SEED))
	$(PY) -m tests.chaos.histories --histories $$(($(HISTORIES) / 20)) --backend postgresql
	$(PY) -m tests.chaos.mutants
	$(PY) -m tests.chaos.kill --rounds $(KILLS)
	$(PY) -m tests.chaos.kill --rounds $$(($(KILLS) / 6)) --backend postgresql
	$(PY) -m tests.chaos.year --days 60 --sites 40

mutants: install
	$(PY) -m tests.mutants $(MUTANTS)

fuzz: install
	$(PY) -m tests.fuzz --seconds $(if $(SECONDS),$(SECONDS),60)

protos: install
	$(PY) -m ostraka.deploy.protos

errors: install
	$(PY) -m ostraka.deploy.error_page

images: install
	$(PY) -m ostraka.deploy.images build

locks: install
	$(PY) -m ostraka.deploy.images locks

sbom: install
	$(PY) -m ostraka.deploy.images sbom

pip-audit: install
	$(PY) -m ostraka.deploy.images audit

# Wheel, source archive, bills of materials and sums of what is committed, in dist: RELEASING.md.
release: install
	$(PY) -m ostraka.deploy.release

bench: install
	$(PY) -m benchmarks

# Every table and figure of the papers that is not kept yet, then the page; DATA names the data folder.
reproduce: install
	$(PY) -m benchmarks.reproduce $(if $(DATA),--data $(DATA)); status=$$?; $(PY) -m benchmarks.reproduce --page; exit $$status

reproduce-quick: install
	$(PY) -m benchmarks.reproduce --quick $(if $(DATA),--data $(DATA))

# The cheapest rows by older code that take no more than SECONDS together: do they still agree?
SECONDS ?= 300
reproduce-older: install
	$(PY) -m benchmarks.reproduce --older --seconds $(SECONDS) $(if $(DATA),--data $(DATA))

train-mnist: install
	$(PY) -m benchmarks.train_mnist

clean:
	rm -rf .venv build dist *.egg-info
