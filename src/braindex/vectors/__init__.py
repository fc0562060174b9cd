"""Nearest vectors of a workspace, and the only importer of chromadb.

`index.db` holds the truth; a matrix in memory and ChromaDB, embedded or a server, are copies of it. Small workspaces
are searched exactly, large ones through ChromaDB, and all of them through a server where one was chosen; the distances
are those of the stored vectors either way.
"""
