// SPDX-License-Identifier: Apache-2.0
//
// What Skald links from Highway, as one source file: a program with this file needs no Highway library.

#include "hwy/abort.cc"
#include "hwy/targets.cc"
