"""A first run with nothing installed and no network: an engine, a search and a web of real pages."""
