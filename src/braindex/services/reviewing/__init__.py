"""A review: the structure of a change, the agent that judges it, what that may look at, and what follows."""
