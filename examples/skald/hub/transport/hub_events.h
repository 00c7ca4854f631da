// SPDX-License-Identifier: Apache-2.0
//
// Everything that a download tells while it proceeds.

#ifndef SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_HUB_EVENTS_H_
#define SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_HUB_EVENTS_H_

#include <cstdint>
#include <functional>
#include <string_view>

namespace skald::program {

// Both must be set.
struct HubEvents {
  std::function<void(uint64_t bytes_done, uint64_t bytes_total)> progress;
  std::function<void(std::string_view sentence)> notice;  // a wait, or what the run can do without
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_HUB_EVENTS_H_
