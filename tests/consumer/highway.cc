// SPDX-License-Identifier: Apache-2.0
//
// The parts of Highway that Skald links, as one source file: a program with this file needs no Highway library.

#include "hwy/abort.cc"
#include "hwy/targets.cc"
