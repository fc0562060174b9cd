"""Adapters that turn text into vectors. Weights of the bundled model lie in `data/`."""
