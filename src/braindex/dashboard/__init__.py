"""The local page: every view is a table row of `rooms`, its rules are the services', its guard is one middleware."""
