"""Lets equal work be done by one task while the others wait for what it finds."""

import asyncio
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Flight(Generic[T]):
    """Held by one task at a time, which may leave something to those who wait."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.left: T | None = None


class Flights(Generic[T]):
    def __init__(self) -> None:
        self._flights: WeakValueDictionary[str, Flight[T]] = WeakValueDictionary()

    def of(self, key: str) -> Flight[T]:
        """The one of this key, as long as somebody has to do with it."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = Flight()
        return flight
