// SPDX-License-Identifier: Apache-2.0
//
// Whose state a conversation's is: what the model's files hold, by their digests.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_STATE_IDENTITY_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_STATE_IDENTITY_H_

#include "command_line/options.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/store/snapshots/identity.h"
#include "skald/weights/opened/opened_model.h"

namespace skald::program {

// Reads all of the weights, unless their digest is known from before. Only in a program with skald::store. Error: what
// cannot be read.
Result<Identity> IdentityOf(const Options& options, const OpenedModel& model, const Sha256Digest& adapter);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_STATE_IDENTITY_H_
