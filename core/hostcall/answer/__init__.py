"""One answer: the plan, its rounds, its calls, its sources and its end."""
