//! The ledger: the append-only log of entries, in SQLite.
