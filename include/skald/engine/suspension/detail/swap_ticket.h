// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/suspension/swap_ticket.h.

#ifndef SKALD_ENGINE_SUSPENSION_DETAIL_SWAP_TICKET_H_
#define SKALD_ENGINE_SUSPENSION_DETAIL_SWAP_TICKET_H_

#include "skald/engine/suspension/swap_ticket.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE bool SwapTicket::is_reading() {
  const std::lock_guard lock(mutex);
  return stage == Stage::kReading;
}

}  // namespace skald

#endif  // SKALD_ENGINE_SUSPENSION_DETAIL_SWAP_TICKET_H_
