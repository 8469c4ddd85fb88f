"""The demo from end to end on the loopback: real HTTP, real TLS, the real driver."""

import json
import socket
import ssl

import h11
import pytest
import trio

from hostcall import Answer
from hostcall.commands import Finish, ShowPage, ShowSearch
from hostcall.data import Result
from hostcall.engine.settings import Engine
from hostcall_drivers.demo import server
from hostcall_drivers.demo.mapped import MappedTrioNetwork
from hostcall_drivers.demo.network import PUBLIC_V4, PUBLIC_V6, Mapping, resolve
from hostcall_drivers.demo.server import World, demo_world
from hostcall_drivers.trio import TrioDriver


async def exchange(stream: trio.abc.Stream, data: bytes) -> list[tuple[int, bytes]]:
    """Send requests on one connection and return all answers until it is closed."""
    connection = h11.Connection(h11.CLIENT)
    answers: list[tuple[int, bytes]] = []
    for request in data.split(b"\n---\n"):
        head, _, body = request.partition(b"\n\n")
        first, *fields = head.split(b"\n")
        method, target = first.split(b" ")
        headers = [(name, value) for name, _, value in (field.partition(b": ") for field in fields)]
        headers.append((b"Content-Length", str(len(body)).encode()))
        await stream.send_all(connection.send(h11.Request(method=method, target=target, headers=headers)) or b"")
        if body:
            await stream.send_all(connection.send(h11.Data(data=body)) or b"")
        await stream.send_all(connection.send(h11.EndOfMessage()) or b"")
        status, received = 0, b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(bytes(await stream.receive_some(65536)))
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                received += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
        answers.append((status, received))
        connection.start_next_cycle()
    return answers


async def connect(world: World) -> trio.SocketStream:
    return await trio.open_tcp_stream("127.0.0.1", int(world.engine_url.rpartition(":")[2]))


async def answer(world: World, question: str) -> tuple[Result, list[ShowSearch | ShowPage]]:
    async def look_up(host: str) -> tuple[str, ...]:
        return tuple(world.resolve(host))

    network = MappedTrioNetwork(world.map_address)
    shown: list[ShowSearch | ShowPage] = []
    asked = Answer([{"role": "user", "content": question}], engine=Engine(wire="openai", model="demo"))
    async with (
        TrioDriver(world.engine_url, world.search_url, resolver=look_up, network=network, page_tls=world.ca) as driver,
        driver.run(asked) as notices,
    ):
        async for notice in notices:
            if isinstance(notice, ShowSearch | ShowPage):
                shown.append(notice)
            elif isinstance(notice, Finish):
                return notice.result, shown
    raise AssertionError("an answer ends with its result")


async def test_a_question_is_searched_read_and_answered_with_quotations_that_are_found() -> None:
    async with demo_world() as world:
        result, shown = await answer(world, "What does the maxsize of functools.lru_cache limit?")
        assert result.why_stopped == "answered"
        assert isinstance(shown[0], ShowSearch)
        pages = [notice for notice in shown if isinstance(notice, ShowPage)]
        assert pages[0].address == "https://docs.example.org/functools/lru_cache"
        assert pages[0].number == 1
        assert "“If *maxsize* is set to None, the LRU features are disabled" in result.text
        assert all(quote.found for quote in result.quotes)
        assert {citation.grade for citation in result.citations} == {"read"}
        assert result.marks == ()


async def test_what_the_pages_do_not_hold_is_said_plainly() -> None:
    async with demo_world() as world:
        result, _ = await answer(world, "Who won the football world cup in 1998?")
        assert result.text.startswith("The pages that were found do not hold the answer.")


async def test_services_share_one_connection_and_odd_requests_end_only_themselves() -> None:
    async with demo_world() as world, await connect(world) as stream:
        body = json.dumps(
            {"messages": [], "tools": [{"function": {"name": "x", "parameters": [3]}}], "tool_choice": "required"}
        )
        answers = await exchange(
            stream,
            b"GET /v1/models\nHost: x\n---\nGET /search?q=json&format=json\nHost: x\n---\n"
            b"POST /v1/chat/completions\nHost: x\n\n" + body.encode() + b"\n---\nGET /nothing\nHost: x",
        )
        assert [status for status, _ in answers] == [200, 200, 200, 404]
        assert json.loads(answers[1][1])["results"]


async def test_a_handler_that_fails_is_a_500() -> None:
    def fail(_: server.Request) -> server.Answer:
        raise ValueError("odd")

    assert server._answered(fail, server.Request("GET", "/", "x", b"")).status == 500


async def ended(stream: trio.SocketStream, data: bytes) -> bool:
    """Send, and return whether the other end then closes the connection."""
    try:
        await stream.send_all(data)
        while await stream.receive_some(1000):
            pass
    except trio.BrokenResourceError:
        pass
    return True


async def test_what_is_no_http_or_too_large_or_breaks_off_ends_its_connection_only() -> None:
    large = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n" + b"x" * 9_000_000
    async with demo_world() as world:
        for data in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", large):
            async with await connect(world) as stream:
                with trio.fail_after(5):
                    assert await ended(stream, data)
        async with await connect(world) as stream:
            await stream.send_all(b"GET / HTTP/1.1\r\nHost")
        async with await connect(world) as stream:
            assert (await exchange(stream, b"GET /health\nHost: x"))[0][0] == 200


async def test_expect_is_answered_and_a_paced_stream_comes_whole() -> None:
    async with demo_world(pace=0.001) as world, await connect(world) as stream:
        body = json.dumps({"messages": [{"role": "user", "content": "hi"}], "stream": True}).encode()
        head = ["POST /v1/chat/completions HTTP/1.1", "Host: x", "Expect: 100-continue", f"Content-Length: {len(body)}"]
        await stream.send_all("\r\n".join([*head, "", ""]).encode())
        assert bytes(await stream.receive_some(1000)).startswith(b"HTTP/1.1 100 ")
        await stream.send_all(body)
        received = b""
        while b"[DONE]" not in received:
            received += bytes(await stream.receive_some(65536))
        assert b"Transfer-Encoding: chunked" in received


async def test_pages_are_served_over_tls_by_name_only() -> None:
    async with demo_world() as world:
        ip, port = world.map_address(PUBLIC_V6, 443)
        plain = await trio.open_tcp_stream(ip, port)
        stream = trio.SSLStream(plain, world.ca, server_hostname="docs.example.org", https_compatible=True)
        async with stream:
            (status, body), (other, _) = await exchange(
                stream, b"GET /json\nHost: docs.example.org\n---\nGET /json\nHost: other.example.org:443"
            )
            assert (status, other) == (200, 404)
            assert b"<h1>json" in body
        wrong = trio.SSLStream(
            await trio.open_tcp_stream(ip, port), world.ca, server_hostname="example.com", https_compatible=True
        )
        with pytest.raises(trio.BrokenResourceError) as caught:
            await wrong.do_handshake()
        assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)
        await trio.aclose_forcefully(wrong)


async def test_an_exception_in_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(LookupError):
        async with demo_world():
            raise LookupError


class TestNetwork:
    def test_names_under_the_domain_have_two_public_addresses(self) -> None:
        for host in ("docs.example.org", "Docs.Example.ORG.", "a.b.example.org"):
            assert resolve(host) == [PUBLIC_V4, PUBLIC_V6]

    @pytest.mark.parametrize(
        "host", ["example.org", "example.com", "notexample.org", "docs.example.org.evil.example", "localhost", ""]
    )
    def test_no_other_name_has_any(self, host: str) -> None:
        with pytest.raises(socket.gaierror):
            resolve(host)

    def test_the_two_addresses_lead_to_the_loopback(self) -> None:
        mapping = Mapping(tls_port=4711)
        for ip in (PUBLIC_V4, PUBLIC_V6, "2606:2800:220:1:0:0:0:1"):
            assert mapping(ip, 443) == ("127.0.0.1", 4711)

    @pytest.mark.parametrize(
        ("ip", "port"),
        [(PUBLIC_V4, 80), ("93.184.215.15", 443), ("127.0.0.1", 443), ("", 443), ("docs.example.org", 443)],
    )
    def test_nothing_else_leads_anywhere(self, ip: str, port: int) -> None:
        with pytest.raises(KeyError):
            Mapping(tls_port=4711)(ip, port)
