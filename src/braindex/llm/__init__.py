"""Engines: adapters of the `Engine` port, each speaking one provider's protocol."""
