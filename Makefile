# Needs Python 3.11 or newer (with venv) and make; everything else is installed into .venv from requirements.lock.
#
#   make demo    analyze one of the samples and write demo/incident.html
#   make test    all tests, and which took longest
#   make quick   the rules of the house, and the tests whose file holds ROOM=word (a parser, a detector, a page), in a minute or two
#   make check   format, lint, strict types
#   make bench   speed and memory beside yardsticks (ripgrep and zstd where they are, DUCKDB=an interpreter that has it,
#                TORCHFRTRACE=the program that comes with PyTorch), a table with what must be reached: half an hour;
#                PART=0.05 for small inputs, LONG=1 for 10,240 ranks and 102 million rows, too, ONLY=text for some rows
#   make bench-accuracy    over 1,000 simulated hangs: who is named, rightly and wrongly (half an hour; N=50 for a short run);
#                EVIDENCE=logs, stacks, ras, kernel or running: with that evidence alone
#   make bench-stragglers  simulated slow ranks in the files of five sources, and healthy jobs (ten minutes)
#   make bench-whatif      who costs what by replay, of simulated jobs in 3D layouts (ten minutes); TRACES=folder of the traces
#                published with ByteDance's StragglerAnalysis: beside the published figures
#   make bench-decisions   replayed histories of attempts: how often "stop" where the next went well, "restart" where it failed the same
#                way, hosts left out in vain (ten minutes; N=30 for a short run)
#   make bench-probe       what the probe adds to a training step (a few minutes)
#   make test-probe        the tests that need PyTorch
#   make test-engine       the tests that need Dask and an S3 server, in an environment of their own
#   make numerics-matrix   real trainings with known faults, recorded and judged (minutes); CASES=ddp for some of them
#   make launcher-matrix   real trainings under launchers and frameworks, with known faults, judged (half an hour);
#                CASES=torchrun for some of them
#                The last four have an environment of their own with PyTorch: TORCH="torch==2.13.0+cpu" for one release
#   make knowledge         what programs of the field can print, cut out of their SOURCES=folder, and how much of it is read
#                (docs/knowledge.md); ONLY="nccl ucx" for some of them, UNREAD=50 with as many that mean nothing yet;
#                DRAW=300 SEED=1 draws diagnostic ones at random, to be judged by a person
#   make knowledge-healthy each line that a row of knowledge is about, alone in a run that ends well: nobody is accused (ten minutes on
#                eight cores that do nothing else, half an hour on two); ONLY=slurm for the rows of one file, in seconds
#   make forms             small jobs in which one rank fails, recorded in forms that are drawn, and where nobody may be named (a quarter of an
#                hour on two cores that do nothing else): FAMILY=who, devices, clusters, symptoms or figures for one theme, FAMILY=who/stacks
#                for one family, FROM=1000 N=400 for others
#   make relations         what changes no verdict, each alone in each bundle, where the tests take bundles or forms in turn: additions,
#                rewrites of lines, pairs of faults in other forms (minutes)
#   make words   what terminal and Markdown say of every sample and situation, in both languages, in demo/words.txt (minutes)
#   make notebook   runs docs/notebook.ipynb and keeps what its cells show
#   make terminal   draws what `forensics analyze` prints of a sample, docs/img/terminal.svg
#   make fuzz    spoiled lines and documents through every parser, INPUTS=1000000 of each family or what SECONDS=600 of
#                each allow; FAMILY=comm for one, SEED=1 for the same ones again
#   make fuzz-guided       the same parsers, inputs led by coverage, SECONDS of each family (atheris, in an environment of
#                its own: Python 3.11 to 3.13, Linux)
#   make determinism       the same bytes whatever a bundle is packed in and whoever reads it (half an hour; goes on where it was
#                stopped, after make clean from the beginning)
#   make documents BASE=REV   which documents of samples and situations differ from those of a revision, BUNDLES="folder …" of others' bundles
#                with an expect.json (a quarter of an hour)
#   make site    the documentation as a site, in .site (in an environment of its own; links are checked)
#   make audit   known vulnerabilities of what the lock pins (asks PyPI's database, and fails where it cannot be asked)
#   make sbom    the wheel in dist/, and what it installs as CycloneDX, dist/sbom.cdx.json
#   make lock    renew requirements.lock (needs the network)
#   make clean   remove what the above made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SAMPLE ?= data_loader_stall
N ?= 1000
SECONDS ?= 600
INPUTS ?= 1000000
FAMILY ?=
ROOM ?=
SEED ?= 1
PART ?= 1
LONG ?=
ONLY ?=
TORCHFRTRACE ?=
DUCKDB ?= $(BIN)/python
TRACES ?=
TORCH ?= torch
TORCH_VENV := .venv-torch
TORCH_READY := $(TORCH_VENV)/.ready
FRAMEWORKS ?= accelerate transformers lightning deepspeed "ray[train]"
ENGINE_VENV := .venv-engine
ENGINE_READY := $(ENGINE_VENV)/.ready
CASES ?=
SOURCES ?= .bench/sources
UNREAD ?= 0
DRAW ?= 0
FUZZ_VENV := .venv-fuzz
FUZZ_READY := $(FUZZ_VENV)/.ready
ATHERIS ?= atheris==3.0.0
SUPPLY_VENV := .venv-supply
SUPPLY_READY := $(SUPPLY_VENV)/.ready
UNASKED := could not be audited|ConnectionError|ServiceError
SITE_VENV := .venv-site
SITE_READY := $(SITE_VENV)/.ready
SITE ?= mkdocs-material==9.8.1 mkdocs-gen-files==0.6.1
SUPPLY ?= pip-audit==2.10.1 cyclonedx-bom==7.5.0

.DELETE_ON_ERROR:
.PHONY: forms demo test quick check format bench bench-accuracy bench-stragglers bench-whatif bench-decisions bench-probe test-probe test-engine numerics-matrix launcher-matrix knowledge knowledge-healthy relations words notebook terminal fuzz fuzz-guided determinism documents site audit sbom lock clean

demo: $(READY)
	@mkdir -p demo
	$(BIN)/forensics analyze samples/$(SAMPLE)/bundle -o demo/incident.html
	@echo "The incident page: $(CURDIR)/demo/incident.html"

test: $(READY)
	@$(BIN)/python -m compileall -q forensics parsers reports samples  # hundreds of tests start the command anew
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal --durations 10

quick: $(READY)
	$(BIN)/python -m pytest -n auto --maxprocesses 8 --durations 5 tests/test_house.py tests/test_thresholds.py $(foreach word,$(ROOM),$(or $(wildcard tests/test_*$(word)*.py),$(error no test has the word $(word) in its name)))

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python benchmarks/scale.py --part $(PART) $(if $(LONG),--long) --duckdb $(DUCKDB) --only "$(ONLY)" \
	  $(if $(TORCHFRTRACE),--torchfrtrace $(TORCHFRTRACE))

bench-accuracy: $(READY)
	$(BIN)/python benchmarks/accuracy.py --incidents $(N) $(if $(EVIDENCE),--evidence $(EVIDENCE))

bench-stragglers: $(READY)
	$(BIN)/python benchmarks/stragglers.py

bench-whatif: $(READY)
	$(BIN)/python benchmarks/whatif.py $(if $(TRACES),--traces $(TRACES))

bench-decisions: $(READY)
	$(BIN)/python benchmarks/decisions.py --histories $(if $(filter file,$(origin N)),150,$(N))

bench-probe: $(TORCH_READY)
	$(TORCH_VENV)/bin/python benchmarks/bench_probe.py .bench/probe

test-probe: $(TORCH_READY)
	$(TORCH_VENV)/bin/python -m pytest tests/test_probe*.py

test-engine: $(ENGINE_READY)
	$(ENGINE_VENV)/bin/python -m pytest tests/test_engine.py

numerics-matrix: $(TORCH_READY)
	$(TORCH_VENV)/bin/python samples/scripts/numerics_matrix.py .bench/numerics_matrix --cases "$(CASES)"

launcher-matrix: $(TORCH_READY)
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(FRAMEWORKS)
	$(TORCH_VENV)/bin/python samples/scripts/launcher_matrix.py .bench/launcher_matrix --cases "$(CASES)"

knowledge: $(READY)
	$(BIN)/python benchmarks/knowledge.py --sources $(SOURCES) --only $(ONLY) --unread $(UNREAD) --draw $(DRAW) --seed $(SEED)

knowledge-healthy: $(READY)
	KNOWLEDGE_WHOLE=1 KNOWLEDGE_ONLY="$(ONLY)" $(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal tests/test_healthy_with_remarks.py

relations: $(READY)
	RELATIONS_WHOLE=1 $(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal tests/test_relations.py \
	  tests/test_blame_relations.py tests/test_caught_relations.py tests/test_pairs.py

forms: $(READY)
	$(BIN)/python benchmarks/forms.py $(if $(FAMILY),--family $(FAMILY)) $(if $(FROM),--from $(FROM)) --many $(if $(filter file,$(origin N)),100,$(N))

words: $(READY)
	@mkdir -p demo
	$(BIN)/python -m samples.words demo/words.txt

notebook: $(READY)
	$(BIN)/python -m samples.notebook && $(BIN)/ruff format -q docs/notebook.ipynb

terminal: $(READY)
	$(BIN)/python -m samples.terminal

fuzz: $(READY)
	$(BIN)/python benchmarks/fuzz.py $(if $(FAMILY),--family $(FAMILY)) --inputs $(INPUTS) --seconds $(SECONDS) --seed $(SEED)

fuzz-guided: $(FUZZ_READY)
	$(FUZZ_VENV)/bin/python benchmarks/fuzz_guided.py $(if $(FAMILY),--family $(FAMILY)) --seconds $(SECONDS)

determinism: $(READY)
	$(BIN)/python benchmarks/determinism.py --resume

documents: $(READY)
	$(BIN)/python benchmarks/documents.py $(or $(BASE),HEAD) $(BUNDLES)

site: $(SITE_READY)
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(SITE_VENV)/bin/mkdocs build --strict --quiet
	@echo 'wrote .site/index.html'

$(SITE_READY): requirements.lock pyproject.toml
	test -x $(SITE_VENV)/bin/python || $(PYTHON) -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(SITE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(SITE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(SITE)
	@touch $@

# Without an answer about a single package the database was not there: that is no clean bill.
audit: $(SUPPLY_READY)
	@$(SUPPLY_VENV)/bin/pip-audit --disable-pip --require-hashes -r requirements.lock >$(SUPPLY_VENV)/audit 2>&1; status=$$?; \
	cat $(SUPPLY_VENV)/audit; \
	if grep -qE '$(UNASKED)' $(SUPPLY_VENV)/audit; then echo 'the database cannot be asked from here'; exit 1; fi; exit $$status

# An environment with the wheel and what it needs, as locked, and nothing else.
sbom: $(READY) $(SUPPLY_READY)
	rm -rf $(SUPPLY_VENV)/wheel && $(PYTHON) -m venv --without-pip $(SUPPLY_VENV)/wheel
	rm -f dist/*.whl && $(BIN)/hatchling build -t wheel
	grep -oE '^[A-Za-z0-9._-]+==[^ ]+( ;[^\\]*)?' requirements.lock >$(SUPPLY_VENV)/constraints
	$(BIN)/python -m pip --python $(SUPPLY_VENV)/wheel/bin/python install --quiet --disable-pip-version-check \
	  -c $(SUPPLY_VENV)/constraints dist/*.whl
	$(SUPPLY_VENV)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o dist/sbom.cdx.json \
	  $(SUPPLY_VENV)/wheel/bin/python
	@$(PYTHON) -c 'import json; print(len(json.load(open("dist/sbom.cdx.json"))["components"]), "components in dist/sbom.cdx.json")'

$(SUPPLY_READY):
	$(PYTHON) -m venv $(SUPPLY_VENV)
	$(SUPPLY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(SUPPLY)
	@touch $@

# The stamp is newer than what it depends on exactly when the last installation went through.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# PyTorch is in no lock: its wheels are many and large, and any release from 2.13 on will do.
$(TORCH_READY): requirements.lock pyproject.toml
	test -x $(TORCH_VENV)/bin/python || $(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check numpy "$(TORCH)"
	@touch $@

# Instruments the parsers, so nothing else is done in this environment.
$(FUZZ_READY): requirements.lock pyproject.toml
	test -x $(FUZZ_VENV)/bin/python || $(PYTHON) -m venv $(FUZZ_VENV)
	$(FUZZ_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(FUZZ_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(FUZZ_VENV)/bin/python -m pip install --quiet --disable-pip-version-check "$(ATHERIS)"
	@touch $@

$(ENGINE_READY): requirements.lock pyproject.toml
	test -x $(ENGINE_VENV)/bin/python || $(PYTHON) -m venv $(ENGINE_VENV)
	$(ENGINE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(ENGINE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(ENGINE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check "distributed>=2024.8" s3fs "moto[server]"
	@touch $@

lock:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(VENV)-lock/bin/uv pip compile pyproject.toml --group dev --generate-hashes --universal --python-version 3.11 \
	  --upgrade --no-header --no-emit-index-url --quiet -o requirements.lock
	sed -i '1i # Everything that `make` installs, pinned with hashes. Written by: make lock' requirements.lock
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) $(VENV)-lock $(TORCH_VENV) $(ENGINE_VENV) $(FUZZ_VENV) $(SUPPLY_VENV) $(SITE_VENV) .bench .site demo build dist
