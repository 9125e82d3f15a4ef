"""Random histories, compared with a naive program: the rule, and sets of Python."""

import hashlib
import random
from datetime import datetime, timedelta, timezone

import polars as pl
import pytest

import accession_registry as ar

SMALL = [f"{letter}{digit}" for letter in "AB" for digit in "012"]


def identifier_of(held: set[str]) -> str:
    """The rule, as in docs/reference/identifier.md."""
    lines: list[str] = []
    for granule in sorted(held, key=str.encode):
        text = "".join(f"{line}\n" for line in [*lines, granule])
        lines = [hashlib.md5(text.encode()).hexdigest()]
    return lines[0] if lines else hashlib.md5(b"").hexdigest()


class Oracle:
    """What a dataset held after each change."""

    def __init__(self) -> None:
        self.states: list[tuple[datetime, set[str]]] = []

    @property
    def held(self) -> set[str]:
        return self.states[-1][1] if self.states else set()


def step(dice: random.Random, dataset: ar.Dataset, oracle: Oracle, at: datetime) -> None:
    listed = {granule for granule in SMALL if dice.random() < 0.5}
    held = oracle.held
    kind = dice.choice(["ingest", "delete", "sync", "change", "revert"])
    ids: object = sorted(listed, key=lambda _: dice.random())
    if dice.random() < 0.3:
        ids = pl.Series(ids, dtype=pl.String)
    before, expected = dataset.record.latest, None
    try:
        if kind == "ingest":
            expected = held | listed if listed and not listed & held else None
            dataset.ingest(ids, at=at, create=True)  # type: ignore[arg-type]
        elif kind == "delete":
            expected = held - listed if listed and listed <= held else None
            dataset.delete(ids, at=at)  # type: ignore[arg-type]
        elif kind == "sync":
            expected = listed or None
            dataset.sync(ids, at=at)  # type: ignore[arg-type]
        elif kind == "change":
            new, old = listed - held, set(dice.sample(sorted(held), min(1, len(held))))
            expected = (held | new) - old if new or old else None
            dataset.ingest(sorted(new), delete=sorted(old) or None, at=at)
        elif oracle.states:
            then, state = dice.choice(oracle.states)
            # A revert to the empty set must name the set that it expects.
            expected = state if state or not held else None
            dataset.revert(dice.choice([f"US@{then.isoformat()}", f"DI:{identifier_of(state)}"]), at=at)
        else:
            return
    except ar.Error:
        assert expected is None, f"{kind} was refused"
        assert dataset.record.latest == before
        return
    assert expected is not None, f"{kind} was made"
    if expected != held:
        oracle.states.append((at, expected))


# Granules come and go at random.
@pytest.mark.filterwarnings("ignore:.* deleted at .* back")
@pytest.mark.parametrize("seed", range(4))
def test_random_histories_are_those_of_a_naive_program(registry: ar.Registry, seed: int) -> None:
    dice = random.Random(seed)
    dataset, oracle = registry.dataset("US"), Oracle()
    at = datetime(2001, 1, 1, tzinfo=timezone.utc)
    dataset.create(max_delete="100%", max_add="99")
    for _ in range(25):
        at += timedelta(microseconds=dice.choice([1, 10**6, 86_400 * 10**6]))
        step(dice, dataset, oracle, at)
        if oracle.states:
            found = registry.show(dataset)
            assert set(found) == oracle.held and found.identifier == identifier_of(oracle.held)
    assert [row.timestamp for row in registry.history("US")] == [then for then, _ in oracle.states]
    for then, state in oracle.states:
        found = registry.show(f"US@{then.isoformat()}")
        assert list(found) == sorted(state) and found.identifier == identifier_of(state)
        assert ar.show(state) == found == registry.show(f"DI:{found.identifier}")
        assert then in [instance.timestamp for instance in registry.history("US") if instance.identifier == found.identifier]
        assert registry.compare(found, state).identical and found.since == then
    assert all(row.ok for row in registry.verify())
