"""From the name of a model to the dialects it writes, and from names that a caller may give to rows of the table."""

import re
from functools import cache

import attrs

from hostcall.errors import SettingsError
from hostcall.tooltext.dialect import Dialect
from hostcall.tooltext.dialects import DIALECTS

ROWS: dict[str, Dialect] = {row.name: row for row in DIALECTS}

FAMILIES: dict[str, tuple[str, ...]] = {
    "qwen-xml": ("qwen-xml",),
    "hermes": ("hermes",),
    "ernie": ("hermes",),
    "apriel": ("jamba",),
    "xlam": ("bare-json", "fenced-json", "mistral-v3", "hermes"),
    "llama4": ("pythonic", "llama-json", "python-tag"),
    "llama3": ("llama-json", "python-tag"),
    "command-a": ("command-a",),
    "functionary-v3.1": ("qwen-xml",),
    "functionary-v3.2": ("functionary-v3.2",),
    "hunyuan-a13b": ("jamba",),
    "hunyuan-v3": ("hunyuan",),
    "hunyuan-v4": ("hunyuan",),
    "phi4": ("functools", "granite-token"),
    "firefunction": ("functools",),
    "gpt-oss": ("harmony", "harmony-stripped"),
    "mistral-all": ("mistral", "mistral-v3"),
    "bracket": ("bracket", "bracket-invoke", "bracket-lines"),
    "gemma3": ("function-gemma", "tool-code"),
    "step-xml": ("qwen-xml",),
}
"""Names for more than one row, or for a row under another name."""

MODELS: tuple[tuple[str, str, bool], ...] = (
    # What the name holds, the family, and whether white space in its reasoning is exact.
    (r"deepseek-?r1", "deepseek", True),
    (r"qwen-?3(\.\d+)?-?coder|qwen-?coder-?3|qwen-?3\.[5-9]|qwen-?[4-9](?!b)", "qwen-xml", False),
    (r"qwen|qwq|hermes|trinity|reka", "hermes", False),
    (r"nemotron-?(nano-?)?(v?2|9b-v2|12b-v2)", "nemotron", False),
    (r"nemotron-?3|nemotron.*v3|mimo|minicpm-?v|granite-?4\.[2-9]|step-?3\.5|step-?5|intellect", "qwen-xml", False),
    (r"minicpm-?5", "minicpm", False),
    (r"glm-?(4\.[5-9]|[5-9])|glm4\.?[5-9]|ling-?3|laguna|poolside|spark-?2\.5", "glm", False),
    (r"iquest", "iquest", False),
    (r"deepseek-?(v|r)?-?3\.2|deepseek-?v?-?4|deepseek-?v?-?[5-9]", "dsml", True),
    (r"deepseek|cogito", "deepseek", True),
    (r"gigachat-?3\.5", "dsml", True),
    (r"gigachat", "gigachat", False),
    (r"kimi-?k-?3", "kimi-k3", True),
    (r"kimi|moonlight", "kimi-k2", True),
    (r"k2-horizon|k2-think", "k2-horizon", False),
    (r"gpt-?oss|llm-?jp-?4", "gpt-oss", True),
    (r"functiongemma|gemma-?[1-3]", "gemma3", False),
    (r"gemma", "gemma4", True),
    (r"mistral-7b|mistral-nemo|mixtral|mistral-small-2409|mistral-large-24", "mistral-all", True),
    (r"mistral|devstral|magistral|ministral|codestral|pixtral", "mistral-all", True),
    (r"functionary.*v?3\.2", "functionary-v3.2", False),
    (r"functionary", "functionary-v3.1", False),
    (r"firefunction", "firefunction", False),
    (r"xlam", "xlam", False),
    (r"llama-?4", "llama4", False),
    (r"llama-?3", "llama3", False),
    (r"olmo", "olmo", False),
    (r"lfm-?2", "lfm2", False),
    (r"minimax.*m3", "minimax-m3", False),
    (r"minimax", "minimax-m2", False),
    (r"seed-?oss", "seed-oss", False),
    (r"hunyuan-?a13b", "hunyuan-a13b", False),
    (r"hunyuan|hy-?[34]", "hunyuan-v3", False),
    (r"jamba", "jamba", False),
    (r"apriel", "apriel", False),
    (r"step-?3", "step3", False),
    (r"granite-?20b", "granite-20b-fc", False),
    (r"granite-?4", "hermes", False),
    (r"granite", "granite", False),
    (r"command-?r-?(plus|v01|08)|c4ai-command-r-(plus|v01)", "command-r", False),
    (r"command|c4ai|aya", "command-a", False),
    (r"apertus", "apertus", False),
    (r"internlm|intern-?s1", "internlm", False),
    (r"phi-?4", "phi4", False),
    (r"longcat", "longcat", False),
    (r"ernie", "ernie", False),
    (r"dots", "dots", False),
    (r"plamo", "plamo", False),
)
"""Read from the top; the first that fits counts."""


@attrs.frozen(eq=False)
class Choice:
    """The dialects that are armed."""

    rows: tuple[Dialect, ...]
    """Those that were asked for first."""
    hinted: frozenset[str]
    """The names of those that were asked for, by the caller or through the model."""
    families: frozenset[str] = frozenset()
    exact_reasoning: bool = False


@cache
def choose(dialects: tuple[str, ...], model: str | None) -> Choice:
    """Return the dialects to arm.

    Args:
        dialects: Names of rows or families; ``auto`` is every distinctive one and those of the model; ``all`` is every.
        model: A model's name: a hub id, an Ollama tag, the name of a GGUF file.

    Raises:
        SettingsError: There is no dialect of that name.
    """
    names: list[str] = []
    families: list[str] = []
    exact = False
    automatic = False
    for word in dialects:
        if word in ("auto", "all"):
            automatic = True
            family, exact = family_of(model) if word == "auto" else ("", exact)
            families += [family] if family else []
            names += FAMILIES.get(family, (family,)) if family else ()
            names += [row.name for row in DIALECTS] if word == "all" else ()
        else:
            families.append(word)
            names += FAMILIES.get(word, (word,))
    for name in names:
        if name not in ROWS:
            raise SettingsError(f"dialects: there is none of the name {name!r}")
    hinted = dict.fromkeys(names)
    rest = [row.name for row in DIALECTS if row.auto and row.name not in hinted] if automatic else []
    return Choice(tuple(ROWS[name] for name in (*hinted, *rest)), frozenset(hinted), frozenset(families), exact)


@cache
def family_of(model: str | None) -> tuple[str, bool]:
    """Return the family of a model by its name, and whether its reasoning is exact to the space; empty when unknown."""
    if not model:
        return "", False
    bare = re.sub(r"\.gguf$", "", model.lower().replace("_", "-").replace(" ", "-"))
    # The last part of a path or a hub id names the model; the owner may be named like another one.
    bare = bare.rsplit("/", 1)[-1]
    for pattern, family, exact in MODELS:
        if re.search(pattern, bare):
            return family, exact
    return "", False
