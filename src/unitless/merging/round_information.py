"""What the second-order learners of a round's partitions know together: what the base knew, and what each was told
since.

Unlike steps along gradients, information adds up: what comes out has learned all partitions' rows, and not those of one
partition. With a walk, a lane forgets what the base knew, and its information is the partitions' mean
(merged_information).
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from ..models.model import State
from .information import (
    Frame,
    Known,
    Merged,
    Shift,
    is_second_order,
    second_order_state,
    standing_in,
    told_to_all,
)
from .rounds import Agreed, Said, empty_round, layout_of, merged_part, where_of
from .state import Lanes, Part


def informed_round(
    agreed: Agreed, base: State, parts: Sequence[State], said: Sequence[Said], most: int | None
) -> _core.Snapshot:
    """The state of one learner.

    Args:
        agreed: what all are brought to.
        base: what all partitions went on from, fresh or not.
        parts: the states of the partitions that have learned, in their order.
        said: what these say of themselves.
        most: see `Frame`.
    """
    start = base if is_second_order(base[0]) else None
    states = [*parts, *([start] if start else [])]
    layout = layout_of(agreed, [state for state, _ in states])
    lanes = Lanes.of([agreed.lanes(state) for state in ([start] if start else parts)])
    frame = Frame.of([state for state, _ in states], layout, most)
    means, _ = agreed.means_in(layout)

    def merged_from(state: State) -> Merged:
        by_label = agreed.lanes(state)
        source = lanes.source(by_label)
        part = Part.of(state[0], by_label, layout, lanes)
        before = None
        if start is not None:
            same = standing_in(lanes, state[0], source).source(agreed.lanes(start))
            before = Known.of(start[0], frame, layout, lanes, same)
        known = Known.of(state[0], frame, layout, lanes, source)
        return Merged(known, Shift(part.drift(means), part.offset(agreed.target)), before)

    models = [merged_from(state) for state in parts]
    merged = told_to_all(frame, lanes, models, merged_from(start) if start else None, apart=False)
    part = merged_part(agreed, base, said, layout, lanes)
    snapshot = empty_round(agreed, part, layout, lanes, where_of(layout, [state for state, _ in states]))
    return second_order_state(snapshot, frame, lanes, merged, agreed.open)
