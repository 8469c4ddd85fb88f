"""How an answer ends: everything a host may want to know of it, put together once."""

from hostcall.answer.citations import find_citations, find_quotes, marks
from hostcall.answer.transcript import Transcript
from hostcall.answer.world import RAN, World
from hostcall.data import Capabilities, Result, Usage, WhyStopped


def make_result(
    world: World,
    transcript: Transcript,
    *,
    text: str,
    why_stopped: WhyStopped,
    detail: str,
    fault: str,
    cut: bool,
    from_reasoning: bool,
    usage: Usage,
    quirks: tuple[str, ...],
    capabilities: Capabilities,
) -> Result:
    """Return the result of an answer, its citations and quotations checked."""
    web = world.web is not None
    sources = world.ledger.sources
    citations = find_citations(text, sources) if web else ()
    quotes = find_quotes(text, world.ledger.texts) if web else ()
    ran = any(receipt.outcome in RAN for receipt in world.chain.receipts)
    return Result(
        text=text,
        why_stopped=why_stopped,
        detail=detail,
        fault=fault,
        cut=cut,
        from_reasoning=from_reasoning,
        ledger=sources,
        citations=citations,
        quotes=quotes,
        marks=marks(citations, quotes, offered=web or bool(world.tools), ran=ran, has_text=bool(text)),
        budget=world.budget.summary() if web else None,
        usage=usage,
        receipts=tuple(world.chain.receipts),
        receipts_head=world.chain.head,
        rewrites=tuple(transcript.rewrites),
        quirks=quirks,
        capabilities=capabilities,
        transcript=transcript.copy(),
    )
