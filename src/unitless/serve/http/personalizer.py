"""The calls of Azure Personalizer, for clients that have to move: Rank, Reward and Activate, version 1.0.

Each becomes the call of a bandit (the setting `personalizer`; the only one if it is not given). Features come as lists
of nested objects: `[{"user": {"age": 31}}]` is the feature `user.age`. Actions that all have no features are names.
Errors are `{"error": {"code", "message"}}`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ...bandit import Decision
from ..events import TOO_DEEP, Activation, Choice, Form, Kind, Reward, is_too_deep
from ..problems import Problem
from . import rows
from .access import Role
from .contents import JSON, answer, check_json
from .openapi import Address

if TYPE_CHECKING:
    from ..live import LiveStream
    from ..streams.stream import Outcome
    from .protocol import Service

PATH = "/personalizer/v1.0"
KEY = "ocp-apim-subscription-key"  # the header that holds the token


class RankableAction(msgspec.Struct):
    """An action."""

    id: str
    features: list[dict[str, Any]] = []


class PersonalizerRank(msgspec.Struct):
    """A decision that is wanted."""

    actions: list[RankableAction]
    contextFeatures: list[dict[str, Any]] = []
    excludedActions: list[str] = []
    eventId: str | None = None
    deferActivation: bool = False


class RankedAction(msgspec.Struct):
    """An action with its probability."""

    id: str
    probability: float


class PersonalizerRanking(msgspec.Struct):
    """The decision: the actions, the chosen one first; excluded ones stay in their places."""

    ranking: list[RankedAction]
    eventId: str
    rewardActionId: str


class PersonalizerReward(msgspec.Struct):
    """The reward of a decision."""

    value: float


class PersonalizerError(msgspec.Struct):
    """Why a request was not carried out."""

    error: dict[str, str]


_rank = msgspec.json.Decoder(PersonalizerRank).decode
_reward = msgspec.json.Decoder(PersonalizerReward).decode


def addresses(service: Service) -> list[Address]:
    """The addresses of these calls."""
    found, error = _Endpoints(service), (JSON, PersonalizerError)
    event = f"{PATH}/events/{{event}}"
    no = {"role": Role.write, "error": error, "status": 204}
    return [
        Address(
            *("POST", f"{PATH}/rank", "Azure Personalizer's Rank.", found.rank, Role.write),
            takes={JSON: PersonalizerRank},
            gives={JSON: PersonalizerRanking},
            status=201,
            problems=(400, 404, 409, 413, 415, 422, 429, 503),
            error=error,
        ),
        Address(
            *("POST", f"{event}/reward", "Azure Personalizer's Reward.", found.reward),
            takes={JSON: PersonalizerReward},
            problems=(400, 404, 409, 410, 415, 422, 429, 503),
            **no,  # type: ignore[arg-type]
        ),
        Address(
            *("POST", f"{event}/activate", "Azure Personalizer's Activate.", found.activate),
            problems=(404, 410, 429, 503),
            **no,  # type: ignore[arg-type]
        ),
    ]


def error_response(problem: Problem) -> Response:
    """A problem as Personalizer has errors."""
    body = rows.encode({"error": {"code": problem.title, "message": problem.detail or problem.title}}) + b"\n"
    return Response(body, problem.status, problem.headers, JSON)


class _Endpoints:
    """The functions behind the addresses."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def rank(self, request: Request) -> Response:
        asked: PersonalizerRank = await _read(request, _rank)
        excluded, offered = {*asked.excludedActions}, dict[str, dict[str, Any]]()
        for action in asked.actions:
            if action.id in offered:
                raise Problem(422, "the row cannot be used", f"the action {action.id[:80]!r} is on offer twice")
            if action.id not in excluded:
                offered[action.id] = dict(_flat(action.features))
        context, event = dict(_flat(asked.contextFeatures)), asked.eventId or uuid.uuid4().hex
        actions: Any = offered if any(offered.values()) else list(offered)
        choice = Choice(context, actions, event, asked.deferActivation)
        outcome = await self._submitted("rank", Kind.rank, choice)
        assert outcome.decision is not None
        ranking = _ranking([action.id for action in asked.actions], outcome.decision)
        return answer(PersonalizerRanking(ranking, event, str(outcome.decision.action)), 201)

    async def reward(self, request: Request) -> Response:
        value = (await _read(request, _reward)).value
        await self._submitted("reward", Kind.reward, Reward(request.path_params["event"], value))
        return Response(status_code=204)

    async def activate(self, request: Request) -> Response:
        await self._submitted("activate", Kind.activate, Activation(request.path_params["event"]))
        return Response(status_code=204)

    async def _submitted(self, action: str, kind: Kind, row: Choice | Reward | Activation) -> Outcome:
        live, payload = self._bandit(), rows.encode(row)
        if len(payload) > live.row_limits.bytes:
            raise live.row_limits.too_large(len(payload))
        rows.check(action, row, live.row_limits, len(payload))
        (outcome,) = await live.submitted(kind, Form.json, 1, payload, [row])
        if outcome.problem is not None:
            raise outcome.problem
        return outcome

    def _bandit(self) -> LiveStream:
        store = self._service.store
        name = store.settings.personalizer
        if name is not None:
            return store.find(name)[0]  # type: ignore[no-any-return]
        found = [live for live in store.streams.values() if live.stream.bandit is not None]
        if len(found) != 1:
            detail = f"there are {len(found)} bandits; name the one for these calls with the setting personalizer"
            raise Problem(404, "no such bandit", detail)
        return found[0]  # type: ignore[no-any-return]


async def _read(request: Request, read: Any) -> Any:
    check_json(request)
    body = await request.body()
    if is_too_deep(body):
        raise Problem(422, "the row cannot be used", TOO_DEEP)
    try:
        return read(body)
    except msgspec.ValidationError as error:
        raise Problem(422, "the row cannot be used", str(error)) from None
    except rows.NOT_JSON as error:
        raise Problem(400, "this is not JSON", str(error)) from None


def _flat(parts: Iterable[dict[str, Any]], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The features of nested objects, by their paths; each text of a list is a feature, and each number has a place."""
    for part in parts:
        for name, value in part.items():
            if isinstance(value, dict):
                yield from _flat([value], f"{prefix}{name}.")
            elif isinstance(value, list):
                for place, one in enumerate(value):
                    if isinstance(one, dict):
                        yield from _flat([one], f"{prefix}{name}.")
                    else:
                        text = isinstance(one, str)
                        yield f"{prefix}{name}.{one if text else place}", True if text else one
            else:
                yield prefix + name, value


def _ranking(given: list[str], decision: Decision) -> list[RankedAction]:
    """The actions, the chosen one first and the others by probability; excluded ones stay in their places."""
    shares = {str(name): share for name, share in decision.propensities.items()}
    order = iter(sorted(shares, key=lambda name: (name != str(decision.action), -shares[name])))
    ids = [next(order) if id in shares else id for id in given]
    return [RankedAction(id, shares.get(id, 0.0)) for id in (*ids, *order)]  # a repeated request may name others
