"""The MCP server over stdio. Nothing here may write to standard output but the protocol's own frames."""
