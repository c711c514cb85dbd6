"""The vocabulary of Wellkept: records, errors, ports, ids, clock, text. Standard library only."""
