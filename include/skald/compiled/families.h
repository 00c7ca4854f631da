// SPDX-License-Identifier: Apache-2.0
//
// The definitions in families/, for the one source of a program that compiles them (skald/compiled.h).

#ifndef SKALD_COMPILED_FAMILIES_H_
#define SKALD_COMPILED_FAMILIES_H_

#include "skald/families/config/detail/config_text.h"
#include "skald/families/config/detail/differences.h"
#include "skald/families/config/detail/shorten.h"
#include "skald/families/detail/config_json.h"
#include "skald/families/detail/find_named.h"
#include "skald/families/detail/gguf_config.h"
#include "skald/families/detail/gguf_metadata.h"
#include "skald/families/detail/published.h"
#include "skald/families/detail/registry.h"
#include "skald/families/detail/spec_json.h"

#endif  // SKALD_COMPILED_FAMILIES_H_
