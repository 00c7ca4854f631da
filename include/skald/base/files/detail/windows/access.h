// SPDX-License-Identifier: Apache-2.0
//
// Owners and access lists of Windows. See skald/base/files/file_calls.h.

#ifndef SKALD_BASE_FILES_DETAIL_WINDOWS_ACCESS_H_
#define SKALD_BASE_FILES_DETAIL_WINDOWS_ACCESS_H_

#include "skald/base/detail/windows_api.h"
// Needs what is above.
#include <aclapi.h>

#include <cstddef>

#include "skald/base/files/detail/windows/file_calls.h"
#include "skald/base/files/detail/windows/system.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/inline.h"

namespace skald {

namespace internal {

// Whether the id is of this user, of the group of administrators, or of the system.
inline bool IsTrustedUser(PSID id) {
  if (::IsWellKnownSid(id, WinBuiltinAdministratorsSid) != 0 || ::IsWellKnownSid(id, WinLocalSystemSid) != 0)
    return true;
  HANDLE opened;
  if (::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, &opened) == 0) return false;
  const Handle token(opened);
  alignas(TOKEN_USER) std::byte buffer[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
  DWORD size = 0;
  if (::GetTokenInformation(token.get(), TokenUser, buffer, sizeof(buffer), &size) == 0) return false;
  return ::EqualSid(id, reinterpret_cast<const TOKEN_USER*>(buffer)->User.Sid) != 0;
}

// Whether an entry of an access list lets only trusted users write to the file. An entry of a form that is not known
// here may let all users.
inline bool IsHarmless(void* entry) {
  constexpr DWORD kWrites = FILE_WRITE_DATA | FILE_APPEND_DATA | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;
  const auto& header = *static_cast<const ACE_HEADER*>(entry);
  const bool is_of_others = (header.AceFlags & INHERIT_ONLY_ACE) != 0;  // of files in it, were it a folder
  if (is_of_others || header.AceType == ACCESS_DENIED_ACE_TYPE) return true;
  if (header.AceType != ACCESS_ALLOWED_ACE_TYPE) return false;
  auto& allowed = *static_cast<ACCESS_ALLOWED_ACE*>(entry);
  PSID const id = &allowed.SidStart;
  return (allowed.Mask & kWrites) == 0 || ::IsWellKnownSid(id, WinCreatorOwnerRightsSid) != 0 || IsTrustedUser(id);
}

// The owner and the access list of an open file.
class AccessRights {
 public:
  explicit AccessRights(HANDLE file) {
    is_read_ = ::GetSecurityInfo(file, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner_,
                                 nullptr, &list_, nullptr, &memory_) == ERROR_SUCCESS;
  }
  AccessRights(const AccessRights&) = delete;
  AccessRights& operator=(const AccessRights&) = delete;
  ~AccessRights() {
    if (is_read_) ::LocalFree(memory_);
  }

  bool HasTrustedOwner() const { return is_read_ && owner_ != nullptr && IsTrustedUser(owner_); }

  // All users may write to a file without a list, as on a file system that has none.
  bool KeepsOthersOut() const {
    if (!is_read_ || list_ == nullptr) return false;
    for (DWORD i = 0; i < list_->AceCount; ++i) {
      void* entry;
      if (::GetAce(list_, i, &entry) == 0 || !IsHarmless(entry)) return false;
    }
    return true;
  }

 private:
  PSID owner_ = nullptr;
  PACL list_ = nullptr;
  PSECURITY_DESCRIPTOR memory_ = nullptr;
  bool is_read_;
};

SKALD_INLINE bool IsTrustedFile(int fd) {
  const auto facts = FactsOf(fd);
  if (!facts || facts->kind != FileKind::kRegular) return false;
  const AccessRights rights(HandleOf(fd));
  return rights.HasTrustedOwner() && rights.KeepsOthersOut();
}

SKALD_INLINE bool BelongsToUser(const std::filesystem::path& path, const FileFacts&) {
  const Handle file = OpenHandle(path, READ_CONTROL, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
  return file.is_open() && AccessRights(file.get()).HasTrustedOwner();
}

SKALD_INLINE bool MayFollow(const std::filesystem::path&) { return false; }

SKALD_INLINE bool CopyAccess(const FileFacts&, int) { return true; }

SKALD_INLINE void KeepPrivate(int) {}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_WINDOWS_ACCESS_H_
