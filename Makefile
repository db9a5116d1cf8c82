# What a person types. `make demo` and `make test` install what they need and lack, saying first what that is.

CARGO ?= cargo
BUILD := $(or $(CARGO_TARGET_DIR),target)/release
PREFIX ?= /usr/local
# `make … SETUP=:` looks for no packages, for those who bring them another way.
SETUP ?= scripts/setup
BIN = $(DESTDIR)$(PREFIX)/bin
LIB = $(DESTDIR)$(PREFIX)/lib/counterpoise
INCLUDE = $(DESTDIR)$(PREFIX)/include
SHARE = $(DESTDIR)$(PREFIX)/share
MARKERS = $(SHARE)/counterpoise/poise-markers
COMPLETIONS = bash-completion/completions zsh/site-functions fish/vendor_completions.d

# Two calls of the package manager at once would be in each other's way.
.NOTPARALLEL:

.PHONY: all build setup demo test bench install clean help

help:
	@echo "make demo     run the whole pipeline on a generated benchmark (installs what it lacks)"
	@echo "make test     format check, lints and all tests (installs what it lacks)"
	@echo "make build    the program, the LLVM pass, the runtime and the MPI shim, into $(BUILD)"
	@echo "make setup    install what building and testing need, on Debian"
	@echo "make install  put them under PREFIX (now $(PREFIX))"
	@echo "make clean    remove what was built"

all: build

# Debian packages; a second call only looks.
setup:
	@$(SETUP) test

WRAPPERS = for name in cc c++ fc; do ln -sf poise $(BUILD)/poise-$$name; done

build:
	@$(SETUP) build
	$(CARGO) build --release --locked
	$(CARGO) build --release --locked -p poise-pass
	@$(WRAPPERS)

demo: build
	$(BUILD)/poise demo

# Not behind `build`, whose libraries have other features than those that tests need: everything would be compiled twice. The program without
# those is what tests/ranks.rs builds.
# Without optimisation across units of a crate, which changes no result and is half of the time that the largest crate takes to compile.
test: export CARGO_PROFILE_RELEASE_LTO = off
test: setup
	$(CARGO) build --release --locked --workspace --lib --bins --tests --examples
	@$(WRAPPERS)
	@scripts/test

# The programs, the wrappers, what measured programs load, what marks regions in them, manual pages and completions. Everything finds the rest from where
# the program is, so that the folder may be moved.
install: build
	install -d $(BIN) $(LIB) $(INCLUDE) $(SHARE)/man/man1 $(MARKERS)/src $(addprefix $(SHARE)/,$(COMPLETIONS))
	install $(BUILD)/poise $(BIN)/poise
	@for name in cc c++ fc; do ln -sf poise $(BIN)/poise-$$name; done
	install -m 644 $(addprefix $(BUILD)/,libpoise_pass.so libpoise_runtime.so libpoise_runtime.a libpoise_mpi.so libpoise_qemu.so) $(LIB)/
	install -m 644 counters/markers/poise.h $(INCLUDE)/
	install -m 644 counters/markers/poise.f90 $(SHARE)/counterpoise/
	install -m 644 counters/markers/Cargo.toml $(MARKERS)/
	install -m 644 counters/markers/src/lib.rs $(MARKERS)/src/
	$(BUILD)/poise man $(SHARE)/man/man1
	$(BUILD)/poise completions bash >$(SHARE)/bash-completion/completions/poise
	$(BUILD)/poise completions zsh >$(SHARE)/zsh/site-functions/_poise
	$(BUILD)/poise completions fish >$(SHARE)/fish/vendor_completions.d/poise.fish

clean:
	$(CARGO) clean
