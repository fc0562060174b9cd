"""`doctor`: what an installation and its data look like, a check a function; `examination` has the table of them."""
