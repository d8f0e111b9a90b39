# Everything a fresh machine needs is Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
RESULTS ?= build/results
CORE = pyproject.toml hatch_build.py hatch_bindings.py $(wildcard src/epigram/_core/*.[ch])
ENGLISH = $(wildcard models/english/epigram_english/*)
JAPANESE = $(wildcard models/japanese/epigram_japanese/*.epigram)
MODELS = ./models/english $(if $(JAPANESE),./models/japanese)
XDIST = -n 2 --dist worksteal
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Real data sets, for the tests, benchmarks and experiments that need them; the others run without.
export EPIGRAM_DATA ?= $(abspath $(wildcard ../shared/data))

.PHONY: demo models studio test suite checks smoke slow core sanitize torture orders rivals bench bench-long cluster-demo kills results package docs browser desktop-test lock format clean

demo: $(VENV)/.demo
	@$(BIN)/epigram demo

# Every model in a browser; prints the address.
studio: $(VENV)/.studio
	@$(BIN)/epigram serve

# The checks run beside the tests: mypy alone would leave a core idle. Then half a minute of corrupt files.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory -j2 suite checks smoke

checks: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Tests of one file stay with one process, which makes their shared models once.
suite: $(VENV)/.test
	$(BIN)/pytest $(XDIST)

# Corrupt files of every format for half a minute, always the same ones.
smoke: $(VENV)/.test
	@mkdir -p build
	$(BIN)/python tests/torture/torture.py --seconds 30 --seed 0 > build/smoke.txt 2>/dev/null || { cat build/smoke.txt; exit 1; }
	@tail -n 1 build/smoke.txt

# The tests that take minutes, before a release: every experiment of the papers on subsets.
slow: $(VENV)/.test
	$(BIN)/pytest $(XDIST) -m slow

# The inner loops, compiled again after a change of src/epigram/_core.
core:
	$(PYTHON) hatch_build.py

# The tests on a build of the core that stops at the first wrong access.
# Without browsers, which do not start with the sanitizers before them, and what limits or weighs a process' memory.
SANITIZED = --ignore tests/serve/test_serve.py --ignore tests/serve/test_training.py \
	--deselect tests/torture/test_torture.py::test_memory_stays_where_it_was_over_predictions
sanitize: $(VENV)/.test
	$(PYTHON) hatch_build.py sanitize
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
		$(BIN)/pytest $(XDIST) $(SANITIZED) $(TESTS); status=$$?; $(PYTHON) hatch_build.py; exit $$status

# Damaged files of every format, in processes of their own, for so many seconds; memory over 20,000 predictions of each
# family; a hundred kills of every command that trains; then the tests on new examples.
SECONDS_OF_TORTURE ?= 600
torture: $(VENV)/.test
	$(BIN)/python tests/torture/torture.py --seconds $(SECONDS_OF_TORTURE) --seed "$$(date +%s)" --keep
	$(BIN)/python tests/torture/memory.py
	$(BIN)/python tests/torture/javascript.py --files 50000
	$(BIN)/python tests/torture/kills.py --kills 100
	EPIGRAM_HYPOTHESIS=torture $(BIN)/pytest $(XDIST)

# The tests twenty times, each time in another order and with other examples; stops at the first failure and says its seed.
orders: $(VENV)/.test
	$(BIN)/python tests/torture/orders.py

# Other people's programs to compare with: their tests are skipped where they cannot be installed.
rivals: $(VENV)/.test
	@for rival in python-crfsuite sklearn-crfsuite spams-bin kenlm; do \
		$(PIP) $$rival || echo "$$rival cannot be installed here; its comparisons will be skipped"; done

# Every claim against its rival; bench-long: the models that take minutes to train, and real models of other packages.
LONG = $(patsubst %,benchmarks/%.py,address_parsers crfsuite_models ime_general ime_ready learning_rate lm_size memory online_lm parsing tagging_pools)
ASKING = $(patsubst %,benchmarks/%.py,ime_numbers unlabelled_text)# need a model, or the name of a file to write
bench: PROGRAMS = $(filter-out $(LONG) $(ASKING),$(wildcard benchmarks/[a-z]*.py))
bench-long: PROGRAMS = $(LONG)
bench bench-long: $(VENV)/.bench
	@status=0; for program in $(PROGRAMS); do \
		echo "== $$program"; $(BIN)/python $$program || status=1; done; exit $$status

# A scheduler and two workers as separate processes on this machine, and a training on them.
cluster-demo: $(VENV)/.test
	$(BIN)/python tests/outofcore/cluster_demo.py

# SIGKILL for workers at random moments: every training ends with the same bits. Some minutes.
kills: $(VENV)/.test
	$(BIN)/python tests/outofcore/kill_campaign.py

# Every experiment of the papers, in full; stopped or killed, it goes on where it was. Writes docs/results.md.
results: $(VENV)/.bench
	$(BIN)/python -m experiments all -o $(RESULTS)
	mkdir -p docs/figures && rm -f docs/figures/*.svg
	cd $(RESULTS) && cp $$(grep -o 'figures/[^)]*\.svg' report.md) $(CURDIR)/docs/figures/
	cp $(RESULTS)/report.md docs/results.md

# The models under models/, trained from the named data sets: the same bytes from the same data. Minutes each.
models: $(VENV)/.test
	$(BIN)/python tools/make_models.py

# Wheel and source archive; the wheel is installed into an environment of its own and asked for its version.
package:
	rm -rf build/dist build/clean build/tools
	$(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip install --quiet --disable-pip-version-check build
	build/tools/bin/python -m build --outdir build/dist .
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet --disable-pip-version-check build/dist/*.whl
	build/clean/bin/epigram --version

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "docs: build/docs/index.html"

# The tests that open a page in Chromium are skipped where there is none.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; } || \
		echo "no Chromium here; its tests will be skipped"

# The IBus engine in a GTK entry on a screen of its own, as a person types. Installs what Debian has.
DESKTOP = ibus ibus-gtk3 gir1.2-ibus-1.0 gir1.2-gtk-3.0 python3-gi dbus xvfb xauth xdotool
desktop-test: $(VENV)/.test
	@{ command -v ibus-daemon && command -v xvfb-run && command -v xdotool; } >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		apt-get install -y -qq --no-install-recommends $(DESKTOP) >/dev/null; } || echo "cannot install: $(DESKTOP)"
	$(BIN)/pytest -m 'slow or not slow' -rs tests/ime/desktop

# Lock files with the newest versions that pyproject.toml allows.
COMPILE = build/tools/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --quiet
lock:
	$(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip install --quiet --disable-pip-version-check uv
	sed -n '/^#/p' requirements.lock > build/requirements.lock
	$(COMPILE) --extra test --extra docs --extra rivals >> build/requirements.lock
	mv build/requirements.lock requirements.lock
	sed -n '/^#/p' requirements-serve.lock > build/requirements.lock
	$(COMPILE) --extra serve >> build/requirements.lock
	mv build/requirements.lock requirements-serve.lock

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(CORE) $(ENGLISH) $(JAPANESE) | $(BIN)/python
	$(PIP) -e '.[plot]' $(MODELS)
	@touch $@

$(VENV)/.studio: $(CORE) | $(BIN)/python
	$(PIP) -e '.[serve]'
	@touch $@

$(VENV)/.test: $(CORE) $(ENGLISH) $(JAPANESE) | $(BIN)/python
	$(PIP) -e '.[test]' $(MODELS)
	@touch $@

$(VENV)/.docs: $(CORE) | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $@

$(VENV)/.bench: $(CORE) | $(BIN)/python
	$(PIP) -e '.[bench]'
	@touch $@
