"""The code graph: source tree -> symbols, edges, queries; file search; co-change prediction.

index/      builds and updates the graph (open `builder.py` first)
parse/      one file -> facts; languages/ has one module per language
resolve/    facts -> edges
query/      impact, dependencies, data flow, coverage
search/     files for a request
history/    files that change together
modules/    module map and conventions

Does not know memory records, SQL or models.
"""
