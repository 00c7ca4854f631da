// SPDX-License-Identifier: Apache-2.0
//
// The definitions in base/, for the one source of a program that compiles them (skald/compiled.h).

#ifndef SKALD_COMPILED_BASE_H_
#define SKALD_COMPILED_BASE_H_

#include "skald/base/detail/aligned_buffer.h"
#include "skald/base/detail/inline.h"
#include "skald/base/detail/result.h"
#include "skald/base/files/detail/fd_io.h"
#include "skald/base/files/detail/file_calls.h"
#include "skald/base/files/detail/file_facts.h"
#include "skald/base/files/detail/file_memory.h"
#include "skald/base/files/detail/folders.h"
#include "skald/base/files/detail/model_files.h"
#include "skald/base/files/detail/part_name.h"
#include "skald/base/files/detail/path_text.h"
#include "skald/base/files/detail/shard_index.h"
#include "skald/base/files/detail/small_file.h"
#include "skald/base/files/detail/system_call.h"
#include "skald/base/json/detail/json_tree.h"
#include "skald/base/json/detail/json_value.h"
#include "skald/base/json/detail/json_value_tree.h"
#include "skald/base/json/detail/read_json.h"
#include "skald/base/numbers/detail/byte_codec.h"
#include "skald/base/numbers/detail/digest.h"
#include "skald/base/numbers/detail/float_codes.h"
#include "skald/base/numbers/detail/group_layout.h"
#include "skald/base/numbers/detail/group_types.h"
#include "skald/base/numbers/detail/numeric.h"
#include "skald/base/numbers/detail/rope.h"
#include "skald/base/ranks/detail/communicator.h"
#include "skald/base/sockets/detail/socket.h"
#include "skald/base/text/detail/marked_text.h"
#include "skald/base/text/detail/message.h"
#include "skald/base/text/detail/printable.h"
#include "skald/base/threads/detail/background_queue.h"
#include "skald/base/threads/detail/float_environment.h"
#include "skald/base/threads/detail/pause.h"
#include "skald/base/threads/detail/priority.h"
#include "skald/base/threads/detail/thread_pool.h"

#endif  // SKALD_COMPILED_BASE_H_
