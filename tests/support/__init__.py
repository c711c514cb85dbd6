"""Test support that is not shipped: conformance suites, a store of dicts, loopback servers."""
