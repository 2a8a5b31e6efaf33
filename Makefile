PY := .venv/bin/python

# Compiled modules are kept, also where the environment says otherwise: collecting tests takes half as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test test-all test-compose heavy mutants lint errors audit chaos fuzz protos bench train-mnist chromium images locks sbom pip-audit clean

install: .venv/installed

.venv/installed: pyproject.toml setup.py
	test -x $(PY) || python3 -m venv .venv
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet --editable '.[dev,postgres,console]'
	mkdir -p build/names && ln -sfn ../.. build/names/ostraka  # where mypy finds ostraka.common
	touch $@

demo: install
	.venv/bin/ostraka simulate --config examples/demo.toml

test: install
	$(PY) -m $(if $(COVERAGE),tests.coverage,pytest)

test-all: test heavy test-compose

heavy: install chromium
	$(PY) -m pytest -m 'heavy'

test-compose: install
	$(PY) -m pytest -m compose -n 0 tests/compose

chromium:
	command -v chromium > /dev/null || (apt-get update && apt-get install -y chromium)

lint: install
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

SAMPLES = 50000

audit: install
	$(PY) -m tests.privacy.audit --samples $(SAMPLES)

SCHEDULES = 300
KILLS = 180

chaos: install
	$(PY) -m tests.chaos.schedules --schedules $(SCHEDULES)
	$(PY) -m tests.chaos.schedules --schedules $$(($(SCHEDULES) / 2)) --backend postgresql
	$(PY) -m tests.chaos.mutants
	$(PY) -m tests.chaos.kill --rounds $(KILLS)
	$(PY) -m tests.chaos.kill --rounds $$(($(KILLS) / 6)) --backend postgresql

mutants: install
	$(PY) -m tests.mutants $(MUTANTS)

fuzz: install
	$(PY) -m tests.fuzz --seconds 60

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

bench: install
	$(PY) -m benchmarks

train-mnist: install
	$(PY) -m benchmarks.train_mnist

clean:
	rm -rf .venv build dist *.egg-info
