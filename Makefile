# The face of the build; meson and ninja do the work. `make help` lists what there is.

BUILD ?= build
MESON_FLAGS ?= -Dbuildtype=release -Ddebug=true
PREFIX ?= /usr/local
EXECUTIONS ?= 100000000
# What is measured and installed; MEASURED=build measures the quick build.
MEASURED ?= build-release
measured = $(if $(filter build-release,$(MEASURED)),scripts/release,ninja -C $(MEASURED) --quiet)
export BUILD MEASURED

.PHONY: all deps check check-quick check-format check-rooms check-benches check-unit check-e2e check-conformance \
	check-san check-clang check-fuzz check-fuzz-cel check-crash check-campaign check-mutants release bench \
	bench-kueue bench-kueue-peer hooks format install clean help

all: $(BUILD)/build.ninja ## build everything; the program is build/berth
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@meson setup $(BUILD) $(MESON_FLAGS) >/dev/null

deps: ## install what the build and the tests need (apt, as root or by sudo)
	@scripts/deps --test

check: ## all that must pass: format, rooms, unit, conformance, end to end
	@scripts/deps --test
	@$(MAKE) --no-print-directory all
	@rm -f $(BUILD)/results
	@rc=0; for s in format rooms benches unit conformance e2e; do \
		$(MAKE) --no-print-directory check-$$s || rc=1; done; scripts/tally && exit $$rc

check-quick: all check-format check-rooms check-unit ## what the commit hook runs

check-format: ## layout by clang-format
	@scripts/check-format && r="1 0" || r="0 1"; echo "$$r 0 format" >>$(BUILD)/results; [ "$$r" = "1 0" ]

format: ## mend the layout
	@scripts/check-format --fix

check-rooms: ## includes against src/ROOMS
	@scripts/check-rooms && r="1 0" || r="0 1"; echo "$$r 0 rooms" >>$(BUILD)/results; [ "$$r" = "1 0" ]

check-benches: all ## every program of bench/ and fuzz/ builds
	@ninja -C $(BUILD) benches chances && r="1 0" || r="0 1"; echo "$$r 0 benches" >>$(BUILD)/results; [ "$$r" = "1 0" ]

check-unit: all ## unit tests of every room
	@scripts/check-unit

check-e2e: all ## end-to-end tests, t/*.t
	@scripts/check-e2e

check-conformance: all ## cases with known right answers, where ../shared has them
	@scripts/check-conformance

check-san: ## unit and end-to-end tests under the address and undefined-behaviour sanitizers of clang
	@[ -f build-san/build.ninja ] || CC=clang CXX=clang++ meson setup build-san -Dbuildtype=debugoptimized \
		-Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-san
	@rm -f build-san/results
	@rc=0; BUILD=build-san scripts/check-unit || rc=1; BUILD=build-san scripts/check-conformance || rc=1; \
		BUILD=build-san E2E_TIMEOUT=600 scripts/check-e2e || rc=1; BUILD=build-san scripts/tally && exit $$rc

check-clang: ## the whole build by clang, warnings as errors
	@[ -f build-clang/build.ninja ] || CC=clang CXX=clang++ meson setup build-clang >/dev/null
	@ninja -C build-clang

check-fuzz: ## every parser under libFuzzer, ten seconds each
	@scripts/check-fuzz

check-fuzz-cel: $(BUILD)/build.ninja ## expressions of chance, EXECUTIONS=100000000 in all (half an hour)
	@scripts/fuzz-chance $(EXECUTIONS) cel_random cel_broken cel_batch cel_scan

check-crash: all ## kill -9 under load, 200 rounds
	@ROUNDS=200 E2E_TIMEOUT=3600 scripts/check-e2e t/*crash*.t

check-campaign: all ## a million random worlds of queues against the slow model (about 20 minutes)
	@QUEUE_ROUNDS=250000 nice -n 19 $(BUILD)/src/test-queue-random

check-mutants: all ## planted one-line faults; each must turn a test red
	@scripts/check-mutants

release: ## what is installed and measured (build-release/): laid out by what a load ran, linked as one
	@scripts/release

bench: all ## instructions and ratios; see bench/README.md
	@scripts/bench

bench-kueue: ## Kueue's load shapes: baseline and large-scale on a berth, baseline simulated
	@$(measured) berth bench/bench-kueue
	@BERTH=$(MEASURED)/berth $(MEASURED)/bench/bench-kueue baseline large-scale
	@$(MEASURED)/bench/bench-kueue --sim baseline

SHAPES ?= ../shared/bench/kueue
SHAPE ?= baseline
bench-kueue-peer: ## Kueue's own load runner over HTTPS against a durable berth (SHAPE=baseline QPS=2000; needs Go)
	@$(measured) berth
	@berth=$$(realpath $(MEASURED)/berth) file=$$(realpath $(SHAPES)/$(SHAPE)/generator.yaml) && \
		cd bench/peers/kueue && BERTH=$$berth go run . $$file $(QPS)

bench-jobs: ## what Jobs cost: decisions, one large Job simulated, 50,000 Jobs and 2,000 CronJobs on a durable berth
	@scripts/bench jobs
	@$(MEASURED)/bench/bench-jobs --berth
	@$(MEASURED)/bench/bench-jobs --cron

hooks: ## run check-quick before each commit
	@printf '#!/bin/sh\nexec make -s check-quick\n' >"$$(git rev-parse --git-path hooks)/pre-commit"
	@chmod +x "$$(git rev-parse --git-path hooks)/pre-commit"

install: release ## install berth and its systemd unit under PREFIX
	install -D -m 755 build-release/berth $(DESTDIR)$(PREFIX)/bin/berth
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's,/usr/local/bin,$(PREFIX)/bin,' docs/berth.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/berth.service

clean: ## throw the builds away
	rm -rf build build-release build-san build-clang build-fuzz

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
