# Everything a fresh machine needs is Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
RESULTS ?= build/results

.PHONY: demo test bench results browser format clean

demo: $(VENV)/.demo
	@$(BIN)/epigram demo

test: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

bench: $(VENV)/.bench
	@status=0; for program in benchmarks/[a-z]*.py; do \
		echo "== $$program"; $(BIN)/python $$program || status=1; done; exit $$status

# Every experiment of the papers, in full; stopped or killed, it goes on where it was. Writes docs/results.md.
results: $(VENV)/.bench
	$(BIN)/epigram reproduce all -o $(RESULTS)
	mkdir -p docs/figures && rm -f docs/figures/*.svg
	cd $(RESULTS) && cp $$(grep -o 'figures/[^)]*\.svg' report.md) $(CURDIR)/docs/figures/
	cp $(RESULTS)/report.md docs/results.md

# The tests that open a report in Chromium are skipped where there is none.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; } || \
		echo "no Chromium here; its tests will be skipped"

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@
