"""The OpenAPI document, made from the operations: their docstrings, their bodies, their limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import epigram
from epigram.serve.fields import schema
from epigram.serve.studio import Operation

_PROBLEM = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "status": {"type": "integer"},
                "message": {"type": "string"},
                "field": {"type": "string"},
            },
            "required": ["status", "message"],
        }
    },
    "required": ["error"],
}
_REFUSALS = {
    "400": "not JSON",
    "401": "the token is missing",
    "404": "no such model",
    "413": "too much at once",
    "422": "a field is wrong, or the library refuses the input",
    "503": "busy, or it took too long",
}


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """OpenAPI 3.1."""
    schemas: dict[str, Any] = {"Problem": _PROBLEM}
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "epigram",
            "version": epigram.__version__,
            "description": "Taggers, language models, rerankers and converters. Corrections are learnt by the session "
            "that the header X-Epigram-Session names.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    doc = (operation.run.__doc__ or "").strip().splitlines()
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    found: dict[str, Any] = {
        "operationId": "_".join(part.strip("{}") for part in operation.path.split("/")[2:])
        + f"_{operation.method.lower()}",
        "summary": doc[0] if doc else "",
        "responses": {
            "200": {"description": "the answer", "content": {"application/json": {"schema": {}}}},
            **{code: {"description": why, "content": problem} for code, why in _REFUSALS.items()},
        },
    }
    parameters: list[dict[str, Any]] = []
    if "{name}" in operation.path:
        parameters.append({"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
    if operation.body is not None and operation.method == "GET":
        described = schema(operation.body)
        parameters += [
            {"name": name, "in": "query", "required": name in described["required"], "schema": kind}
            for name, kind in described["properties"].items()
        ]
    elif operation.binary:
        content: dict[str, Any] = {"application/octet-stream": {"schema": {"format": "binary"}}}
        found["requestBody"] = {"required": True, "content": content}
    elif operation.body is not None:
        content = {"application/json": {"schema": schema(operation.body, schemas)}}
        if operation.example is not None:
            content["application/json"]["example"] = operation.example
        found["requestBody"] = {"required": True, "content": content}
    if parameters:
        found["parameters"] = parameters
    return found
