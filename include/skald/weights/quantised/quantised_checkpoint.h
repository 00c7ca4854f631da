// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint of quantised weights as one of plain tensors: in place of the tensors that a method keeps for a matrix,
// it has one tensor with the name and the shape of the matrix.

#ifndef SKALD_WEIGHTS_QUANTISED_QUANTISED_CHECKPOINT_H_
#define SKALD_WEIGHTS_QUANTISED_QUANTISED_CHECKPOINT_H_

#include <memory>

#include "skald/base/result.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/quantised/quantisation.h"

namespace skald {

/// Returns `stored` with the weights that it holds quantised in place of their tensors. Other tensors stay as they are,
/// so what belongs to no weight is refused where tensors are looked up. Reads the scales. Errors, which name the
/// tensor: kNotFound, kInvalidArgument or kUnsupported for one that is missing, of another shape or of another type.
Result<std::shared_ptr<const Checkpoint>> WithQuantised(Checkpoint stored, const Quantisation& quantisation);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/quantised/detail/quantised_checkpoint.h"
#endif

#endif  // SKALD_WEIGHTS_QUANTISED_QUANTISED_CHECKPOINT_H_
