// SPDX-License-Identifier: Apache-2.0
//
// Responses as streams of events.

#ifndef SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_DIALECT_H_
#define SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_DIALECT_H_

#include <memory>

#include "server/api/answers/answer.h"
#include "server/api/openai/responses/writer.h"

namespace skald::serve {

// `writer` has the response when the answer is there, whether it is a stream or not.
std::unique_ptr<Dialect> MakeResponseDialect(std::shared_ptr<ResponseWriter> writer);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_DIALECT_H_
