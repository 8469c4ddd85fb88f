"""Suites against real programs: a llama.cpp server with a model, and a SearXNG; `.ci/run` installs and runs them."""
