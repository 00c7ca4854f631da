// SPDX-License-Identifier: Apache-2.0
//
// The encoder that the options choose.

#ifndef SKALD_EXAMPLES_SKALD_ENCODING_CHOSEN_ENCODER_H_
#define SKALD_EXAMPLES_SKALD_ENCODING_CHOSEN_ENCODER_H_

#include "command_line/options.h"
#include "skald/base/result.h"
#include "skald/open/open_encoder.h"

namespace skald::program {

// Opens the model, showing progress. Errors: those of OpenEncoder and PoolingNamed.
Result<Encoder> OpenChosenEncoder(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_ENCODING_CHOSEN_ENCODER_H_
