// SPDX-License-Identifier: Apache-2.0

#include "server/api/call.h"

namespace skald::serve {

ModelAtWork& Call::Use(const std::string& name, bool tries_again) const {
  if (!held) throw ApiErrorOfModel(held.error());
  if (*held != nullptr && (*held)->service->FindModel(name) != nullptr) return **held;
  held = service->models().Take(name);
  if (*held == nullptr) throw ModelWanted{name, tries_again};
  return **held;
}

}  // namespace skald::serve
