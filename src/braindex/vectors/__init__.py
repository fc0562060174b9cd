"""Nearest vectors of a workspace, and the only importer of chromadb.

`index.db` holds the truth; a matrix in memory and ChromaDB are copies of it. Small workspaces are searched
exactly, large ones through ChromaDB; the distances are those of the stored vectors either way.
"""
