"""The doctor: a short, scripted examination of an engine and a search service, and what to change about them.

`Doctor` is a machine as `Answer` is: a driver runs it, it asks a dozen small requests, and its `report` says what was
seen. What it learns of an engine is a row of capabilities, which answers can begin with.
"""

from hostcall.doctor.doctor import Doctor, Report
from hostcall.doctor.finding import Finding

__all__ = ["Doctor", "Finding", "Report"]
