# SPDX-License-Identifier: Apache-2.0
"""An engine whose answers are iterators, for threads and for asyncio."""

from __future__ import annotations

import atexit
import contextlib
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from skald import _skald
from skald._skald import Event, Request


_running: weakref.WeakSet[_skald.EngineLoop] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """No thread may be in the middle of a function of Python when the interpreter ends."""
    for loop in list(_running):
        with contextlib.suppress(_skald.Error):
            loop.stop(_skald.StopMode.CANCEL)


class Answer:
    """The answer to one request: iterate over its events, with `for` or `async for`."""

    def __init__(self, engine: _skald.EngineLoop, request: Request) -> None:
        self._news: Callable[[], Any] = lambda: None
        this = weakref.ref(self)  # the ticket keeps the function

        def tell() -> None:
            if (answer := this()) is not None:
                answer._news()

        self._ticket = engine.submit(request, tell)

    def __iter__(self) -> Iterator[Event]:
        while (event := self._ticket.next()) is not None:
            yield event

    async def __aiter__(self) -> AsyncIterator[Event]:
        import asyncio  # which takes longer to import than all of this

        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(news.set)

        self._news = tell
        while True:
            news.clear()
            if (event := self._ticket.next(0.0)) is not None:
                yield event
            elif self._ticket.is_finished:
                return
            else:
                await news.wait()

    def cancel(self) -> None:
        """Ends the request soon; its last events still come."""
        self._ticket.cancel()

    def text(self) -> str:
        """Waits for the end, and returns the text of the first sample. Raises the error that ended it, if one did."""
        text = ""
        for event in self:
            if event.sample == 0:
                text += event.text
            if event.error is not None:
                raise event.error
        return text


class Engine:
    """Many requests on one model, in a thread of its own: each gets exactly what it would get alone.

    Settings are those of `EngineLoop`.
    """

    def __init__(self, model: _skald.LanguageModel | _skald.Model, **settings: Any) -> None:
        self.loop = _skald.EngineLoop(model, **settings)
        _running.add(self.loop)

    def submit(self, request: Request) -> Answer:
        """Takes a request. Raises skald.Error for one that cannot be."""
        return Answer(self.loop, request)

    @property
    def stats(self) -> _skald.EngineStats:
        """Counts as of the last step."""
        return self.loop.stats

    def stop(self, mode: _skald.StopMode = _skald.StopMode.FINISH) -> bytes:
        """Takes no more requests, and returns when the thread has ended: with StopMode.SUSPEND what `StepEngine.resume`
        takes, else nothing."""
        return self.loop.stop(mode)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop(_skald.StopMode.FINISH if raised[0] is None else _skald.StopMode.CANCEL)
