// SPDX-License-Identifier: Apache-2.0
//
// Ranks, which exchange bytes by an object of Python: mpi4py's, or one of the program's own.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_MODEL_RANKS_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_MODEL_RANKS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/distributed/ranked_model.h"
#include "skald/model/any_model.h"
#include "values/held.h"

namespace skald::python {

/// A Communicator that asks an object with `rank`, `size`, all_gather(all, begins), broadcast(bytes) and wait().
class Ranks {
 public:
  explicit Ranks(nb::object object);

  RankShare share() const { return share_; }
  Result<void> AllGather(std::span<std::byte> all, std::span<const size_t> begins);
  Result<void> Broadcast(std::vector<std::byte>& bytes);
  Result<void> Wait();

 private:
  Held object_;
  RankShare share_;
};

/// A RankedModel with all that it refers to.
struct Lead {
  std::shared_ptr<AnyModel> model;
  std::shared_ptr<Ranks> ranks;
  RankedModel value;
};

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_MODEL_RANKS_H_
