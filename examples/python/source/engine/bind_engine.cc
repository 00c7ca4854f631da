// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bind.h"
#include "engine/engine_parts.h"
#include "skald/engine/engine.h"
#include "skald/engine/engine_loop.h"
#include "values/errors.h"
#include "values/held.h"

namespace skald::python {

namespace {

using Milliseconds = std::chrono::milliseconds;

// An engine with its loop. Everything that may wait for the loop's thread, which may wait for the GIL, gives the GIL up
// before.
struct Host {
  explicit Host(std::unique_ptr<EngineParts> given)
      : parts(std::move(given)), loop(std::make_unique<EngineLoop>(*parts->engine)) {}
  ~Host() {
    if (parts->is_elsewhere()) {  // a thread that is not here cannot be waited for
      static_cast<void>(loop.release());
      return;
    }
    nb::gil_scoped_release release;
    loop.reset();
  }

  // Throws for a child of fork().
  EngineLoop& here() const {
    parts->CheckHere();
    return *loop;
  }

  const std::unique_ptr<EngineParts> parts;
  std::unique_ptr<EngineLoop> loop;
};

struct MakeHost {
  std::shared_ptr<Host> operator()(std::unique_ptr<EngineParts> parts) const {
    return std::make_shared<Host>(std::move(parts));
  }
};

// The answer to one request.
struct Ticket {
  std::shared_ptr<Host> host;
  EngineLoop::Ticket ticket;
};

// The next event, or nothing where none comes in time or all have come. Signals are looked at a few times a second.
std::optional<Event> Next(Ticket& self, std::optional<double> timeout) {
  using Clock = std::chrono::steady_clock;
  self.host->here();
  const auto until = timeout ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                  std::chrono::duration<double>(std::clamp(*timeout, 0.0, 1e6)))
                             : Clock::time_point::max();
  while (true) {
    const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now());
    std::optional<Event> event;
    {
      nb::gil_scoped_release release;
      event = self.ticket.inbox->Next(std::clamp(left, Milliseconds(0), Milliseconds(100)));
    }
    if (event || self.ticket.inbox->is_finished() || left <= Milliseconds(0)) return event;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  }
}

std::shared_ptr<Ticket> Submit(const std::shared_ptr<Host>& host, const Request& request,
                               std::optional<nb::callable> on_event) {
  std::function<void()> news;
  if (on_event) {
    news = [held = Hold(*on_event)] {
      nb::gil_scoped_acquire gil;
      try {
        (*held)();
      } catch (nb::python_error& raised) {
        raised.discard_as_unraisable("on_event of skald.Engine.submit");
      }
    };
  }
  EngineLoop& loop = host->here();
  nb::gil_scoped_release release;
  return std::make_shared<Ticket>(Ticket{host, Take(loop.Submit(request, std::move(news)))});
}

}  // namespace

void BindEngine(nb::module_& m) {
  nb::class_<Ticket>(m, "Ticket", "The answer to one request, event by event, for one reader at a time.")
      .def("next", &Next, "timeout"_a = nb::none(), Doc("Inbox::Next"))
      .def_prop_ro(
          "is_finished",
          [](const Ticket& self) {
            nb::gil_scoped_release release;
            return self.ticket.inbox->is_finished();
          },
          Doc("Inbox::is_finished"))
      .def(
          "cancel",
          [](Ticket& self) {
            EngineLoop& loop = self.host->here();
            nb::gil_scoped_release release;
            Take(loop.Cancel(self.ticket.number));
          },
          Doc("EngineLoop::Cancel"));
  nb::enum_<StopMode>(m, "StopMode", Doc("StopMode"))
      .value("FINISH", StopMode::kFinish, Doc("StopMode::kFinish"))
      .value("CANCEL", StopMode::kCancel, Doc("StopMode::kCancel"))
      .value("SUSPEND", StopMode::kSuspend, "at once; `stop` returns what `StepEngine.resume` takes");
  nb::class_<Host> bound(m, "EngineLoop", nb::is_weak_referenceable(),
                         "Many requests on one model, computed in a thread of its own.");
  DefEngine<MakeHost>(bound);
  bound.def("submit", &Submit, "request"_a, "on_event"_a = nb::none(), Doc("EngineLoop::Submit"))
      .def(
          "check",
          [](const Host& self, const Request& request) {
            nb::gil_scoped_release release;
            Take(self.parts->engine->Check(request));
          },
          "request"_a, Doc("Engine::Check"))
      .def(
          "stop",
          [](Host& self, StopMode mode) {
            EngineLoop& loop = self.here();
            std::vector<std::byte> bytes;
            {
              nb::gil_scoped_release release;
              bytes = Take(loop.Stop(mode));
            }
            return nb::bytes(bytes.data(), bytes.size());
          },
          "mode"_a = StopMode::kFinish, Doc("EngineLoop::Stop"))
      .def_prop_ro(
          "stats",
          [](const Host& self) {
            EngineLoop& loop = self.here();
            nb::gil_scoped_release release;
            return loop.stats();
          },
          Doc("EngineLoop::stats"))
      .def_prop_ro(
          "stalled_seconds",
          [](const Host& self) {
            const LoopHealth health = self.here().health();
            if (health.failure) throw Raised(*health.failure);
            return health.stalled_seconds;
          },
          "Seconds since a step last did something while there is work, else 0. Raises the failure of the last step, "
          "if it is another than want of memory.")
      .def_prop_ro(
          "capacity", [](const Host& self) { return self.parts->engine->capacity(); }, Doc("Engine::capacity"))
      .def_prop_ro(
          "pool", [](const Host& self) { return self.parts->pool; }, "The pool of its caches.");
}

}  // namespace skald::python
