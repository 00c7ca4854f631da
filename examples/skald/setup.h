// SPDX-License-Identifier: Apache-2.0
//
// Everything that a command needs before the first token, made from the options; and the line that closes a
// run.

#ifndef SKALD_EXAMPLES_SKALD_SETUP_H_
#define SKALD_EXAMPLES_SKALD_SETUP_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "command_line/options.h"
#include "conversation/drafting.h"
#include "conversation/program_model.h"
#include "skald/base/result.h"
#include "skald/open/token_session.h"
#include "skald/weights/load_options.h"
#include "terminal/progress_bar.h"

namespace skald::program {

// The options on loading, with `bar` to show progress, which must outlive them.
LoadOptions LoadOptionsOf(const Options& options, const ModelInfo& info, const ProgressBar& bar);

// Loads the weights, showing progress, and the adapter if there is one, and returns a model ready to run.
Result<std::unique_ptr<ProgramModel>> LoadWeights(const Options& options, const ModelInfo& info);

// The caches that the options ask for.
RuntimeConfig RuntimeOf(const Options& options, const ModelInfo& info);

// Returns what a new conversation computes with, prompts of earlier runs included, and tells what guesses tokens.
// `adapter` may be null. It and `loaded` must outlive it.
Result<SessionParts> SessionPartsOf(const Options& options, const ModelInfo& info, const DraftedModel& loaded,
                                    const Adapter* adapter);

// Returns `error`, with the option that helps if the context was too small.
Error WithContextAdvice(Error error);

// Reports speed, use of the context and seed on stderr. `ending` says why the text ended.
void PrintClosingLine(const ModelInfo& info, const TokenSession& session, uint64_t seed, std::string_view ending);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_SETUP_H_
