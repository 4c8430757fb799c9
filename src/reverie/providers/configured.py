"""Embedding models and rerankers as the configuration names them."""

from pathlib import Path

from typing_extensions import TypeIs

from reverie import config, errors
from reverie.providers import base, builtin, http, local, places, remote, reranking


def embedders(
    settings: config.Embedding, cache: Path | None
) -> dict[str, base.Embedder]:
    """By name, the present one first. Unless there shall be none, the built-in one can
    always embed. Raises Misconfigured.
    """
    present = _embedder(settings, cache)
    if present is None:
        return {}
    in_order: list[base.Embedder | None] = [present]
    if settings.previous is not None:
        in_order.append(_embedder(settings.previous, cache))
    in_order.append(builtin.Builtin())
    by_name: dict[str, base.Embedder] = {}
    for embedder in in_order:
        if embedder is not None:
            by_name.setdefault(embedder.name, embedder)
    return by_name


def _embedder(
    settings: config.EmbeddingModel, cache: Path | None
) -> base.Embedder | None:
    if settings.provider == "builtin":
        return builtin.Builtin(dimensions=settings.dimensions)
    if settings.provider == "none":
        return None
    _needs(settings.provider, model=settings.model)
    if settings.provider == "fastembed":
        return local.Local(
            local.source(settings.model, cache=cache),
            pooling=settings.pooling,
            version=settings.version,
            dimensions=settings.dimensions,
        )
    if settings.provider == "openai":
        speech, default_url = remote.OPENAI, ""
    else:
        speech, default_url = remote.OLLAMA, remote.OLLAMA_URL
    url = settings.base_url or default_url
    _needs(settings.provider, base_url=url)
    place = places.of(url, settings.model, local=settings.local)
    server = http.ModelServer(
        url,
        settings.api_key,
        settings.timeout_s,
        "embedding",
        errors.EmbedderUnavailable,
        place,
    )
    return remote.Remote(
        server,
        speech,
        model=settings.model,
        version=settings.version,
        dimensions=settings.dimensions,
    )


def reranker(
    settings: config.RerankerModel, cache: Path | None
) -> base.Reranker | None:
    """The reranker, or None where there shall be none. Raises Misconfigured."""
    if settings.provider == "none":
        return None
    _needs(settings.provider, model=settings.model, part="reranker")
    if settings.provider == "fastembed":
        return local.LocalReranker(local.source(settings.model, cache=cache))
    _needs(settings.provider, base_url=settings.base_url, part="reranker")
    place = places.of(settings.base_url, settings.model, local=settings.local)
    server = http.ModelServer(
        settings.base_url,
        settings.api_key,
        settings.timeout_s,
        "reranking",
        errors.RerankerUnavailable,
        place,
    )
    return reranking.RemoteReranker(server, model=settings.model)


def _needs(provider: str, *, part: str = "embedding", **settings: str) -> None:
    """Raise Misconfigured for a setting that a provider needs and that is empty."""
    for name, value in settings.items():
        if not value:
            raise errors.Misconfigured(
                f"The {part} provider `{provider}` needs `{name}`.",
                hint=f"Set it under [{part}].",
            )


def in_cloud(model: object) -> TypeIs[remote.Remote | reranking.RemoteReranker]:
    """Whether a model is on a server that is not this machine's or its network's."""
    return (
        isinstance(model, remote.Remote | reranking.RemoteReranker)
        and model.server.place == "cloud"
    )
