# A thin front for CMake. PRESET chooses the build: release (default), dev, asan.
PRESET ?= release
BUILD = build/$(PRESET)
JOBS ?= $(shell nproc)

.PHONY: all build setup demo test check dist wheel fuzz lint format clean
all: build

setup:
	@scripts/setup.sh

$(BUILD)/build.ninja: setup
	@test -e $@ || cmake --preset $(PRESET)

build: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS)

# Every suite; the last line counts passed, failed and skipped.
test: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target fa_tests
	@python3 scripts/run_tests.py $(BUILD)

# What is needed while writing a pass: the lit and unit tests alone.
check: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target check

# Builds what it runs, and no more.
demo: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target fa-opt fa-run
	@python3 scripts/demo.py $(BUILD)

dist: build
	@python3 scripts/make_dist.py $(BUILD)

# For Python: build/dist/fa_mlir-*.whl.
wheel: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target fa
	@python3 scripts/make_wheel.py $(BUILD)

fuzz:
	@$(MAKE) PRESET=asan build
	@python3 scripts/fuzz.py build/asan

lint: setup
	@python3 scripts/lint.py

format: setup
	@git ls-files '*.h' '*.cpp' | xargs clang-format-22 -i

clean:
	@rm -rf build
