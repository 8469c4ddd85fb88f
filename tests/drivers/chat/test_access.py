"""Who may ask, and how much."""

import pytest

from hostcall.errors import SettingsError
from hostcall_drivers.chat.access import Gate, Keys, check_local, only_this_machine
from hostcall_drivers.chat.faults import ApiError

ALICE, BOB = "a" * 32, "b" * 32


class TestKeys:
    def test_each_key_has_its_name(self) -> None:
        keys = Keys({"alice": ALICE, "bob": BOB})
        assert keys.name_of(f"Bearer {ALICE}") == "alice"
        assert keys.name_of(f"bearer  {BOB} ") == "bob"

    @pytest.mark.parametrize(
        "field",
        [
            None,
            "",
            "Bearer",
            "Bearer ",
            ALICE,
            f"Basic {ALICE}",
            f"Bearer {ALICE}x",
            f"Bearer {ALICE[1:]}",
            "Bearer \udc80",
        ],
    )
    def test_whatever_else_comes_is_a_401(self, field: str | None) -> None:
        with pytest.raises(ApiError) as raised:
            Keys({"alice": ALICE}).name_of(field)
        assert raised.value.status == 401
        assert raised.value.headers["WWW-Authenticate"] == "Bearer"

    def test_without_keys_anyone_may_ask(self) -> None:
        assert Keys({}).name_of(None) == "anyone"
        assert not Keys({})

    @pytest.mark.parametrize("key", ["", "short", "x" * 15, "with a blank in it, and long", "ключ" * 8, "tab\t" * 8])
    def test_a_key_that_can_be_guessed_or_not_be_sent_is_named(self, key: str) -> None:
        with pytest.raises(SettingsError, match=r"^keys\.bob "):
            Keys({"alice": ALICE, "bob": key})

    def test_one_key_is_not_two_names(self) -> None:
        with pytest.raises(SettingsError, match=r"^keys\.bob "):
            Keys({"alice": ALICE, "bob": ALICE})

    def test_all_keys_are_compared_whichever_fits_and_none_is_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import hmac

        compared: list[bytes] = []
        real = hmac.compare_digest

        def counting(one: bytes, other: bytes) -> bool:
            compared.append(one)
            return real(one, other)

        monkeypatch.setattr(hmac, "compare_digest", counting)
        keys = Keys({"alice": ALICE, "bob": BOB, "carol": "c" * 32})
        keys.name_of(f"Bearer {ALICE}")
        assert len(compared) == 3
        assert ALICE not in repr(vars(keys))


class TestLocal:
    @pytest.mark.parametrize(
        ("host", "origin"),
        [
            ("localhost", None),
            ("localhost:8300", "http://localhost:8300"),
            ("127.0.0.1:8300", None),
            ("[::1]:8300", "http://[::1]:8300"),
            ("LocalHost:1", "http://localhost:1"),
        ],
    )
    def test_programs_and_pages_of_this_machine_are_answered(self, host: str, origin: str | None) -> None:
        check_local(host, origin)

    @pytest.mark.parametrize(
        ("host", "origin"),
        [
            (None, None),
            ("", None),
            ("rebound.example.org:8300", None),
            ("localhost.example.org", None),
            ("127.0.0.1.example.org", None),
            ("[::2]:8300", None),
            ("localhost:8300", "https://example.org"),
            ("localhost:8300", "http://localhost:9"),
            ("localhost:8300", "null"),
        ],
    )
    def test_a_page_of_somebody_else_is_a_403(self, host: str | None, origin: str | None) -> None:
        with pytest.raises(ApiError) as raised:
            check_local(host, origin)
        assert raised.value.status == 403


class TestGate:
    def test_so_many_run_at_once_with_one_key_and_in_all(self) -> None:
        gate = Gate(answers=3, answers_a_key=2, answers_a_minute=100)
        with gate.entered("alice", 0.0), gate.entered("alice", 0.0):
            with pytest.raises(ApiError) as raised, gate.entered("alice", 0.0):
                pass
            assert (raised.value.status, raised.value.headers["Retry-After"]) == (429, "5")
            with gate.entered("bob", 0.0):
                with pytest.raises(ApiError) as raised, gate.entered("carol", 0.0):
                    pass
                assert (raised.value.status, raised.value.headers["Retry-After"]) == (503, "5")
            with gate.entered("carol", 0.0):
                pass
        assert gate.running == 0

    def test_what_raised_inside_gives_its_place_back(self) -> None:
        gate = Gate(answers=1, answers_a_key=1, answers_a_minute=100)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError), gate.entered("alice", 0.0):
                raise ZeroDivisionError
        assert gate.running == 0

    def test_so_many_start_a_minute_and_the_wait_is_told(self) -> None:
        gate = Gate(answers=9, answers_a_key=9, answers_a_minute=6)
        for _ in range(6):
            with gate.entered("alice", 100.0):
                pass
        with pytest.raises(ApiError) as raised, gate.entered("alice", 101.0):
            pass
        assert (raised.value.status, raised.value.headers["Retry-After"]) == (429, "9")
        with gate.entered("bob", 101.0), gate.entered("alice", 110.0):
            pass
        with pytest.raises(ApiError), gate.entered("alice", 111.0):
            pass

    def test_what_was_not_used_is_not_saved_beyond_a_minute(self) -> None:
        gate = Gate(answers=9, answers_a_key=9, answers_a_minute=2)
        with gate.entered("alice", 0.0):
            pass
        for _ in range(2):
            with gate.entered("alice", 1e6):
                pass
        with pytest.raises(ApiError), gate.entered("alice", 1e6):
            pass


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False),
     ("192.168.1.2", False), ("127.example.org", False), ("", False)],
)  # fmt: skip
def test_only_the_loopback_is_the_loopback(host: str, local: bool) -> None:
    assert only_this_machine(host) is local
