// SPDX-License-Identifier: Apache-2.0
//
// Call: one request on its way to an answer, and what endpoints need to give it.

#ifndef SKALD_EXAMPLES_SERVER_API_CALL_H_
#define SKALD_EXAMPLES_SERVER_API_CALL_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "server/api/fields/request_notes.h"
#include "server/api/request/api_error.h"
#include "server/http/exchange.h"
#include "server/http/spool.h"
#include "server/service/metrics.h"
#include "server/service/open_answers.h"
#include "server/service/service.h"
#include "server/service/tenants.h"

namespace skald::serve {

// Answers of all tenants, and the most that there may be.
struct AnswerRoom {
  std::shared_ptr<OpenAnswers> open = std::make_shared<OpenAnswers>();
  uint64_t most = std::numeric_limits<uint64_t>::max();
};

// The texts in a path's places of {}, as in /v1/conversations/{id}/items/{item}; empty where it has none.
struct PathParameters {
  std::string id = {}, item = {};
};

// The model that a request has, null before it has one; or why the one that it waited for could not be loaded.
using HeldModel = Result<ModelLease>;

// Thrown where a model that is not loaded is needed: the request begins anew when it is.
struct ModelWanted {
  std::string name;          // one of Models::names
  bool tries_again = false;  // also where its load failed a moment ago
};

struct Call {
  const HttpRequest& http;
  Wake wake;
  std::shared_ptr<Service> service;
  Metrics& metrics;
  Tenant& tenant;
  AnswerRoom& room;
  Spool& spool;  // of conversations that travel
  FieldPolicy& fields;
  HeldModel& held;
  PathParameters path = {};
  // Whether no client waits for the answer any more.
  std::function<bool()> is_abandoned = [] { return false; };

  // The model of a name of Models::names, which is the request's from now on. Thrown: ModelWanted; 503 or 507 if it
  // could not be loaded, a moment ago if it does not try again.
  ModelAtWork& Use(const std::string& name, bool tries_again = false) const;
  // The request's model; the default one if none was named.
  ModelAtWork& at_work() const { return held && *held != nullptr ? **held : Use(service->models().names()[0]); }
  // Its service, of a model that writes. Thrown: 400 for one that embeds or ranks texts.
  ModelService& model() const;
  // That of a model that embeds or ranks texts; null for one that writes.
  EncoderService* encoder() const;
  // For what outlives this.
  ModelLease lease() const {
    (void)at_work();
    return *held;
  }

  // Called by what loads or puts away a model. Thrown: 403 if the key does not give that right.
  void NeedAdmin() const {
    if (tenant.is_admin) return;
    throw ApiError{403, "this API key may not load and put away models: its line of --api-keys does not say 'admin'"};
  }

  // Called between the steps of preparing an answer. Thrown: 503 if no client waits for it.
  void StopIfAbandoned() const {
    if (is_abandoned()) throw ApiError{503, "no client waits for this answer any more"};
  }
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_CALL_H_
