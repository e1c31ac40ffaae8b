# The face of the build; meson and ninja do the work. `make help` lists what there is.

BUILD ?= build
MESON_FLAGS ?= -Dbuildtype=release -Ddebug=true
NINJA = ninja -C $(BUILD)

.PHONY: all deps check check-quick check-format check-rooms check-unit check-e2e check-san \
	check-fuzz check-crash check-mutants bench hooks format install clean help

all: $(BUILD)/build.ninja ## build everything; the program is build/berth
	@$(NINJA)

$(BUILD)/build.ninja:
	meson setup $(BUILD) $(MESON_FLAGS)

check: check-format check-rooms check-unit check-e2e ## all that must pass
	@scripts/tally

check-quick: check-format check-rooms check-unit ## what the commit hook runs

check-format: ## layout by clang-format
	@scripts/check-format

format: ## mend the layout
	@scripts/check-format --fix

check-rooms: ## includes against src/ROOMS
	@scripts/check-rooms

check-unit: all ## unit tests of every room
	@meson test -C $(BUILD) --print-errorlogs

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
