// SPDX-License-Identifier: Apache-2.0
//
// The definitions of engine/answers/ and of requests, for the one source of a program that compiles them
// (skald/compiled.h): how an answer is drawn and when it ends, without an engine. They need what
// skald/compiled/tokenizers.h and constraints.h do. skald/compiled/engine.h needs them.

#ifndef SKALD_COMPILED_ANSWERS_H_
#define SKALD_COMPILED_ANSWERS_H_

#include "skald/engine/answers/detail/answer.h"
#include "skald/engine/answers/detail/prompt_reading.h"
#include "skald/engine/answers/detail/stop_strings.h"
#include "skald/engine/requests/detail/request.h"

#endif  // SKALD_COMPILED_ANSWERS_H_
