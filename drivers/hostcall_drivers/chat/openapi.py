"""The description of the interface, as OpenAPI. Small: it says what this service reads and gives, and no more."""

from typing import Any


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _error(text: str) -> dict[str, Any]:
    return {"description": text, "content": _json({"$ref": "#/components/schemas/Error"})}


_ERRORS = {
    "400": _error("The request is not one; the error names the member."),
    "401": _error("A key is needed."),
    "403": _error("Without a key only programs of this machine are answered."),
    "404": _error("There is no such model."),
    "408": _error("The request did not come in time."),
    "413": _error("The body is too large."),
    "429": _error("Too much at once, or a minute; Retry-After says when to come back."),
    "502": _error("The engine failed."),
    "503": _error("The service or its engine is busy or away; Retry-After says when to come back."),
    "504": _error("There was no answer in time."),
}

_SOURCE = {
    "type": "object",
    "required": ["address"],
    "properties": {
        "number": {"type": "integer", "minimum": 1},
        "address": {"type": "string", "minLength": 1, "maxLength": 8192},
        "title": {"type": "string", "maxLength": 500},
        "grade": {"enum": ["snippet", "read"]},
        "published": {"type": "string", "maxLength": 100},
        "final_address": {"type": "string", "maxLength": 8192},
    },
}

_MESSAGE = {
    "type": "object",
    "required": ["role"],
    "properties": {
        "role": {"enum": ["system", "developer", "user", "assistant", "tool"]},
        "content": {"type": ["string", "array", "null"]},
    },
}

_ASKED = {
    "type": "object",
    "required": ["messages"],
    "properties": {
        "model": {"type": "string", "minLength": 1, "description": "One of GET /v1/models, or ENGINE/MODEL."},
        "messages": {"type": "array", "minItems": 1, "items": _MESSAGE},
        "stream": {"type": "boolean"},
        "stream_options": {"type": "object", "properties": {"include_usage": {"type": "boolean"}}},
        "max_tokens": {"type": "integer", "minimum": 1},
        "temperature": {"type": "number"},
        "seed": {"type": "integer"},
        "chat_template_kwargs": {"type": "object"},
        "thor_web_search": {
            "type": "boolean",
            "description": "Search the web and read pages first. Without it the request passes on untouched.",
        },
        "thor_research": {"type": "boolean", "description": "Plan, and ask sub-questions. The default is true."},
        "thor_sources": {
            "type": "array",
            "maxItems": 400,
            "items": _SOURCE,
            "description": "`hostcall.sources` of the last answer in this conversation: its numbers go on.",
        },
    },
}

DESCRIPTION: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "hostcall",
        "version": "1",
        "description": "OpenAI's chat completions, with a web search and a page reader that the service runs itself.",
    },
    "security": [{}, {"bearer": []}],
    "paths": {
        "/v1/chat/completions": {
            "post": {
                "operationId": "complete",
                "requestBody": {"required": True, "content": _json(_ASKED)},
                "responses": {
                    "200": {
                        "description": "The answer: one object, or a stream of chunks that ends with [DONE].",
                        "content": {
                            **_json({"$ref": "#/components/schemas/Completion"}),
                            # The schema is that of one event.
                            "text/event-stream": {
                                "schema": {
                                    "type": "object",
                                    "required": ["data"],
                                    "properties": {"data": {"type": "string"}},
                                }
                            },
                        },
                    },
                    **_ERRORS,
                },
            }
        },
        "/v1/models": {
            "get": {
                "operationId": "models",
                "responses": {
                    "200": {
                        "description": "The models of all engines.",
                        "content": _json(
                            {
                                "type": "object",
                                "required": ["object", "data"],
                                "properties": {
                                    "object": {"const": "list"},
                                    "data": {"type": "array", "items": {"$ref": "#/components/schemas/Model"}},
                                },
                            }
                        ),
                    },
                    **{status: _ERRORS[status] for status in ("401", "403", "503")},
                },
            }
        },
        "/v1/models/{model}": {
            "get": {
                "operationId": "model",
                "parameters": [{"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {
                    "200": {"description": "One model.", "content": _json({"$ref": "#/components/schemas/Model"})},
                    **{status: _ERRORS[status] for status in ("401", "403", "404", "503")},
                },
            }
        },
        "/healthz": {
            "get": {
                "operationId": "health",
                "security": [],
                "responses": {
                    status: {"description": text, "content": _json({"$ref": "#/components/schemas/Health"})}
                    for status, text in (("200", "An engine answers."), ("503", "None does, or the service is ending."))
                },
            }
        },
        "/metrics": {
            "get": {
                "operationId": "metrics",
                "responses": {
                    "200": {
                        "description": "Counters, for Prometheus.",
                        "content": {
                            "text/plain": {"schema": {"type": "string"}},
                            "application/openmetrics-text": {"schema": {"type": "string"}},
                        },
                    },
                    **{status: _ERRORS[status] for status in ("401", "403")},
                },
            }
        },
    },
    "components": {
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        "schemas": {
            "Error": {
                "type": "object",
                "required": ["error"],
                "properties": {
                    "error": {
                        "type": "object",
                        "required": ["message", "type", "param", "code"],
                        "properties": {
                            "message": {"type": "string"},
                            "type": {"type": "string"},
                            "param": {"type": ["string", "null"]},
                            "code": {"type": ["string", "integer", "null"]},
                        },
                    }
                },
            },
            "Model": {
                "type": "object",
                "required": ["id", "object"],
                "properties": {"id": {"type": "string"}, "object": {"const": "model"}},
            },
            "Health": {
                "type": "object",
                "required": ["status", "engines", "search"],
                "properties": {
                    "status": {"enum": ["ok", "degraded", "away", "ending"]},
                    "engines": {"type": "object", "additionalProperties": {"enum": ["ok", "away"]}},
                    "search": {"enum": ["ok", "away", "none"]},
                },
            },
            "Completion": {
                "type": "object",
                "required": ["id", "object", "choices"],
                "properties": {
                    "id": {"type": "string"},
                    "object": {"const": "chat.completion"},
                    "choices": {"type": "array", "minItems": 1},
                    "usage": {"type": "object"},
                    "hostcall": {"type": "object", "description": "How the answer was found, where the web was on."},
                },
            },
        },
    },
}
