"""hostcall: the deciding part of a host that runs tools for a language model."""

__version__ = "0.1.0"
