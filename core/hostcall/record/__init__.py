"""Recordings of answers: written, read, replayed; and the check of their receipts."""
