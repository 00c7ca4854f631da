// SPDX-License-Identifier: Apache-2.0
//
// All of Skald, except what needs a library of its own: the tokenizer, in skald/text/, needs SentencePiece.

#ifndef SKALD_SKALD_H_
#define SKALD_SKALD_H_

#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/base/version.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "skald/configs/create.h"
#include "skald/configs/identify.h"
#include "skald/configs/published.h"
#include "skald/kernels/kernels.h"
#include "skald/model/load.h"
#include "skald/model/model.h"
#include "skald/sampling/sampler.h"

#endif  // SKALD_SKALD_H_
