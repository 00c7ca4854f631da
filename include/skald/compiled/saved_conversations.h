// SPDX-License-Identifier: Apache-2.0
//
// The definitions of saved conversations (open/saved_conversation.h), for the one source of a program that compiles
// them (skald/compiled.h). They need skald/compiled/open.h and store.h.

#ifndef SKALD_COMPILED_SAVED_CONVERSATIONS_H_
#define SKALD_COMPILED_SAVED_CONVERSATIONS_H_

#include "skald/open/detail/saved_conversation.h"

#endif  // SKALD_COMPILED_SAVED_CONVERSATIONS_H_
