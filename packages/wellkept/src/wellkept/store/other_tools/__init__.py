"""Other tools' databases, read and never touched: a copy is opened, so not even a lock is taken."""
