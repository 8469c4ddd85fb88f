"""Several calls of a round on one site: an answer is one visitor to it, however many calls it makes."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from hostcall.answer.answer import Answer
from hostcall.commands import CallEngine, Command, Connect, Request, Resolve
from hostcall.events import BodyReceived, Failed, Resolved, ResponseStarted
from hostcall.limits import Limits
from hostcall.testing import TODAY, ScriptedDriver, Timed, World, address_of, reply_calls, reply_text, stream
from tests.core.answer.test_overlap import fragment, paced

FETCH = "fetch_page_content_recursive"
PUBLIC = "93.184.215.14"
SITES = ("docs.example.org", "www.docs.example.org", "one.example.net", "two.example.net")
QUESTION = [{"role": "user", "content": "Read " + ", ".join(f"https://{site}/" for site in SITES)}]
PAGE = "<title>P</title><main><p>All that is said here.</p>{links}</main>"


def _world() -> World:
    links = "".join(f'<p>More of it on <a href="/{at}">page {at}</a>.</p>' for at in range(4))
    pages = {f"https://{site}/": PAGE.format(links=links) for site in SITES[:2]}
    pages |= {f"https://{site}/{at}": PAGE.format(links="") for site in SITES[:2] for at in range(4)}
    calls = [(FETCH, {"url": f"https://{site}/{path}"}) for path in ("", "a") for site in SITES]
    return World([reply_calls(*calls), reply_text("Read.")], pages=pages)


def _moving(world: World) -> Callable[[Request], Iterator[Timed]]:
    """Return the world with pages that take a while, and two sites that lead to the first."""

    def play(request: Request) -> Iterator[Timed]:
        if isinstance(request, Connect) and request.server_name.endswith(".example.net"):
            location = f"https://docs.example.org{request.request.target}"
            yield 0.3, ResponseStarted(request.id, 302, (("Location", location),), PUBLIC)
            return
        for delay, event in world(request):
            yield delay + (0.2 if isinstance(request, Connect | Resolve) else 0.0), event

    return play


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("a_host", [1, 2, 3])
def test_no_site_has_more_requests_open_than_the_limit_whatever_leads_there(overlap: bool, a_host: int) -> None:
    answer = Answer(QUESTION, limits=Limits(overlap=overlap, requests_a_host=a_host))
    most: Counter[str] = Counter()

    def watch(driver: ScriptedDriver) -> bool:
        hosts = {
            request.id: request.host if isinstance(request, Resolve) else request.server_name
            for request in driver.requests
            if isinstance(request, Resolve | Connect)
        }
        live = Counter(hosts[id_].removeprefix("www.") for id_ in answer.live if id_ in hosts)
        for site, count in live.items():
            most[site] = max(most[site], count)
        return False

    driver = ScriptedDriver(paced(0.05)(_moving(_world())), cancel_when=watch)
    result = driver.run(answer)
    assert result.why_stopped == "answered"
    assert max(most.values()) == most["docs.example.org"] == a_host
    read = {address_of(request) for request in driver.requests if isinstance(request, Connect)}
    assert {f"https://{site}/" for site in SITES} <= read


def test_a_page_that_waits_for_a_crowded_site_goes_on_while_the_model_still_writes() -> None:
    answer = Answer(QUESTION, limits=Limits(requests_a_host=1))

    def asked(commands: list[Command]) -> list[str]:
        return [one.id for one in commands if isinstance(one, Request) and not isinstance(one, CallEngine)]

    answer.start(0.0, answer_id="a", today=TODAY, capacity=8)
    answer.receive(ResponseStarted("r1.e0", 200, (("Content-Type", "text/event-stream"),)), 0.0)
    calls = [fragment(at, FETCH, {"url": f"https://{SITES[at * 2]}/"}) for at in range(2)]
    commands = answer.receive(
        BodyReceived("r1.e0", stream(*calls, fragment(2, FETCH, ""), finish=None, done=False)), 0.0
    )
    assert asked(commands) == ["r1.c0.p0.h0.lookup", "r1.c1.p0.h0.lookup"]
    assert asked(answer.receive(Resolved("r1.c1.p0.h0.lookup", (PUBLIC,)), 0.0)) == ["r1.c1.p0.h0.get"]
    moved = (("Location", "https://docs.example.org/x"),)
    assert asked(answer.receive(ResponseStarted("r1.c1.p0.h0.get", 302, moved, PUBLIC), 0.0)) == []
    assert asked(answer.receive(Failed("r1.c0.p0.h0.lookup", "not_found"), 1.0)) == ["r1.c1.p0.h1.lookup"]
