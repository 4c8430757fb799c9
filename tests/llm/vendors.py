"""What the vendors' servers answer, whole and in pieces, recorded from their
documentation.
"""

import json
from collections.abc import Sequence
from typing import Any

from tests.llm import model_server


def openai(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def openai_stream(pieces: Sequence[str]) -> bytes:
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks: list[dict[str, Any]] = [
        {
            **base,
            "choices": [
                {
                    "index": 0,
                    "delta": {"role": "assistant", "content": piece},
                    "finish_reason": None,
                }
            ],
        }
        for piece in pieces
    ]
    chunks.append(
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    )
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    chunks.append({**base, "choices": [], "usage": usage})
    return (
        b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks)
        + b"data: [DONE]\n\n"
    )


def anthropic(text: str) -> dict[str, Any]:
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def anthropic_stream(pieces: Sequence[str]) -> bytes:
    start = {
        **anthropic(""),
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 11, "output_tokens": 1},
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": piece},
            }
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
    ]
    return b"".join(
        f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events
    )


def google(text: str) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 11,
            "candidatesTokenCount": 7,
            "totalTokenCount": 18,
        },
        "modelVersion": "m",
        "responseId": "r1",
    }


def google_stream(pieces: Sequence[str]) -> bytes:
    return b"".join(
        b"data: " + json.dumps(google(piece)).encode() + b"\r\n\r\n" for piece in pieces
    )


def saying(text: str) -> model_server.Answer:
    """A server like OpenAI's that always says this, in pieces of three letters where it
    is asked for pieces.
    """

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if body.get("stream"):
            return 200, openai_stream(
                [text[at : at + 3] for at in range(0, len(text), 3)]
            )
        return 200, openai(text)

    return answer


def echo(body: dict[str, Any]) -> tuple[int, Any]:
    """A server like OpenAI's that says what it was told last."""
    return saying(str(body["messages"][-1]["content"]))(body)
