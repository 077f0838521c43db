# `make demo` and `make test` are all that a fresh Debian 12 machine with Rust needs; each installs what is missing.
.PHONY: demo test setup
demo test setup:
	@scripts/$@.sh
