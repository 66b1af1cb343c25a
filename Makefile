# The verbs of the course. `make` lists them; each sets up what it needs first.
.DEFAULT_GOAL := help
# The first Python that the course supports.
PYTHON ?= $(or $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$p && break; done), \
	$(error no Python 3.11, 3.12 or 3.13 found: install one, or say PYTHON=/path/to/python))
PYTHON313 ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.13*/bin/python3.13) \
	$(shell python3.13 -c 'import sys; print(sys.executable)' 2>/dev/null))
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
STUDENT := lab,live
EVERYTHING := torch,lab,live,grading,bench,dev

.PHONY: help
help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

# Stamps: an environment is set up again only when what defines it changes.
.venv/.lab: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable '.[$(STUDENT)]'
	@touch $@

.venv/.dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable '.[$(EVERYTHING)]'
	@touch $@

.venv-colab/.ready: tests/colab-pins.txt
	$(PYTHON313) -m venv .venv-colab
	.venv-colab/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.PHONY: lab torch
lab: .venv/.lab ## open the course in JupyterLab
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) lessons/00_start_here.ipynb

torch: .venv/.lab ## add PyTorch, for the lessons' comparisons with it
	$(PIP) --editable '.[$(STUDENT),torch]'

.PHONY: test test-colab
test: .venv/.dev $(if $(PYTHON313),.venv-colab/.ready) ## run every check, notebooks included
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadfile

test-colab: .venv/.dev .venv-colab/.ready ## run the notebooks on what Colab ships
	$(BIN)/python -m pytest tests/test_colab.py

.PHONY: notebooks colab
notebooks: .venv/.dev ## rebuild the generated notebooks from src/notebooks
	$(BIN)/python src/notebooks/build.py

colab: .venv/.dev ## point install cells and Colab badges at REPO=owner/name
	$(BIN)/python src/notebooks/build.py --repository "$(REPO)"

.PHONY: course grade
course: .venv/.dev ## prepare autograde/ for nbgrader: sources, releases, gradebook
	$(BIN)/python src/notebooks/build.py --course
	cd autograde && for name in source/*; do ../$(BIN)/nbgrader generate_assignment --force $${name##*/} || exit; done

grade: .venv/.dev ## grade the sample submissions and print their scores
	$(BIN)/python tests/samples.py

.PHONY: flakes
flakes: .venv/.dev ## run every check on right answers over 10,000 seeds (half an hour)
	$(BIN)/python tests/flakes.py

.PHONY: lock lint clean
lock: ## write constraints.txt anew from the newest versions that install together
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet torch==2.13.0 nbgrader==0.9.6 'jupyterlab==4.6.*' nbval==0.11.0 '.[$(EVERYTHING)]'
	{ echo "# Exact versions, made by 'make lock'. pyproject.toml says which versions may work; these do."; \
	  .venv-lock/bin/python -m pip freeze --exclude backprop-course | sed -E 's/\+cpu//; /^(nvidia|triton)/d'; } > constraints.txt
	rm -rf .venv-lock

lint: .venv/.dev ## check style and formatting
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

clean: ## remove what make made, except nbgrader's folders
	rm -rf .venv .venv-colab .pytest_cache .ruff_cache .hypothesis dist build
