"""The vocabulary of Holdfast: records, errors, ports, ids, clock, text. Standard library only."""
