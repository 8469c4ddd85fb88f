"""What every test of the drivers starts from."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing that is saved on this machine, and no key of its environment."""
    monkeypatch.setenv("HOSTCALL_ROWS", str(tmp_path / "rows"))
    monkeypatch.delenv("HOSTCALL_ENGINE_KEY", raising=False)
    return tmp_path / "rows"
