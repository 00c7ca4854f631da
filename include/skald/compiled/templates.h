// SPDX-License-Identifier: Apache-2.0
//
// The definitions in templates/, for the one source of a program that compiles them (skald/compiled.h).
// They need utf8proc.

#ifndef SKALD_COMPILED_TEMPLATES_H_
#define SKALD_COMPILED_TEMPLATES_H_

#include "skald/templates/detail/built_in.h"
#include "skald/templates/detail/chat_template.h"
#include "skald/templates/detail/published.h"
#include "skald/templates/syntax/detail/syntax.h"
#include "skald/templates/values/detail/machine.h"
#include "skald/templates/values/detail/value.h"

#endif  // SKALD_COMPILED_TEMPLATES_H_
