"""One use case a file. Services know ports, the registry and the indexing room; never a concrete adapter."""
