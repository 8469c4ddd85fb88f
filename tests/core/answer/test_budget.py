"""The research budget: allotted when asked, settled in the order asked."""

from hypothesis import given
from hypothesis import strategies as st

from hostcall.answer.budget import Budget, PageShare, share_pages
from hostcall.data import Spent
from hostcall.limits import Limits


def test_searches_are_given_while_there_are_any() -> None:
    budget = Budget(Limits(searches=5))
    assert [budget.take_searches(3), budget.take_searches(3), budget.take_searches(3)] == [3, 2, 0]
    assert budget.spent
    assert budget.summary() == Spent(searches=5, searches_allowed=5, pages=0, pages_allowed=12)


def test_the_line_says_what_is_settled_and_not_what_is_on_its_way() -> None:
    budget = Budget(Limits())
    budget.take_searches(3)
    assert budget.line() == "Searches used 0 of 16; pages read 0 of 12"
    budget.settle(3, 1)
    assert budget.line() == "Searches used 3 of 16; pages read 1 of 12"


def test_a_share_is_taken_page_by_page() -> None:
    budget = Budget(Limits(pages=2))
    share = PageShare(budget, 1)
    assert [share.take(), share.take()] == [True, False]
    assert (share.used, budget.pages, budget.pages_left) == (1, 1, 1)


@given(st.integers(0, 30), st.integers(0, 8), st.integers(1, 8))
def test_shares_never_add_up_to_more_and_every_crawl_gets_a_page_while_there_are_any(
    pages: int, crawls: int, most: int
) -> None:
    sizes = share_pages(pages, crawls, most)
    assert len(sizes) == crawls
    assert sum(sizes) <= pages
    assert all(0 <= size <= most for size in sizes)
    assert sum(size > 0 for size in sizes) == min(crawls, pages)
