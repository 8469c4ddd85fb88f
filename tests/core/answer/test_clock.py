"""The answer's clock, which stands still while a person is asked."""

from hostcall.answer.clock import Clock


def test_the_time_of_an_approval_is_not_the_answers() -> None:
    clock = Clock(10.0)
    clock.start(5.0)
    assert clock.deadline() == 15.0
    clock.ask(7.0, asking=True)
    clock.ask(8.0, asking=True)
    assert clock.deadline() == float("inf")
    clock.ask(107.0, asking=False)
    clock.ask(108.0, asking=False)
    assert clock.deadline() == 115.0
