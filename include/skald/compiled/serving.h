// SPDX-License-Identifier: Apache-2.0
//
// The definitions in serving/, for the one source of a program that compiles them (skald/compiled.h). They need
// skald/compiled/open.h and skald/compiled/engine.h.

#ifndef SKALD_COMPILED_SERVING_H_
#define SKALD_COMPILED_SERVING_H_

#include "skald/serving/detail/chat_prompt.h"
#include "skald/serving/detail/model_service.h"
#include "skald/serving/detail/served_model.h"
#include "skald/serving/detail/transcripts.h"

#endif  // SKALD_COMPILED_SERVING_H_
