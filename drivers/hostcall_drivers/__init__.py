"""The drivers: they carry out what the core asks, report what happened, and decide nothing."""
