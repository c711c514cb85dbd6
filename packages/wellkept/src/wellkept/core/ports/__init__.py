"""Protocols that storage engines, model providers and skill sources implement.

One file per part of an engine; `store.Store` is the whole of it. Open `store.py` first. An engine
proves itself with `tests.support.conformance`. Everything is synchronous.
"""
