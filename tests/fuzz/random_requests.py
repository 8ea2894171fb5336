"""Random requests of every kind to a server, valid and invalid; they depend only on a random generator."""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple
from urllib.parse import quote

import pyarrow as pa

JSON, LINES, CSV = "application/json", "application/x-ndjson", "text/csv"
ARROW, FILE = "application/vnd.apache.arrow.stream", "application/octet-stream"
MODELS = ["a", "b", "c", "d", "two", "many", "vw", "shop", "wares"]
BANDITS = {"shop": {"max_pending": 20}, "wares": {"time_limit": 1.0, "default_reward": -1.0}}
NAMES = ["x", "y", "z", "color", "when", "", " ", "a=b", "^", "ü", "label", "id", "\0", "n" * 300, "0", "1"]
NUMBERS = [0, 1, -1, 2, 0.5, -0.0, 1e-320, 5e-324, 1e-300, 1e-10, 1e10, 1e150, 1e300, -1e300, 1e308, 10**18, 10**25]
TEXTS = ["", "red", "green", "2024-01-01", "true", "1e5", "NaN", "inf", "\0", "spam\0", "é" * 100, "w" * 5000, "\r\n"]
LABELS: list[Any] = [
    0,
    1,
    -1,
    2.5,
    1e-300,
    1e300,
    10**30,
    True,
    False,
    "red",
    "green",
    "blue",
    "",
    "\0",
    "spam\0",
    None,
    [],
    {},
]
WEIGHTS: list[Any] = [None, 0, 1, 2, 1e-300, 5e-324, 1e-160, 1e15, 1e16, 1e308, -1, "2", True, [], 10**30]
LEVELS: list[Any] = [None, 0.9, 0.5, 0, 1, -1, 2, 1e-300, 1 - 1e-16, "0.9", True, [], 10**30]
OPTIONS: dict[str, list[Any]] = {
    "task": ["regression", "binary", "classes", "bandit", "other", 1],
    "time_limit": [1.0, 0, -1, "x"],
    "default_reward": [0.0, 1e300, "x"],
    "max_pending": [1, 5, 0, 10**9, 10**30],
    "classes": [
        ["red", "green"],
        [0, 1],
        [False, True],
        ["a", "a"],
        [1, "1"],
        [],
        "ab",
        [None],
        [10**30, 2],
        ["\0", ""],
    ],
    "missing": ["indicator", "absent", "error", 1],
    "loss": ["squared", "logistic", "hinge", "poisson", "quantile", "softmax", "nothing", None],
    "rule": ["nag", "ng", "snag", "newton", "gd", "ag", 1],
    "learning_rate": ["auto", 0.5, 1e-300, 1e300, 0, -1, "fast"],
    "model_type": ["linear", "curves", "trees", "auto", "round"],
    "ensemble": [True, False, "none"],
    "interactions": [2, 3, "all", [["x", "y"]], [["x"]], [[]], -1, 99],
    "bits": [1, 4, 10, 18, 24, 29, 30, 31, -1, 0, 2.5, "8", 10**30],
    "quantile": [0.5, 0, 1, 0.999, "x"],
    "sparsity": [0.0, 1e-3, "auto", -1, 1e300],
    "clip": ["none", "target", "labels", None],
    "order": ["paper", "other"],
    "schedule": ["sqrt", "constant", None],
    "target": ["auto", None, 1],
    "center": [True, False, 1],
    "falling_scales": [True, False, "yes"],
    "average": [True, False],
    "bias": [True, False],
    "importance_aware": [True, False],
    "stream": [*MODELS, "nowhere", 1, None],
    "role": ["champion", "challenger", "shadow", "king", 1],
    "replay": [True, False, "true", 1],
    "l2": [0.1],
    "nothing": [1],
}


class Request(NamedTuple):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None = None
    chunked: bool = False


def first() -> list[Request]:
    """The first models, so that most rows find one."""
    plain = {"model_type": "linear", "ensemble": False}
    more = {"two": {"task": "binary"}, "many": {"task": "classes"}, "b": {"stream": "a"}, "c": {}}
    bandit = {"task": "bandit", "model_type": "linear"}
    made = {name: bandit | BANDITS[name] if name in BANDITS else plain | more.get(name, {}) for name in MODELS}
    return [
        Request("PUT", f"/v1/models/{name}", {"Content-Type": JSON}, json.dumps(options).encode())
        for name, options in made.items()
    ]


def one(rng: random.Random) -> Request:
    """Make any request."""
    made = rng.choices(_KINDS, _SHARES)[0](rng)
    if rng.random() < 0.03:
        made = made._replace(headers=made.headers | _odd_header(rng))
    if made.body is not None and rng.random() < 0.1:
        made = made._replace(body=mutated(rng, made.body))
    return made._replace(chunked=made.body is not None and rng.random() < 0.1)


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Bytes with a few of them changed, removed or repeated."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        place, kind = rng.randrange(len(changed) + 1), rng.randrange(4)
        if kind == 0:
            changed[place:place] = bytes(rng.choices(range(256), k=rng.randrange(1, 5)))
        elif kind == 1:
            del changed[place : place + rng.randrange(1, 20)]
        elif kind == 2:
            changed[place : place + 1] = rng.choice((b"\0", b'"', b"{", b"}", b"\n", b"\xff", b",", b"9"))
        else:
            changed[place:place] = changed[max(0, place - 30) : place]
    return bytes(changed)


def raw(rng: random.Random) -> bytes:
    """Bytes that are almost a request, or not at all."""
    made = one(rng)
    head = f"{made.method} {made.path} HTTP/1.1\r\nHost: localhost\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in made.headers.items())
    body = made.body or b""
    length = rng.choice((len(body), len(body) + 5, max(0, len(body) - 3), -1, 10**12, "many"))
    data = (head + f"Content-Length: {length}\r\n\r\n").encode("utf-8", "replace") + body
    return mutated(rng, data) if rng.random() < 0.8 else bytes(rng.choices(range(256), k=rng.randrange(1, 400)))


def vw_lines(rng: random.Random) -> bytes:
    """Lines of Vowpal Wabbit's text, and lines that are almost that."""
    lines = []
    for _ in range(rng.randrange(1, 30)):
        label = rng.choice(["", "1", "-1", "0.5 2", "1 1e-300", "1 1e16", "-1 1 0.5 'tag", "nan", "1e300", "red", "5"])
        features = " ".join(
            rng.choice(["x:1", "y:-2.5", "z", "x:1e300", "x:nan", "color=red", "a:b", ":", "\0", "é:3"])
            for _ in range(rng.randrange(4))
        )
        line = rng.choice([f"{label} | {features}", f"{label} |a {features} |b:2 {features}", label, "", "save", "| "])
        lines.append(line.encode())
    text = b"\n".join(lines) + rng.choice((b"\n", b""))
    return mutated(rng, text) if rng.random() < 0.3 else text


# ----- pieces


def _value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if kind < 0.5:
        return rng.choice((rng.random(), rng.randrange(-5, 100), rng.choice(NUMBERS)))
    if kind < 0.8:
        return rng.choice(TEXTS)
    if kind < 0.97 or depth > 3:
        return rng.choice((None, True, False))
    return rng.choice(([_value(rng, depth + 1)], {"x": _value(rng, depth + 1)}, [], {}))


def _features(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.5:
        return {"x": rng.gauss(0, 1), "y": rng.gauss(5, 2), "color": rng.choice(["red", "green", "blue"])}
    if kind < 0.95:
        return {rng.choice(NAMES): _value(rng) for _ in range(rng.randrange(6))}
    return rng.choice(([1.0, 2.0], [], [None], "x", 3, None, {"x": [1]}))


def _label(rng: random.Random, model: str) -> Any:
    if rng.random() < 0.25:
        return rng.choice(LABELS)
    if model == "two":
        return rng.random() < 0.5
    if model == "many":
        return rng.choice(["red", "green", "blue", f"class {rng.randrange(40)}"])
    return rng.gauss(100, 10)


def _id(rng: random.Random) -> Any:
    if rng.random() < 0.9:
        return f"id {rng.randrange(40)}"
    return rng.choice(["", "\0", "é" * 100, "i" * 256, "i" * 257, 5, None, [], True])


def _row(rng: random.Random, action: str, model: str) -> Any:
    row: dict[str, Any] = {}
    if action != "label" or rng.random() < 0.05:
        row["features"] = _features(rng)
    if action != "predict" or rng.random() < 0.05:
        row["label"] = _label(rng, model)
    if action == "label" or rng.random() < 0.3:
        row["id"] = _id(rng)
    if rng.random() < 0.2:
        row["weight"] = rng.choice(WEIGHTS)
    if rng.random() < 0.1:
        row["level"] = rng.choice(LEVELS)
    if rng.random() < 0.02:
        row[rng.choice(["wieght", "model", "", "other"])] = _value(rng)
    return row if rng.random() > 0.02 else rng.choice(([], 5, "x", None, [row]))


def _json(rng: random.Random, value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.02:
        text = text.replace(":", rng.choice([": NaN,", ": Infinity,", ": 1e999, ", ":" + "[" * 100]), 1)
    return text.encode("utf-8", "surrogatepass")


def _model(rng: random.Random) -> str:
    if rng.random() < 0.95:
        return rng.choice(MODELS)
    return quote(rng.choice(["nowhere", "A", "..", "a/b", "é", "a" * 100, " ", "\0", "%"]), safe="")


def _query(rng: random.Random, *names: str) -> str:
    given = [f"{name}={quote(str(_query_value(rng, name)))}" for name in names if rng.random() < 0.15]
    return "?" + "&".join(given) if given else ""


def _query_value(rng: random.Random, name: str) -> Any:
    known: dict[str, list[Any]] = {
        "model": [*MODELS, "nowhere", ""],
        "label": ["label", "y", "nowhere", ""],
        "most": [1, 5, 100, 99999, 0, -1, "x", 10**30],
        "answers": ["summary", "problems", "all", "none", ""],
        "id": [f"id {rng.randrange(40)}", ""],
        "features": ['{"x": 1}', "{", "[]", "null", "5"],
    }
    return rng.choice(known[name])


def _odd_header(rng: random.Random) -> dict[str, str]:
    return rng.choice(
        [
            {"Unitless-Min-Seq": rng.choice(["0", "1", "x", "-1", "9" * 30])},
            {
                "Content-Type": rng.choice(
                    ["", "text/plain", "application/json; charset=latin-1", "x" * 500, JSON, LINES, CSV]
                )
            },
            {"Content-Encoding": rng.choice(["gzip", "identity", ""])},
            {"Authorization": rng.choice(["Bearer x", "Basic eDp5", ""])},
            {"Host": rng.choice(["example.org", "localhost:99999", "", "[::1]"])},
            {"Origin": rng.choice(["null", "http://example.org", "http://localhost", ""])},
            {"Sec-Fetch-Site": rng.choice(["cross-site", "same-origin", "none", "x"])},
            {"Expect": "100-continue"},
            {"Upgrade": "websocket", "Connection": "Upgrade"},
            {"Accept-Encoding": "gzip"},
            {"X-Long": "y" * rng.choice((100, 20_000))},
        ]
    )


# ----- kinds of requests


def _one_row(rng: random.Random) -> Request:
    action, model = rng.choice(["predict", "learn", "learn", "label"]), _model(rng)
    path = f"/v1/models/{model}/{action}{_query(rng, 'model', 'answers')}"
    return Request("POST", path, {"Content-Type": JSON}, _json(rng, _row(rng, action, model)))


def _actions(rng: random.Random, model: str) -> Any:
    kind = rng.random()
    if kind < 0.1:
        return rng.choice([None, [], {}, "a", [None], [True], [["a"]], [10**30], ["a", {"x": 1}], [1, "1"], {"a": 1}])
    if (model == "shop") == (kind < 0.9):
        return rng.sample(["a", "b", "c", 1, 2, "é", "", "n" * 300], rng.randrange(1, 6))
    offered = [_features(rng) for _ in range(rng.randrange(1, 5))]
    return offered if rng.random() < 0.3 else {rng.choice(NAMES): features for features in offered}


def _decision_row(rng: random.Random, action: str, model: str) -> Any:
    row: dict[str, Any] = {"id": _id(rng)} if rng.random() < 0.95 else {}
    if action == "rank":
        row |= {"context": _features(rng), "actions": _actions(rng, model)}
        if rng.random() < 0.2:
            row["deferred"] = rng.choice([True, True, False, "x"])
    if action == "reward" or rng.random() < 0.02:
        row["reward"] = rng.gauss(0, 1) if rng.random() < 0.8 else rng.choice([*LABELS, *NUMBERS])
    if rng.random() < 0.02:
        row[rng.choice(["acitons", "label", "", "other"])] = _value(rng)
    return row if rng.random() > 0.02 else rng.choice(([], 5, "x", None, [row]))


def _decision(rng: random.Random) -> Request:
    action = rng.choice(["rank", "rank", "reward", "reward", "activate"])
    model = rng.choice(list(BANDITS)) if rng.random() < 0.9 else _model(rng)
    path = f"/v1/models/{model}/{action}{_query(rng, 'model', 'answers')}"
    if rng.random() < 0.8:
        return Request("POST", path, {"Content-Type": JSON}, _json(rng, _decision_row(rng, action, model)))
    rows = [_json(rng, _decision_row(rng, action, model)) for _ in range(rng.choice((0, 1, 3, 20)))]
    return Request("POST", path, {"Content-Type": rng.choice((LINES, LINES, CSV))}, b"\n".join(rows))


def _personalizer(rng: random.Random) -> Request:
    path, event = "/personalizer/v1.0", quote(str(_id(rng)), safe="")
    action = rng.choice(["rank", "rank", f"events/{event}/reward", f"events/{event}/activate"])
    body: Any = {"value": rng.choice([*NUMBERS, *LABELS])} if action != "rank" else {}
    if action == "rank":
        ids = [rng.choice(["a", "b", "c", "", "é"]) for _ in range(rng.randrange(5))]
        parts = [[_features(rng)] for _ in ids]
        body["actions"] = [{"id": id, "features": part} for id, part in zip(ids, parts, strict=True)]
        body |= {"contextFeatures": [_features(rng), _value(rng)][: rng.randrange(3)], "eventId": _id(rng)}
        body |= {"excludedActions": ["b"]} if rng.random() < 0.3 else {}
        body |= {"deferActivation": True} if rng.random() < 0.3 else {}
    return Request("POST", f"{path}/{action}", {"Content-Type": JSON}, _json(rng, body))


def _many_rows(rng: random.Random) -> Request:
    action, model = rng.choice(["predict", "learn", "learn", "label"]), _model(rng)
    path = f"/v1/models/{model}/{action}{_query(rng, 'model', 'label', 'answers')}"
    count = rng.choice((0, 1, 3, 20, 300, 600))
    kind = rng.choice((LINES, CSV, ARROW))
    if kind == LINES:
        body = b"\n".join(_json(rng, _row(rng, action, model)) for _ in range(count))
    elif kind == CSV:
        body = _csv(rng, count, model)
    else:
        body = _arrow(rng, count, model)
    return Request("POST", path, {"Content-Type": kind}, body)


def _csv(rng: random.Random, count: int, model: str) -> bytes:
    names = rng.sample([*NAMES, "label", "weight", "id"], rng.randrange(1, 8))
    cells = [",".join(names)]
    for _ in range(count):
        row = [str(rng.choice([_value(rng), _label(rng, model), rng.random()])) for _ in names]
        cells.append(",".join(f'"{cell}"' if rng.random() < 0.1 else cell for cell in row))
    return "\n".join(cells).encode("utf-8", "replace")


def _arrow(rng: random.Random, count: int, model: str) -> bytes:
    makers = [
        lambda: pa.array([rng.gauss(0, 1) for _ in range(count)]),
        lambda: pa.array([rng.choice([1.0, None, float("nan"), float("inf")]) for _ in range(count)]),
        lambda: pa.array([rng.choice(["red", "green", None]) for _ in range(count)]),
        lambda: pa.array([rng.choice(["red", "green"]) for _ in range(count)]).dictionary_encode(),
        lambda: pa.array([rng.randrange(2**40) for _ in range(count)], pa.timestamp("us")),
        lambda: pa.array([rng.randrange(2**14) for _ in range(count)], pa.date32()),
        lambda: pa.array([rng.randrange(2**20) for _ in range(count)], pa.duration("ms")),
        lambda: pa.array([rng.randrange(10**6) for _ in range(count)]).cast(pa.decimal128(30, 2)),
        lambda: pa.array([b"x" for _ in range(count)]),
        lambda: pa.array([[1, 2] for _ in range(count)], pa.list_(pa.int64())),
        lambda: pa.array([{"a": 1} for _ in range(count)], pa.struct([("a", pa.int64())])),
        lambda: pa.array([rng.random() < 0.5 for _ in range(count)]),
        lambda: pa.nulls(count),
    ]
    names = rng.sample([*NAMES, "label", "label", "weight", "id"], rng.randrange(1, 6))
    arrays = [rng.choice(makers)() for _ in names]
    sink = pa.BufferOutputStream()
    schema = pa.schema([(name, array.type) for name, array in zip(names, arrays, strict=True)])
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    return bytes(sink.getvalue().to_pybytes())


def _look(rng: random.Random) -> Request:
    model = _model(rng)
    of_model = ["", "/file", "/metrics", "/events", "/snapshots", f"/weights{_query(rng, 'most', 'model')}"]
    of_model.append(f"/explain{_query(rng, 'id', 'features', 'model')}")
    of_inference = ["", "/ready", "/versions/1", "/versions/9/ready"]
    path = rng.choice(
        [
            *("/", "/page/page.js", "/page/../x", "/nothing", "/openapi.json", "/health/live", "/health/ready"),
            *("/metrics", "/v1/models", "/v2", "/v2/health/live", "/v2/health/ready"),
            *(f"/v1/models/{model}{rest}" for rest in of_model),
            *(f"/v2/models/{model}{rest}" for rest in of_inference),
        ]
    )
    method = "GET" if rng.random() < 0.95 else rng.choice(["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
    return Request(method, path, {})


def _explain(rng: random.Random) -> Request:
    path = f"/v1/models/{_model(rng)}/explain{_query(rng, 'model')}"
    return Request("POST", path, {"Content-Type": JSON}, _json(rng, {"features": _features(rng)}))


def _create(rng: random.Random) -> Request:
    options = {name: rng.choice(OPTIONS[name]) for name in rng.sample(list(OPTIONS), rng.choice((0, 0, 1, 1, 2, 4)))}
    if rng.random() < 0.5:
        options = {"model_type": "linear", "ensemble": False} | options
    elif rng.random() < 0.4:
        options = {"stream": rng.choice(MODELS), "model_type": "linear", "ensemble": False} | options
    body = _json(rng, options if rng.random() < 0.97 else rng.choice([[], 5, None]))
    return Request("PUT", f"/v1/models/{_model(rng)}", {"Content-Type": JSON}, body)


def _upload(rng: random.Random) -> Request:
    body = rng.choice((b"", b"x", b"\x08\0\0\0\0\0\0\0{}      ", bytes(100), b"\xff" * 50))
    return Request("PUT", f"/v1/models/{_model(rng)}{_query(rng, 'model')}", {"Content-Type": FILE}, body)


def _change(rng: random.Random) -> Request:
    model = _model(rng)
    if rng.random() < 0.15:
        return Request("DELETE", f"/v1/models/{model}", {})
    return Request(
        "POST", f"/v1/models/{model}/{rng.choice(['promote', 'snapshot'])}", {}, rng.choice((None, b"", b"{}"))
    )


def _replay(rng: random.Random) -> Request:
    numbers: list[Any] = [0, 1, 5, 40, -1, 10**6, 10**30, "5", None, 2.5]
    body: dict[str, Any] = {"name": rng.choice([*MODELS, "e", "f", "A b", 5])}
    for field in ("skip", "until", "snapshot", "role", "other"):
        if rng.random() < 0.25:
            body[field] = rng.choice(
                [rng.choice(numbers), [rng.choice(numbers), [1, 3]], ["id 1"], {"ids": ["id 1"]}, []]
            )
    return Request("POST", f"/v1/models/{_model(rng)}/replay", {"Content-Type": JSON}, _json(rng, body))


def _infer(rng: random.Random) -> Request:
    def tensor() -> Any:
        n = rng.choice((0, 1, 2, 3))
        return {
            "name": rng.choice(NAMES),
            "shape": rng.choice([[n], [n, 1], [n, 2], [], [-1], [10**9], [n, n, n]]),
            "datatype": rng.choice(["FP64", "INT64", "BOOL", "BYTES", "FP32", "COMPLEX"]),
            "data": [_value(rng) for _ in range(n)],
        }

    body: dict[str, Any] = {"inputs": [tensor() for _ in range(rng.randrange(4))]}
    if rng.random() < 0.2:
        body["outputs"] = [{"name": rng.choice(["prediction", "score", "probability", "x"])}]
    if rng.random() < 0.2:
        body["id"] = _id(rng)
    return Request("POST", f"/v2/models/{_model(rng)}/infer", {"Content-Type": JSON}, _json(rng, body))


_KINDS = [_one_row, _many_rows, _decision, _personalizer, _look, _explain, _create, _upload, _change, _replay, _infer]
_SHARES = [40, 15, 14, 2, 20, 4, 8, 1, 6, 1, 6]
