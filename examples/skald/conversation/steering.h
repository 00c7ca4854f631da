// SPDX-License-Identifier: Apache-2.0
//
// The control vectors of the command line: what they add up to, and whose state it is that was computed with them.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_STEERING_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_STEERING_H_

#include "command_line/options.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/layers/model_spec.h"
#include "skald/model/control_vector.h"

namespace skald::program {

// Reads all of them, each times its scale. Errors: see LoadControlVector; kInvalidArgument (layers that the model has
// not).
Result<ControlVector> LoadSteering(const SteeringOptions& options, const ModelSpec& spec);

// Returns a digest of the weights and of all that is added to what they compute: the weights' own without vectors. Only
// in a program with skald::store. Error: a file that cannot be read.
Result<Sha256Digest> DigestOfSteered(const Sha256Digest& weights, const SteeringOptions& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_STEERING_H_
