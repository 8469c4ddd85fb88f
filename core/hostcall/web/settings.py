"""The settings of an answer's web tools."""

from typing import Literal

import attrs


@attrs.frozen(kw_only=True)
class Web:
    """What the two web tools of an answer may do. Every default is the strict one.

    Security:
        Rule 1 and rule 2. Threat: a setting that opens more than the operator meant. The allow settings are empty, and
        there is none that turns a rule off.
    """

    provenance: Literal["host", "address"] = "host"
    """Rule 1: a host that was seen is enough, or only the exact address or a same-site link of a page read."""
    deny_hosts: tuple[str, ...] = ()
    """Hosts never opened. A leading dot means the name and everything under it."""
    allow_hosts: tuple[str, ...] = ()
    """If not empty, the only hosts that are opened; same form."""
    deny_networks: tuple[str, ...] = ()
    """Networks in CIDR form that are refused beside the table of rule 2."""
    allow_networks: tuple[str, ...] = ()
    """Networks in CIDR form that are opened although the table of rule 2 refuses them."""
    language: str = "auto"
    """SearXNG's `language`."""
    safesearch: Literal[0, 1, 2] = 0
    categories: tuple[str, ...] = ()
    """SearXNG's `categories`; empty leaves it to the service."""
    contact: str | None = None
    """Put into the user agent, so that a site's operator can write to somebody."""
