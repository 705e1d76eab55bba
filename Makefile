# The two commands of a newcomer are `make run` and `make test`; nothing but Python 3.11 or newer is needed.
PYTHON ?= python3

.PHONY: run test coverage lint help

run: ## set up, load the demo, start the web server and a background worker; Ctrl-C stops both
	@$(PYTHON) scripts/quorum.py run

test: ## set up for tests, the browser included, and run the whole suite (ARGS="tests/metrics -q" for a part)
	@$(PYTHON) scripts/quorum.py test $(ARGS)

coverage: ## every branch of the metrics and statistics, seen by their tests
	@$(PYTHON) scripts/quorum.py coverage

lint: ## style, types, migrations and settings
	@$(PYTHON) scripts/quorum.py lint

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1: /p' Makefile
