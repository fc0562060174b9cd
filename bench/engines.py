"""What the locked brief and the ledger are worth, against a stand-in for DeepSeek that simulates its prompt cache.

    python bench/engines.py [REPOSITORY]

Two server processes share one workspace and are asked twenty mixed questions between them. Printed are the bytes of the
prefix they sent, how much of it the stand-in billed as cache hits, and the ledger beside the stand-in's own bill. No
network: the stand-in (tests/fakes/deepseek.py) listens on loopback and bills by the shipped price table.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from mcp import Client, StdioServerParameters  # noqa: E402 - the path comes first
from mcp.client.stdio import stdio_client  # noqa: E402
from tests.fakes.deepseek import KEY, FakeDeepSeek  # noqa: E402

from braindex.llm.prices import load_prices  # noqa: E402

QUESTIONS = (
    "explain how the query routing pipeline decides between the models", "where are entities extracted from a file",
    "what is the architecture of the store", "how is a workspace found by its name",
    "audit how secrets are kept out of the index", "which files are never indexed",
    "design of the ranking signals", "how are citations checked",
    "explain how a damaged index is rebuilt", "where is the brief locked",
)  # fmt: skip
MODELS = ("deepseek-flash", "deepseek-v4-pro")


def environment(home: Path, url: str) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin", "HOME": str(home), "USERPROFILE": str(home), "BRAIN_DIR": str(home / "brain"),
        "PYTHONPATH": str(ROOT / "src"), "DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": url,
        "ENABLE_DEEPSEEK_PRO": "true",
    }  # fmt: skip


async def asked(repository: Path, env: dict[str, str]) -> list[dict[str, Any]]:
    """The structured answers of twenty questions, each put to both servers in turn."""
    server = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "braindex", "serve", "--workspace", str(repository)], env=env
    )
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Client(stdio_client(server))) for _ in range(2)]
        found = []
        for number, question in enumerate(QUESTIONS):
            for client in clients:
                # Sources from four files or more go to pro, so every other question asks for few of them.
                result = await client.call_tool("query_memory", {"query": question, "limit": 2 if number % 2 else 8})
                found.append(result.structured_content or {})
        return found


def written(body: dict[str, Any]) -> str:
    """As long as a real section or answer would be."""
    return "What the sources and the facts show, in plain words. " * (12 if "Write the section" in str(body) else 20)


def braindex(*arguments: str, env: dict[str, str]) -> str:
    command = [sys.executable, "-P", "-m", "braindex", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def measure(repository: Path) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        FakeDeepSeek(models=MODELS, cost=load_prices().cost, answer_text=written) as stand_in,
    ):
        home = Path(folder)
        env = environment(home, stand_in.url)
        braindex("scan", str(repository), env=env)
        before = len(stand_in.requests)
        answers = asyncio.run(asked(repository, env))
        pairs = list(zip(stand_in.requests[before:], stand_in.bill[before:], strict=True))
        questions = [(sent, billed) for sent, billed in pairs if len(sent.body["messages"]) == 2]
        prefixes = {sent.body["messages"][0]["content"] for sent, _ in questions}
        prefix = next(iter(prefixes))
        usage = json.loads(braindex("usage", "--json", env=env))
        return {
            "questions": len(answers),
            "engines": dict(Counter(one["engine"] for one in answers)),
            "different prefixes": len(prefixes),
            "prefix bytes": len(prefix.encode()),
            "lowest share of the prefix hit": round(_lowest(questions, prefix), 4),
            "ledger, dollars": usage["totals"]["cost_usd"],
            "bill, dollars": stand_in.total / 1e12,
            "violations": stand_in.violations,
            "usage": braindex("usage", env=env),
        }


def _lowest(questions: list[Any], prefix: str) -> float:
    """Of all calls but each model's first. The stand-in counts four bytes a token and a marker a message."""
    whole = 1 + -(-len(prefix.encode()) // 4)
    seen: Counter[str] = Counter()
    shares: list[float] = []
    for sent, billed in questions:
        seen[sent.body["model"]] += 1
        if seen[sent.body["model"]] > 1:
            shares.append(min(1.0, billed.usage.cache_hit_tokens / whole))
    return float(min(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", nargs="?", type=Path, default=ROOT, help="a checked-out repository")
    found = measure(parser.parse_args().repository.resolve())
    usage = found.pop("usage")
    for name, value in found.items():
        print(f"{name:<32} {value}")
    print(usage)


if __name__ == "__main__":
    main()
