// SPDX-License-Identifier: Apache-2.0
//
// Options that several commands have.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_SHARED_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_SHARED_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "command_line/options.h"
#include "skald/base/numbers/numeric.h"

namespace skald::program {

// Reads a type by its name in any case. Thrown: there is none.
DType ParseDType(std::string name);

// Returns a command line, without the program's name, in which options of two letters after one dash have their long
// names: -hf, and -pg of 'skald bench'. CLI11 would take the first letter for an option of its own: -h, which is help.
std::vector<std::string> WithLongNames(std::vector<std::string> arguments);

// Adds a command, which `options` name when it is parsed.
CLI::App& AddCommand(CLI::App& app, const char* name, const char* description, Command value, Options& options);

// Those that compute with an MPI job.
void AddRanks(CLI::App& command, Options& options, const char* group);

// The type of the cache's elements.
CLI::Option* AddKvType(CLI::App& command, DType& type);

// Those of something that guesses tokens; none of them together with `other`, which may be null.
void AddDraftOptions(CLI::App& command, const char* group, DraftOptions& draft, CLI::Option* other);

// The chat template in a file, of a command that has --chat-template, and if it `has_tools` the form of their calls.
void AddTemplateOptions(CLI::App& command, bool has_tools, Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_SHARED_OPTIONS_H_
