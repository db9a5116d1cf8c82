# What a person types. `make demo` and `make test` install what they need and lack, saying first what that is.

CARGO ?= cargo
BUILD := target/release
PREFIX ?= /usr/local

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
	@scripts/setup test

build:
	@scripts/setup build
	$(CARGO) build --release --locked
	$(CARGO) build --release --locked -p poise-pass
	@for name in cc c++ fc; do ln -sf poise $(BUILD)/poise-$$name; done

demo: build
	$(BUILD)/poise demo

test: setup build
	@scripts/test

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/counterpoise
	install $(BUILD)/poise $(DESTDIR)$(PREFIX)/bin/poise
	@for name in cc c++ fc; do ln -sf poise $(DESTDIR)$(PREFIX)/bin/poise-$$name; done
	install -m 644 $(BUILD)/libpoise_pass.so $(BUILD)/libpoise_runtime.so $(BUILD)/libpoise_runtime.a \
	    $(BUILD)/libpoise_mpi.so $(DESTDIR)$(PREFIX)/lib/counterpoise/

clean:
	$(CARGO) clean
