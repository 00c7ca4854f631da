// SPDX-License-Identifier: Apache-2.0
//
// Turn: an answer's claim on its conversation. The user's message is stored before the answer is computed. The answer
// is stored only if the conversation was not changed meanwhile.

#ifndef SKALD_EXAMPLES_SERVER_API_CHAT_TURN_H_
#define SKALD_EXAMPLES_SERVER_API_CHAT_TURN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/api/chat/entity_tag.h"
#include "server/service/service.h"

namespace skald::serve {

class Turn {
 public:
  // `before` is the conversation that `messages` continue. Thrown: 404 and 409 if it has changed since, or if another
  // answer of it is being written; 507 if there is no room.
  Turn(std::shared_ptr<Service> service, std::string tenant, Conversation before, const Json& messages)
      : service_(std::move(service)),
        tenant_(std::move(tenant)),
        before_(std::move(before)),
        turn_(TakeKept(service_->conversations().BeginTurn(tenant_, before_.id, before_.version, messages),
                       "conversation")) {}
  // Of an answer that did not begin: the conversation is as it was.
  ~Turn() {
    if (turn_ == 0) return;
    (void)service_->conversations().EndTurn(tenant_, before_.id, turn_, [&](Conversation& conversation) {
      conversation.messages = std::move(before_.messages);
    });
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // To be called once. Thrown: 409 if the messages were changed, or the conversation deleted.
  void End(const std::function<void(Conversation&)>& edit) {
    const uint64_t turn = std::exchange(turn_, 0);
    (void)TakeKept(service_->conversations().EndTurn(tenant_, before_.id, turn, edit), "conversation");
  }

 private:
  const std::shared_ptr<Service> service_;
  const std::string tenant_;
  Conversation before_;
  uint64_t turn_;  // 0: it has ended
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_CHAT_TURN_H_
