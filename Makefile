# Two commands are enough: `make run` and `make test`. Both set the machine up first.
SETUP := /usr/bin/python3 -m setup
PYTHON := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help run test quick bench soak shots cases kube-assets slurm-roots clean lock

help: ## this list
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/make \1\t\2/p' Makefile | expand -t 18

run: ## start the portal on this machine, with demo data; Ctrl-C ends everything
	@exec $(SETUP) run -- $(PYTHON) -m portal.run

test: ## every check and every test, as CI runs them
	@$(SETUP) kube optional
	@$(SETUP) slurm-roots optional
	@exec $(SETUP) test -- $(PYTHON) -m tests.checks

quick: ## the checks and the short tests: three to four minutes on two cores that do nothing else
	@exec $(SETUP) test -- $(PYTHON) -m tests.checks quick

bench: ## how long pages and changes take
	@exec $(SETUP) test -- $(PYTHON) -m tests.bench

soak: ## the long form of the tests
	@exec $(SETUP) test -- $(PYTHON) -m pytest -m soak

shots: ## a picture of every page, into shots/
	@exec $(SETUP) test -- $(PYTHON) -m tests.e2e.shots

messages: ## bring the translations up to the sources; then fill what is empty in locale/
	@exec $(SETUP) test -- $(PYTHON) -m tests.messages

cases: ## the cases from the field, each with its tests
	@exec $(SETUP) test -- $(PYTHON) -m tests.cases

kube-assets: ## etcd, kube-apiserver, kube-controller-manager, kubectl, helm: found, or built once by Go
	@exec $(SETUP) kube

slurm-roots: ## newer Debian releases' Slurm in folders of their own, made once for the tests
	@exec $(SETUP) slurm-roots

clean: ## end and remove everything that `make run` made
	@exec $(SETUP) run -- $(PYTHON) -m portal.run clean

lock: ## pin the Python packages anew
	@exec $(SETUP) run -- /usr/bin/python3 -m setup.lock
