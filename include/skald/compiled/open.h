// SPDX-License-Identifier: Apache-2.0
//
// The definitions in open/, for the one source of a program that compiles them (skald/compiled.h).
// They need skald/compiled/tokenizers.h, templates.h, constraints.h and answers.h.

#ifndef SKALD_COMPILED_OPEN_H_
#define SKALD_COMPILED_OPEN_H_

#include "skald/open/detail/chat.h"
#include "skald/open/detail/conversation.h"
#include "skald/open/detail/convert_model.h"
#include "skald/open/detail/encoder_files.h"
#include "skald/open/detail/generation_config.h"
#include "skald/open/detail/measure_importance.h"
#include "skald/open/detail/model_file.h"
#include "skald/open/detail/model_info.h"
#include "skald/open/detail/model_text.h"
#include "skald/open/detail/open_encoder.h"
#include "skald/open/detail/open_model.h"
#include "skald/open/detail/pack_model.h"
#include "skald/open/detail/token_session.h"
#include "skald/open/encoders/detail/embeddings.h"
#include "skald/open/encoders/detail/encoder_facts.h"
#include "skald/open/encoders/detail/hybrid.h"
#include "skald/open/encoders/detail/pooling.h"
#include "skald/open/encoders/detail/ranking.h"
#include "skald/open/tools/detail/answer_filter.h"
#include "skald/open/tools/detail/output_format.h"
#include "skald/open/tools/detail/output_parser.h"

#endif  // SKALD_COMPILED_OPEN_H_
