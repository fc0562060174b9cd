"""The command line. Starting it imports nothing heavy; a command imports what it needs when it runs."""
