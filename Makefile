# The two commands of a newcomer are `make run` and `make test`; nothing but Python 3.11 or newer is needed.
PYTHON ?= python3

.PHONY: run mturk-demo test coverage lint docs help

run: ## set up, load the demo, start the web server and a background worker; Ctrl-C stops both
	@$(PYTHON) scripts/quorum.py run

mturk-demo: ## the demo study at an emulated Mechanical Turk on this machine, with a worker's link; Ctrl-C stops it
	@$(PYTHON) -m scripts.mturk_demo

test: ## set up for tests, the browser included, and run the whole suite (ARGS="tests/metrics -q" for a part)
	@$(PYTHON) scripts/quorum.py test $(ARGS)

coverage: ## every branch of the metrics and statistics, seen by their tests
	@$(PYTHON) scripts/quorum.py coverage

lint: ## style, types, migrations and settings
	@$(PYTHON) scripts/quorum.py lint

docs: ## the documentation as a site with search, in var/site
	@$(PYTHON) scripts/quorum.py docs

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1: /p' Makefile
