"""Calls to a provider over HTTP: what may go wrong, what is tried again, and what never leaves this machine."""
