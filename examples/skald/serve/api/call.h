// SPDX-License-Identifier: Apache-2.0
//
// Call: one request on its way to an answer, and what endpoints need to give it.

#ifndef SKALD_EXAMPLES_SKALD_SERVE_API_CALL_H_
#define SKALD_EXAMPLES_SKALD_SERVE_API_CALL_H_

#include <memory>
#include <string>
#include <utility>

#include "serve/http/exchange.h"
#include "serve/service/metrics.h"
#include "serve/service/service.h"
#include "serve/service/tenants.h"

namespace skald::serve {

// One of a tenant's open answers; ends with it.
class OpenRequest {
 public:
  explicit OpenRequest(Tenant& tenant) : tenant_(&tenant) { ++tenant.open_requests; }
  OpenRequest(OpenRequest&& other) noexcept : tenant_(std::exchange(other.tenant_, nullptr)) {}
  OpenRequest& operator=(OpenRequest&&) = delete;
  ~OpenRequest() {
    if (tenant_ != nullptr) --tenant_->open_requests;
  }

 private:
  Tenant* tenant_;
};

struct Call {
  const HttpRequest& http;
  Wake wake;
  std::shared_ptr<Service> service;
  Metrics& metrics;
  Tenant& tenant;
  std::string parameter = {};  // of the path, as the id in /v1/conversations/{id}
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SKALD_SERVE_API_CALL_H_
