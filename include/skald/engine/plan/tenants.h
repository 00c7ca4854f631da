// SPDX-License-Identifier: Apache-2.0
//
// Tenants: the service of each, for fair shares. A tenant that comes back after a while begins at the level of those
// that are present: time without requests is not saved up (virtual token counters: Sheng et al., arXiv:2401.00588). A
// tenant that left lately is likely to be back soon: steps are kept short for it (fair_steps.h).

#ifndef SKALD_ENGINE_PLAN_TENANTS_H_
#define SKALD_ENGINE_PLAN_TENANTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "skald/base/result.h"

namespace skald {

/// Calls take O(log n) for n tenants.
class Tenants {
 public:
  Tenants() = default;
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  /// So many more sequences of `name` are there. Error: kResourceExhausted; then they are not.
  Result<void> Enter(const std::string& name, uint64_t count = 1);

  /// A sequence of `name` is gone, at `now` seconds on a clock that never goes back.
  void Leave(const std::string& name, double now) noexcept;

  /// How many left less than kLately before `now`, and have nothing there.
  size_t LeftLately(double now) noexcept;

  /// Counts `tokens` tokens that were computed for `name`. Nothing happens if it is not known.
  void Serve(const std::string& name, double tokens) noexcept;

  /// Tokens that were computed for `name`, and the level at which it began; 0 for an unknown one.
  double served(const std::string& name) const;
  /// Differs from those of all others that are there.
  uint32_t number(const std::string& name) const;

  /// Numbers a tenant's sequences 0, 1, 2, ..., one with each call, in each `round` anew.
  uint64_t NextTurn(const std::string& name, uint64_t round) noexcept;

  /// Seconds: long enough for a client that sends one request after the other, and no longer, as it costs the tenants
  /// that are present.
  static constexpr double kLately = 1.0;

 private:
  struct Tenant;
  using InOrder = std::multimap<double, Tenant*>;
  struct Tenant {
    double served = 0.0;  ///< tokens
    uint64_t sequences = 0;
    uint64_t round = 0, turns = 0;
    uint32_t number = 0;
    const std::string* name = nullptr;
    InOrder* list = nullptr;  ///< where its place is
    InOrder::iterator place = {};
  };

  Tenant& Insert(const std::string& name);

  /// Puts it into `list`, after others of the same key.
  static void Place(Tenant& tenant, InOrder& list, double key) noexcept;

  /// An absent tenant that was served no more than those present would begin at their level: it need not be remembered.
  void ForgetAbsent() noexcept;

  std::map<std::string, Tenant> tenants_;
  InOrder present_, absent_;  ///< those with sequences, and without, by tokens served
  InOrder lately_;            ///< those without that left lately, by when
  uint32_t next_number_ = 0;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/plan/detail/tenants.h"
#endif

#endif  // SKALD_ENGINE_PLAN_TENANTS_H_
