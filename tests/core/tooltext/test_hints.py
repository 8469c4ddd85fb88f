"""From names to dialects."""

import pytest

from hostcall.errors import SettingsError
from hostcall.tokens import MARKERS, marker
from hostcall.tooltext import TextFilter
from hostcall.tooltext.dialects import DIALECTS
from hostcall.tooltext.hints import FAMILIES, ROWS, choose, family_of

KNOWN = {
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": "qwen-xml",
    "qwen3-coder:30b": "qwen-xml",
    "hf.co/unsloth/Qwen3-Coder-Next-GGUF:Q4_K_M": "qwen-xml",
    "Qwen3.5-9B": "qwen-xml",
    "Qwen/Qwen3-4B-Instruct-2507": "hermes",
    "qwen2.5:7b": "hermes",
    "Hermes-3-Llama-3.1-8B.Q5_K_M.gguf": "hermes",
    "NVIDIA-Nemotron-Nano-9B-v2": "nemotron",
    "zai-org/GLM-4.7": "glm",
    "deepseek-r1:8b": "deepseek",
    "DeepSeek-R1-Distill-Qwen-7B": "deepseek",
    "deepseek-ai/DeepSeek-V3.1": "deepseek",
    "deepseek-ai/DeepSeek-V3.2": "dsml",
    "deepseek-ai/DeepSeek-V4.1-Flash": "dsml",
    "moonshotai/Kimi-K2.6": "kimi-k2",
    "moonshotai/Kimi-K3": "kimi-k3",
    "gpt-oss:20b": "gpt-oss",
    "google/gemma-4-31B-it": "gemma4",
    "gemma3:4b": "gemma3",
    "mistral-nemo": "mistral-all",
    "Devstral-Small-2507": "mistral-all",
    "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf": "llama3",
    "llama3.3:70b": "llama3",
    "Llama-4-Scout-17B-16E-Instruct": "llama4",
    "Llama-xLAM-2-8b-fc-r": "xlam",
    "functionary-small-v3.2": "functionary-v3.2",
    "functionary-small-v3.1": "functionary-v3.1",
    "LFM2.5-1.2B": "lfm2",
    "MiniMax-M2": "minimax-m2",
    "MiniMax-M3": "minimax-m3",
    "Seed-OSS-36B-Instruct": "seed-oss",
    "Hunyuan-A13B-Instruct": "hunyuan-a13b",
    "AI21-Jamba-Large-1.7": "jamba",
    "step-3": "step3",
    "granite-3.3-8b-instruct": "granite",
    "granite-4.0-h-small": "hermes",
    "c4ai-command-r-plus": "command-r",
    "c4ai-command-r7b-12-2024": "command-a",
    "Apertus-8B-Instruct-2509": "apertus",
    "internlm3-8b-instruct": "internlm",
    "Phi-4-mini-instruct": "phi4",
    "LongCat-Flash-Chat": "longcat",
    "ERNIE-4.5-21B-A3B": "ernie",
    "a-model-nobody-knows": "",
}


@pytest.mark.parametrize(("model", "family"), KNOWN.items())
def test_a_model_name_leads_to_its_family(model: str, family: str) -> None:
    assert family_of(model)[0] == family
    assert choose(("auto",), model).rows


def test_every_family_names_rows() -> None:
    assert all(name in ROWS for names in FAMILIES.values() for name in names)


def test_auto_never_arms_what_prose_holds() -> None:
    rows = choose(("auto",), None).rows
    marks = {opener.mark for row in rows for opener in row.openers}
    assert not marks & {"{", "[", "functools", ">>>", "Action:", "```"}


def test_an_explicit_name_is_armed_alone_and_all_is_every_row() -> None:
    assert [row.name for row in choose(("hermes",), "gpt-oss").rows] == ["hermes"]
    assert {row.name for row in choose(("all",), None).rows} == set(ROWS)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SettingsError, match="no-such"):
        TextFilter([], dialects=("no-such",))


def test_rows_have_names_of_their_own_and_markers_from_the_list() -> None:
    assert len({row.name for row in DIALECTS}) == len(DIALECTS)
    assert len(set(MARKERS)) == len(MARKERS)
    with pytest.raises(LookupError):
        marker("<not-one>")
