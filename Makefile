# The two commands of a newcomer are `make run` and `make test`; nothing but Python 3.11 or newer is needed.
PYTHON ?= python3

.PHONY: run mturk-demo environment browser test test-long test-services coverage lint docs pinned audit sbom help

run: ## set up, load the demo, start the web server and a background worker; Ctrl-C stops both
	@$(PYTHON) -m scripts.quorum run

mturk-demo: ## the demo study at an emulated Mechanical Turk on this machine, with a worker's link; Ctrl-C stops it
	@$(PYTHON) -m scripts.mturk_demo

environment: ## set up for the orders below, which do so themselves where it is missing
	@$(PYTHON) -m scripts.quorum environment

browser: ## find or install the Chromium of the tests
	@$(PYTHON) -m scripts.quorum browser

test: ## set up for tests, the browser included, and run all that needs no service (ARGS="tests/metrics -q" for a part)
	@$(PYTHON) -m scripts.quorum test $(ARGS)

test-long: ## the tests that `make test` leaves out as they take long: kills, races, long walks, features left out
	@$(PYTHON) -m scripts.quorum test-long $(ARGS)

test-services: ## the other half: on PostgreSQL, Redis, RabbitMQ and nginx, which it starts, and on QUORUM_SHARED
	@$(PYTHON) -m scripts.quorum test-services $(ARGS)

coverage: ## every branch of the metrics and statistics, seen by their tests
	@$(PYTHON) -m scripts.quorum coverage

lint: ## style, types, migrations and settings
	@$(PYTHON) -m scripts.quorum lint

docs: ## the documentation as a site with search, in var/site
	@$(PYTHON) -m scripts.quorum docs

pinned: ## requirements-pinned.txt anew: the newest versions allowed, with hashes
	@$(PYTHON) -m scripts.quorum pinned

audit: ## known holes in the pinned packages (pip-audit)
	@$(PYTHON) -m scripts.quorum audit

sbom: ## the pinned packages as CycloneDX, in var/sbom.json
	@$(PYTHON) -m scripts.quorum sbom

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1: /p' Makefile
