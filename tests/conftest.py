"""What every test starts from."""

from hypothesis import HealthCheck, settings

# No test asserts a time: on a busy machine an example takes as long as it takes. What else was set stays as it is.
settings.register_profile("hostcall", settings(), deadline=None)
settings.load_profile("hostcall")
# For mutants, the same examples each time: what is measured is the tests, not their luck. mutmut runs each test twice.
settings.register_profile(
    "mutants",
    settings(),
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors],
)
