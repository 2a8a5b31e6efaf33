PY := .venv/bin/python

.PHONY: install demo test test-compose heavy lint errors audit chaos protos bench train-mnist test-console images locks sbom pip-audit clean

install: .venv/installed

.venv/installed: pyproject.toml
	test -x $(PY) || python3 -m venv .venv
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet --editable '.[dev,postgres,console]'
	touch $@

demo: install
	.venv/bin/ostraka simulate --config examples/demo.toml

test: install
	$(PY) -m pytest

test-compose: install
	$(PY) -m pytest -m compose -n 0 tests/compose

heavy: install
	$(PY) -m pytest -m heavy

test-console: install
	command -v chromium > /dev/null || (apt-get update && apt-get install -y chromium)
	$(PY) -m pytest -m console -n 0

lint: install
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

audit: install
	$(PY) -m tests.privacy.audit

chaos: install
	$(PY) -m tests.chaos.schedules --schedules 2000
	$(PY) -m tests.chaos.schedules --schedules 300 --backend postgresql
	$(PY) -m tests.chaos.mutants
	$(PY) -m tests.chaos.kill --rounds 200
	$(PY) -m tests.chaos.kill --rounds 30 --backend postgresql

protos: install
	$(PY) -m deploy.protos

errors: install
	$(PY) -m deploy.error_page

images: install
	$(PY) -m deploy.images build

locks: install
	$(PY) -m deploy.images locks

sbom: install
	$(PY) -m deploy.images sbom

pip-audit: install
	$(PY) -m deploy.images audit

bench: install
	$(PY) -m benchmarks

train-mnist: install
	$(PY) -m benchmarks.train_mnist

clean:
	rm -rf .venv build dist *.egg-info
