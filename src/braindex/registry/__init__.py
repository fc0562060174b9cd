"""Everything that lives in SQLite, and the only importer of sqlite3.

One file a table family. `Workspaces` keeps what is known in BRAIN_DIR, `IndexStore` one workspace's index.
Every error that leaves this room is a `StoreError`.
"""
