// SPDX-License-Identifier: Apache-2.0
//
// The definitions in configs/, for the one source of a program that compiles them (skald/compiled.h).

#ifndef SKALD_COMPILED_CONFIGS_H_
#define SKALD_COMPILED_CONFIGS_H_

#include "skald/configs/detail/family_facts.h"
#include "skald/configs/detail/gguf_config.h"
#include "skald/configs/detail/identify.h"
#include "skald/configs/form/detail/config_text.h"
#include "skald/configs/form/detail/shorten.h"
#include "skald/configs/readers/detail/config_json.h"
#include "skald/configs/readers/detail/python_json.h"
#include "skald/configs/readers/detail/spec_json.h"

#endif  // SKALD_COMPILED_CONFIGS_H_
