// SPDX-License-Identifier: Apache-2.0

#include "commands/files/pull.h"

#include <iostream>

#include "skald/base/text/printable.h"

namespace skald::program {

Result<int> RunPull(const Options& options) {
  std::cout << Printable(options.model.native()) << '\n';
  return 0;
}

}  // namespace skald::program
