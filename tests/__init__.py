"""Scripted or real: what the tests of hostcall share."""
