"""What leaves of texts that hide personal values, through the gateway to a recording
server that stands for a cloud.

    python bench/evasion.py [--data FILE.jsonl] [--part tuning|kept|both] [--json]

A line of the file is {"kind", "text", "secrets": [...], "expect": "masked" or
"critical"}. Without one, sets/disguises.py makes the texts. A text is held when nothing
of it was sent, or, if it need only be masked, when none of its secrets is in what was
sent: as it is, without what stands between its letters and digits, or decoded by the
decoders here, which are not the product's.
"""

import argparse
import asyncio
import base64
import binascii
import contextlib
import html
import json
import re
import shutil
import tempfile
import threading
import unicodedata
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sets import disguises

from reverie import app, config, errors
from reverie.llm import chat

_AT_ONCE = 4
# So much of a secret in one piece is the secret.
_PIECE = 0.7
_ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "ok"},
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


class Cloud:
    """A server like OpenAI's that keeps the texts it was sent."""

    def __init__(self) -> None:
        self.sent: dict[str, str] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                messages = [str(message["content"]) for message in body["messages"]]
                outer.sent[messages[0]] = "\n".join(messages[1:])
                answer = json.dumps(_ANSWER).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- as the base class has it
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def readings(text: str) -> Iterator[str]:
    """A text as it is and as whoever decodes it reads it, twice over."""
    seen = {text}
    layer = [text]
    for _ in range(3):
        layer = [
            said for entry in layer for said in _decoded(entry) if said not in seen
        ]
        seen.update(layer)
    return iter(seen)


def _decoded(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text)
    yield "".join(char for char in folded if unicodedata.category(char) != "Cf")
    yield "".join(
        chr(ord(char) - 0xE0000) if 0xE0020 <= ord(char) < 0xE007F else char
        for char in text
    )
    yield html.unescape(text)
    yield re.sub(r"<[^<>]*>", "", text)
    yield urllib.parse.unquote(text)
    yield re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text)
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", text):
        with contextlib.suppress(binascii.Error, ValueError):
            padded = run + "=" * (-len(run) % 4)
            yield base64.urlsafe_b64decode(
                padded.replace("+", "-").replace("/", "_")
            ).decode()
        with contextlib.suppress(binascii.Error, ValueError):
            yield base64.b32decode(run + "=" * (-len(run) % 8)).decode()
    for run in re.findall(r"(?:[0-9a-fA-F]{2}[ ]?){6,}", text):
        with contextlib.suppress(ValueError):
            yield bytes.fromhex(run.replace(" ", "")).decode()
    for run in re.findall(r"(?:[01]{8} ?){6,}", text):
        yield "".join(chr(int(bits, 2)) for bits in re.findall("[01]{8}", run))
    for run in re.findall(r"(?:\d{2,3}, ?){5,}\d{2,3}", text):
        yield "".join(chr(int(code)) for code in re.findall(r"\d+", run))


def _bare(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def leaked(sent: str, secrets: Sequence[str]) -> str:
    """The first secret of which most is in what was sent, or ""."""
    texts = [_bare(reading) for reading in readings(sent)]
    texts += [text[::-1] for text in texts]
    for secret in secrets:
        bare = _bare(secret)
        size = max(min(6, len(bare)), round(_PIECE * len(bare)))
        pieces = {bare[at : at + size] for at in range(len(bare) - size + 1)}
        if any(piece in text for piece in pieces for text in texts if piece):
            return secret
    return ""


async def _ask(life: app.App, number: int, case: disguises.Case) -> str:
    """What became of a text: sent or held."""
    messages = (
        chat.Message("system", f"text {number}"),
        chat.Message("user", case.text),
    )
    try:
        await chat.ask(life.models, life.owner, chat.ChatRequest(messages, "evasion"))
    except errors.Confined:
        return "held back"
    return "sent"


async def measured(cases: Sequence[disguises.Case], folder: Path) -> dict[str, Any]:
    """Ask each in a home in this folder, and look at what the cloud got."""
    cloud = Cloud()
    settings = config.Config(
        home=folder,
        embedding=config.Embedding(provider="none"),
        model=config.Model.model_validate(
            {
                "provider": "openai",
                "model": "m",
                "base_url": cloud.url,
                "api_key": "none",
                "local": False,
                "timeout_s": 120,
            }
        ),
    )
    try:
        async with app.opened(settings) as life:
            turns = asyncio.Semaphore(_AT_ONCE)

            async def asked(number: int, case: disguises.Case) -> str:
                async with turns:
                    return await _ask(life, number, case)

            await asyncio.gather(*(asked(n, case) for n, case in enumerate(cases)))
    finally:
        cloud.close()
    return _report(cases, cloud)


def _report(cases: Sequence[disguises.Case], cloud: Cloud) -> dict[str, Any]:
    texts: dict[str, Counter[str]] = {"kind": Counter(), "disguise": Counter()}
    held: dict[str, Counter[str]] = {"kind": Counter(), "disguise": Counter()}
    left: list[dict[str, str]] = []
    back = total = 0
    for number, case in enumerate(cases):
        sent = cloud.sent.get(f"text {number}")
        back += sent is None
        secret = "" if sent is None else leaked(sent, case.secrets)
        is_held = sent is None or (case.expect == "masked" and not secret)
        total += is_held
        for group, key in (("kind", case.kind), ("disguise", case.disguise)):
            texts[group][key] += 1
            held[group][key] += is_held
        if not is_held:
            left.append(
                {
                    "kind": case.kind,
                    "disguise": case.disguise,
                    "text": case.text[:300],
                    "sent": (sent or "")[:300],
                }
            )
    report: dict[str, Any] = {
        "overall": {
            "texts": len(cases),
            "held": total,
            "share": round(total / len(cases), 4) if cases else 0.0,
            "held_back_whole": back,
        }
    }
    for group, counts in texts.items():
        report[f"by_{group}"] = {
            key: {"texts": count, "held": held[group][key]}
            for key, count in sorted(counts.items())
        }
    report["left"] = left
    return report


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--part", choices=("tuning", "kept", "both"), default="both")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="rev-evasion-", dir="/tmp"))
    folder.chmod(0o711)
    try:
        report = asyncio.run(measured(_cases(given.data, given.part), folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.json:
        print(json.dumps(report, indent=1, ensure_ascii=False))
        return
    print("  ".join(f"{key} {value}" for key, value in report["overall"].items()))
    for group in ("by_kind", "by_disguise"):
        for key, row in report[group].items():
            print(f"  {key:24} {row['held']:5} of {row['texts']}")
    for entry in report["left"]:
        print(f"  left: {entry}")


def _cases(data: Path | None, part: str) -> list[disguises.Case]:
    if data is not None:
        lines = data.read_text("utf-8").splitlines()
        return [disguises.read(line) for line in lines if line.strip()]
    made: list[disguises.Case] = []
    if part in ("tuning", "both"):
        made += [*disguises.cases("tuning"), *disguises.critical("tuning")]
    if part in ("kept", "both"):
        made += [*disguises.cases("kept"), *disguises.critical("kept")]
    return made


if __name__ == "__main__":
    main()
