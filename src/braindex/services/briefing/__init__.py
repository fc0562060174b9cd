"""What a brief is made of: the hard facts of a workspace, from its index and a few of its files, and their words."""
