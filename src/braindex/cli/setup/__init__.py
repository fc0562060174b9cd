"""Writes what connects a client to braindex into the client's own files, and takes it out again."""
