"""Engines: what is sent to them, how their replies are read, and what is known of them."""
