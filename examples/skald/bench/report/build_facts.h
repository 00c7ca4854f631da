// SPDX-License-Identifier: Apache-2.0
//
// The sources and the compiler that this program was made from and by, for records of benchmarks.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_REPORT_BUILD_FACTS_H_
#define SKALD_EXAMPLES_SKALD_BENCH_REPORT_BUILD_FACTS_H_

#include <string>

namespace skald::program {

// "0.1.0".
std::string VersionText();

// The commit, short, with "-dirty" if sources differ from it; "unknown" of a build without git.
std::string CommitText();

// "g++ 12.2.0".
std::string CompilerText();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_REPORT_BUILD_FACTS_H_
