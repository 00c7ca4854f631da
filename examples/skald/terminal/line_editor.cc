// SPDX-License-Identifier: Apache-2.0

#include "terminal/line_editor.h"

#if !defined(SKALD_HAS_EDITOR)

namespace skald::program {

std::unique_ptr<LineReader> EditLines(const EditorOptions&) { return ReadPlainLines(); }

}  // namespace skald::program

#else

#include <histedit.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <iostream>
#include <optional>
#include <string_view>
#include <system_error>

#include "command_line/options.h"
#include "skald/base/files/system_call.h"
#include "skald/base/text/utf8.h"
#include "terminal/interrupt.h"
#include "terminal/messages.h"
#include "terminal/text_editor.h"

namespace skald::program {
namespace {

constexpr int kMostHistory = 1000;  // lines
constexpr std::string_view kPasteEnd = "\033[201~";

// The text of a paste as a line may hold it: line ends are newlines, and control characters and bytes that are no UTF-8
// are left out.
std::string CleanPaste(std::string_view pasted) {
  std::string text;
  while (!pasted.empty()) {
    const size_t length = FirstUtf8Character(pasted).length;
    const char c = pasted[0];
    if (c == '\r' && !pasted.starts_with("\r\n")) text += '\n';
    if (length > 1 || c == '\n' || c == '\t' || (length == 1 && c >= 0x20 && c != 0x7F))
      text += pasted.substr(0, length);
    pasted.remove_prefix(std::max<size_t>(length, 1));
  }
  return text;
}

class EditedLines : public LineReader {
 public:
  explicit EditedLines(const EditorOptions& options) : options_(options) {
    if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
    OpenHistory();
    editor_.reset(el_init("skald", stdin, stderr, stderr));
    if (editor_ != nullptr) SetUp(*editor_);
  }

  bool works() const { return editor_ != nullptr; }

  Result<InputEvent> Next(const std::string& prompt, std::string& line) override {
    line.clear();
    prompt_ = prompt;
    for (;;) {
      SKALD_ASSIGN(const auto event, ReadOne());
      if (event != InputEvent::kLine) return event;
      line += typed_;
      if (!line.ends_with('\\')) break;
      line.back() = '\n';  // a backslash at the end of a line continues it
      prompt_ = std::string(prompt.size(), '.');
    }
    Remember(line);
    return InputEvent::kLine;
  }

 private:
  struct EndEditor {
    void operator()(EditLine* editor) const { el_end(editor); }
  };
  struct EndHistory {
    void operator()(History* history) const { history_end(history); }
  };

  static EditedLines& Of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<EditedLines*>(self);
  }

  void SetUp(EditLine& editor) {
    el_set(&editor, EL_CLIENTDATA, this);
    el_set(&editor, EL_EDITOR, "emacs");
    el_set(&editor, EL_SIGNAL, 0);
    el_set(
        &editor, EL_PROMPT, +[](EditLine* of) { return Of(of).prompt_.data(); });
    el_set(
        &editor, EL_GETCFN, +[](EditLine* of, wchar_t* c) { return Of(of).ReadCharacter(*c); });
    if (history_ != nullptr) el_set(&editor, EL_HIST, history, history_.get());
    el_set(
        &editor, EL_ADDFN, "skald-paste", "insert pasted text", +[](EditLine* of, int) { return Of(of).Paste(); });
    el_set(
        &editor, EL_ADDFN, "skald-newline", "begin another line of the message",
        +[](EditLine* of, int) -> int { return el_insertstr(of, "\n") == 0 ? CC_REFRESH : CC_ERROR; });
    el_set(
        &editor, EL_ADDFN, "skald-complete", "complete a command",
        +[](EditLine* of, int) { return Of(of).Complete(); });
    el_set(
        &editor, EL_ADDFN, "skald-edit", "go on in an editor",
        +[](EditLine* of, int) { return Of(of).EditElsewhere(); });
    el_set(&editor, EL_BIND, "\\e[200~", "skald-paste", nullptr);
    el_set(&editor, EL_BIND, "\\e\\r", "skald-newline", nullptr);
    el_set(&editor, EL_BIND, "\\e\\n", "skald-newline", nullptr);
    el_set(&editor, EL_BIND, "\\t", "skald-complete", nullptr);
    el_set(&editor, EL_BIND, "^X^E", "skald-edit", nullptr);
    el_set(&editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_set(&editor, EL_BIND, "\\e[1;5D", "ed-prev-word", nullptr);
    el_set(&editor, EL_BIND, "\\e[1;5C", "em-next-word", nullptr);
    el_set(&editor, EL_BIND, "\\e[3~", "ed-delete-next-char", nullptr);
  }

  // Reads one line into typed_.
  Result<InputEvent> ReadOne() {
    problem_ = 0;
    interrupted_ = false;
    el_resize(editor_.get());
    el_set(editor_.get(), EL_PREP_TERM, 1);    // before the prompt is seen: keys that answer it are for the editor
    std::cerr << "\033[?2004h" << std::flush;  // pastes come between marks
    int count = 0;
    const char* const read = el_gets(editor_.get(), &count);
    std::cerr << "\033[?2004l" << std::flush;
    if (read != nullptr && count > 0) {
      typed_.assign(read, static_cast<size_t>(count));
      if (typed_.ends_with('\n')) typed_.pop_back();
      return InputEvent::kLine;
    }
    std::cerr << '\n';
    if (interrupted_) return InputEvent::kInterrupted;
    if (problem_ == EOVERFLOW) {
      return Fail(ErrorCode::kOutOfRange,
                  "standard input: expected lines of at most " + std::to_string(kMaxPromptBytes) + " bytes");
    }
    errno = problem_;
    if (problem_ != 0 && problem_ != EIO) return internal::SystemFailure("standard input");
    return InputEvent::kEnd;  // EIO: the terminal is gone
  }

  // The next byte, or nothing at the end, with a signal, or with a problem.
  std::optional<char> ReadByte() {
    while (read_ == filled_) {
      if (!WaitForInput(STDIN_FILENO)) {
        if (!TakeInterrupt()) continue;
        interrupted_ = true;
        return {};
      }
      const ssize_t count = ::read(STDIN_FILENO, bytes_.data(), bytes_.size());
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count < 0) problem_ = errno;
      if (count <= 0) return {};
      read_ = 0;
      filled_ = static_cast<size_t>(count);
    }
    return bytes_[read_++];
  }

  // 1 and the next character, 0 at the end, or -1. Bytes that are no UTF-8 are left out.
  int ReadCharacter(wchar_t& character) {
    std::mbstate_t state = {};
    for (;;) {
      const auto byte = ReadByte();
      if (!byte) return interrupted_ || problem_ != 0 ? -1 : 0;
      const size_t used = std::mbrtowc(&character, &*byte, 1, &state);
      if (used == 0 || used == 1) return 1;
      if (used == static_cast<size_t>(-1)) state = {};
    }
  }

  unsigned char Paste() {
    std::string pasted;
    while (!pasted.ends_with(kPasteEnd)) {
      const auto byte = ReadByte();
      if (!byte) return CC_EOF;
      pasted += *byte;
      if (pasted.size() <= kMaxPromptBytes) continue;
      problem_ = EOVERFLOW;
      return CC_EOF;
    }
    pasted.resize(pasted.size() - kPasteEnd.size());
    const std::string text = CleanPaste(pasted);
    return el_insertstr(editor_.get(), text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  // Inserts what all commands that begin with the typed text have in common after it.
  unsigned char Complete() {
    const LineInfo* const now = el_line(editor_.get());
    const std::string_view typed(now->buffer, static_cast<size_t>(now->cursor - now->buffer));
    std::optional<std::string> common;
    for (const std::string& command : options_.commands) {
      if (typed.empty() || !command.starts_with(typed)) continue;
      if (!common) common = command;
      common->resize(static_cast<size_t>(std::ranges::mismatch(*common, command).in1 - common->begin()));
    }
    if (!common || common->size() == typed.size()) return CC_ERROR;
    return el_insertstr(editor_.get(), common->c_str() + typed.size()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  // Puts what the user makes of the line in an editor in its place.
  unsigned char EditElsewhere() {
    const LineInfoW* const now = el_wline(editor_.get());
    const auto all = static_cast<int>(now->lastchar - now->buffer),
               left = static_cast<int>(now->lastchar - now->cursor);
    const LineInfo* const bytes = el_line(editor_.get());
    const std::string typed(bytes->buffer, static_cast<size_t>(bytes->lastchar - bytes->buffer));
    el_set(editor_.get(), EL_PREP_TERM, 0);
    const auto edited = EditText(typed);
    el_set(editor_.get(), EL_PREP_TERM, 1);
    if (!edited) {
      std::cerr << '\n';
      Note(edited.error().message);
      return CC_REDISPLAY;
    }
    el_cursor(editor_.get(), left);
    el_deletestr(editor_.get(), all);
    const std::string text = CleanPaste(*edited);
    return el_insertstr(editor_.get(), text.c_str()) == 0 ? CC_REDISPLAY : CC_ERROR;
  }

  void OpenHistory() {
    history_.reset(history_init());
    if (history_ == nullptr) return;
    HistEvent event;
    history(history_.get(), &event, H_SETSIZE, kMostHistory);
    history(history_.get(), &event, H_SETUNIQUE, 1);
    std::error_code missing;
    if (!options_.history.empty() && std::filesystem::is_regular_file(options_.history, missing)) {
      history(history_.get(), &event, H_LOAD, options_.history.c_str());
    }
  }

  // A history that cannot be written costs one warning.
  void Remember(const std::string& line) {
    if (history_ == nullptr || line.empty()) return;
    HistEvent event;
    history(history_.get(), &event, H_ENTER, line.c_str());
    if (options_.history.empty()) return;
    std::error_code ignored;  // writing tells
    std::filesystem::create_directories(options_.history.parent_path(), ignored);
    const mode_t mask = ::umask(077);  // what was said is its user's alone
    const int saved = history(history_.get(), &event, H_SAVE, options_.history.c_str());
    ::umask(mask);
    if (saved >= 0) return;
    Warn(options_.history.string() + ": the history of lines cannot be written");
    options_.history.clear();
  }

  EditorOptions options_;
  std::unique_ptr<History, EndHistory> history_;
  std::unique_ptr<EditLine, EndEditor> editor_;  // null if it cannot be had
  std::string prompt_, typed_;
  std::array<char, 65536> bytes_;
  size_t read_ = 0, filled_ = 0;  // of them
  bool interrupted_ = false;      // a signal came while a line was read
  int problem_ = 0;               // errno of reading
};

}  // namespace

std::unique_ptr<LineReader> EditLines(const EditorOptions& options) {
  const char* const terminal = std::getenv("TERM");
  const bool can_move = terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
  if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1 || !can_move) return ReadPlainLines();
  auto editor = std::make_unique<EditedLines>(options);
  if (!editor->works()) return ReadPlainLines();
  return editor;
}

}  // namespace skald::program

#endif
