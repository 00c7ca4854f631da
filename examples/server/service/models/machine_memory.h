// SPDX-License-Identifier: Apache-2.0
//
// How much memory models can have: that of the machine, or what its groups of control leave to this process, as
// containers and service managers limit it.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MACHINE_MEMORY_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MACHINE_MEMORY_H_

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace skald::serve {

// Bytes. Where the system tells neither, 16 GiB.
uint64_t MemoryOfMachine();

// The least that a group of control lets a process have, those around its own included; kUnlimited if none does.
// `groups` is what /proc/self/cgroup says of the process, `mount` where the groups are files: /sys/fs/cgroup. Both
// versions of Linux are read. A group that cannot be seen limits nothing.
uint64_t MemoryOfGroups(std::string_view groups, const std::filesystem::path& mount);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MACHINE_MEMORY_H_
