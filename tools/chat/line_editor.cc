#include "tools/chat/line_editor.h"

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>

#include "tools/chat/line_completion.h"
#include "tools/output/interrupt.h"
#include "tools/output/terminal.h"

#ifdef PC_HAS_LIBEDIT
#include <histedit.h>
#endif

namespace pc::cli {
namespace {

std::optional<std::string> read_plainly(const std::string& prompt) {
  constexpr std::size_t kMostOfATerminal = 4095;  // bytes of a line: N_TTY of Linux drops the rest
  std::fputs(prompt.c_str(), stdout);
  std::fflush(stdout);
  std::string line;
  if (!std::getline(std::cin, line)) {
    std::fputc('\n', stdout);
    return std::nullopt;
  }
  if (line.size() >= kMostOfATerminal)
    std::fputs("[the terminal may have cut this line at 4,095 bytes; pipe longer ones in]\n",
               stderr);
  return line;
}

}  // namespace

#ifdef PC_HAS_LIBEDIT
namespace {

constexpr int kRemembered = 1000;  // messages
// Between these two a terminal sends what is pasted (bracketed paste), once it was asked to.
constexpr char kPasteBegins[] = "\033[200~";
constexpr std::wstring_view kPasteEnds = L"\033[201~";
constexpr char kPasteOn[] = "\033[?2004h", kPasteOff[] = "\033[?2004l";

bool can_edit() {
  const char* const kind = std::getenv("TERM");
  return is_terminal(stdin) && is_terminal(stdout) && kind && *kind &&
         std::string_view(kind) != "dumb";
}

void tell_terminal(const char* sequence) {
  std::fputs(sequence, stdout);
  std::fflush(stdout);
}

}  // namespace

// Pastes stay bracketed while an answer is shown: they are read when it is over.
struct LineEditor::Terminal {
  explicit Terminal(Words offered) : words(std::move(offered)), last_words(kPasteOff) {
    // Characters of more bytes than one; numbers are written as ever.
    std::setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
    editor = el_init("promptcache", stdin, stdout, stderr);
    past = history_init();
    if (!editor || !past) return;
    HistEvent event;
    history(past, &event, H_SETSIZE, kRemembered);
    el_set(editor, EL_CLIENTDATA, this);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_SIGNAL, 1);  // the terminal is as it was where a signal ends the process
    el_set(editor, EL_HIST, history, past);
    el_set(editor, EL_PROMPT, shown_prompt);
    el_set(editor, EL_ADDFN, "paste", "takes a paste as it is", paste);
    el_set(editor, EL_ADDFN, "complete", "completes a word", complete);
    el_set(editor, EL_BIND, kPasteBegins, "paste", nullptr);
    el_set(editor, EL_BIND, "\t", "complete", nullptr);
    el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    tell_terminal(kPasteOn);
  }
  ~Terminal() {
    tell_terminal(kPasteOff);
    if (editor) el_end(editor);
    if (past) history_end(past);
  }

  static Terminal* self(EditLine* e) {
    void* data = nullptr;
    el_get(e, EL_CLIENTDATA, &data);
    return static_cast<Terminal*>(data);
  }

  static char* shown_prompt(EditLine* e) { return self(e)->prompt.data(); }

  std::string line() const {
    const LineInfo* const info = el_line(editor);
    return {info->buffer, info->lastchar};
  }

  // Line breaks are \n there, whatever the terminal makes of them. A signal is no end.
  static unsigned char paste(EditLine* e, int) {
    std::wstring text;
    wchar_t c = 0;
    while (!text.ends_with(kPasteEnds)) {
      const int n = el_wgetc(e, &c);
      if (n < 0 && errno == EINTR) continue;
      if (n != 1) break;
      text += c == L'\r' ? L'\n' : c;
    }
    if (text.ends_with(kPasteEnds)) text.resize(text.size() - kPasteEnds.size());
    if (el_winsertstr(e, text.c_str()) != 0) return CC_ERROR;
    self(e)->pasted = self(e)->line();
    return CC_REFRESH;
  }

  static unsigned char complete(EditLine* e, int) {
    const LineInfo* const info = el_line(e);
    const std::string begun(info->buffer, info->cursor);
    const std::string rest = completion_of(begun, self(e)->words(begun));
    return !rest.empty() && el_insertstr(e, rest.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  Words words;
  LastWords last_words;
  std::string prompt;
  std::string pasted;  // the line as it was behind the last paste into it
  EditLine* editor = nullptr;
  History* past = nullptr;
};

LineEditor::LineEditor(Words words) {
  if (can_edit()) terminal_ = std::make_unique<Terminal>(std::move(words));
  if (terminal_ && !(terminal_->editor && terminal_->past)) terminal_.reset();
}

void LineEditor::remember(const std::string& message) {
  HistEvent event;
  if (terminal_) history(terminal_->past, &event, H_ENTER, message.c_str());
}

std::optional<std::string> LineEditor::read(const std::string& prompt) {
  if (!terminal_) return read_plainly(prompt);
  terminal_->prompt = prompt;
  terminal_->pasted.clear();
  int n = 0;
  const char* typed = el_gets(terminal_->editor, &n);
  while (!typed && n < 0 && errno == EINTR) {  // stopped and gone on, say: with what was typed
    const std::string half = terminal_->line();
    el_push(terminal_->editor, half.c_str());
    typed = el_gets(terminal_->editor, &n);
  }
  if (!typed || n <= 0) {
    tell_terminal("\n");
    return std::nullopt;
  }
  std::string line(typed, static_cast<std::size_t>(n));
  if (line.ends_with('\n')) line.pop_back();
  ends_with_paste_ = !terminal_->pasted.empty() && line == terminal_->pasted;
  return line;
}

#else

struct LineEditor::Terminal {};

LineEditor::LineEditor(Words) {}
void LineEditor::remember(const std::string&) {}
std::optional<std::string> LineEditor::read(const std::string& prompt) {
  return read_plainly(prompt);
}

#endif

LineEditor::~LineEditor() = default;

}  // namespace pc::cli
