"""Recall: query to ranked memories.

Start with `recall.py`; `retrievers.py` finds candidates, `features.py` and `ranking.py` order them,
`requests.py` has the request and result types.
"""
