// SPDX-License-Identifier: Apache-2.0
//
// Texts of an engine: many at a time, and with all that an engine offers for one.

#ifndef SKALD_EXAMPLES_SKALD_TEXTS_RUN_TEXTS_H_
#define SKALD_EXAMPLES_SKALD_TEXTS_RUN_TEXTS_H_

#include "command_line/options.h"
#include "skald/base/result.h"
#include "texts/text_task.h"

namespace skald::program {

// Writes the texts, vectors or the figure that `options.texts` asks for, and returns the exit code. Errors: those of
// LoadWeights and of the engine; kUnsupported in a program without skald::store.
Result<int> RunTexts(const Options& options, TextTask task);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TEXTS_RUN_TEXTS_H_
