"""What every test starts from."""

from hypothesis import settings

# No test asserts a time: on a busy machine an example takes as long as it takes. What else was set stays as it is.
settings.register_profile("hostcall", settings(), deadline=None)
settings.load_profile("hostcall")
