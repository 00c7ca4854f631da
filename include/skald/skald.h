// SPDX-License-Identifier: Apache-2.0
//
// All of Skald, except what needs a library of its own or costs compile time that few programs want to pay:
//
//   skald/tokenizers/      text to ids and back, which needs SentencePiece, Oniguruma and utf8proc
//   skald/templates/       chat templates; skald/open/chat.h makes token ids of chats
//   skald/constraints/     which token may come next: grammars, JSON Schema
//   skald/store/           saved state, which needs libcrypto, zstd and xxHash; redis_store.h also hiredis
//   skald/engine/          many requests on one model, which needs what skald/store/ does
//   skald/serving/         a model at work for many clients, which needs what tokenizers/ and store/ do
//   skald/distributed/     several processes for one model; mpi_ranks.h needs an MPI
//   skald/kernels/kernels.h, skald/base/numbers/bf16.h
//                          kernels by themselves and values of bfloat16, which need Highway
//   skald/model/load_adapter.h
//                          adapters (LoRA) from files, which need libcrypto
//   skald/model/control_vector.h
//                          control vectors from files
//   skald/model/load_any.h AnyModel from a path: compiles all types of layers, not only those of one Config
//   skald/families/gguf_config.h, skald/families/config/config_text.h
//                          what a GGUF file is, and Configs as text: for tools that look into files
//
// Each source that includes this compiles it. A program of many sources compiles Skald once: skald/compiled.h, or the
// CMake target skald::compiled.

#ifndef SKALD_SKALD_H_
#define SKALD_SKALD_H_

#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/base/version.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "skald/families/config/create.h"
#include "skald/families/config/model_config.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/load.h"
#include "skald/model/model.h"
#include "skald/model/workspace.h"
#include "skald/sampling/logprobs.h"
#include "skald/sampling/random.h"
#include "skald/sampling/sampler.h"
#include "skald/sampling/settings.h"
#include "skald/sampling/token_sampler.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/load_options.h"

#endif  // SKALD_SKALD_H_
