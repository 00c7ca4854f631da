// SPDX-License-Identifier: Apache-2.0

#include "conversation/rescue.h"

#include <string>
#include <system_error>
#include <vector>

#include "skald/base/files/system_call.h"
#include "skald/base/no_throw.h"
#include "user_folders.h"

namespace skald::program {
namespace {

using std::filesystem::path;

std::vector<path> Places(const path& file) {
  std::vector<path> places = {file.has_parent_path() ? file.parent_path() : path(".")};
  std::error_code ignored;  // a place that is none is passed over
  if (const path cache = UserCacheFolder(); !cache.empty()) {
    std::filesystem::create_directories(cache, ignored);
    places.push_back(cache);
  }
  places.push_back(std::filesystem::temp_directory_path(ignored));
  return places;
}

Result<path> SaveIn(const path& place, const path& name, const std::function<Result<void>(const path&)>& save) {
  std::string folder = place / "skald-rescued-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return internal::SystemFailure(place.native());
  const path rescued = folder / name;
  if (auto saved = save(rescued); !saved) {
    std::error_code ignored;
    std::filesystem::remove(folder, ignored);
    return Failure(saved.error());
  }
  return rescued;
}

}  // namespace

Result<path> SaveElsewhere(const path& file, const std::function<Result<void>(const path&)>& save) {
  return NoThrow(file.native(), [&] {
    Result<path> rescued = Fail(ErrorCode::kNotFound, "there is no other place");
    for (const path& place : Places(file)) {
      rescued = SaveIn(place, file.filename(), save);
      if (rescued) break;
    }
    return rescued;
  });
}

}  // namespace skald::program
