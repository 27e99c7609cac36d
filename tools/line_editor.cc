#include "tools/line_editor.h"

#include <clocale>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <utility>

#include "tools/interrupt.h"
#include "tools/line_completion.h"

#ifdef PC_HAS_LIBEDIT
#include <histedit.h>
#endif

namespace pc::cli {

#ifdef PC_HAS_LIBEDIT
namespace {

constexpr int kRemembered = 1000;  // messages
// Between these two a terminal sends what is pasted (bracketed paste).
constexpr char kPasteBegins[] = "\033[200~";
constexpr std::wstring_view kPasteEnds = L"\033[201~";
constexpr char kPasteOn[] = "\033[?2004h", kPasteOff[] = "\033[?2004l";

}  // namespace

struct LineEditor::Terminal {
  explicit Terminal(Words offered) : words(std::move(offered)) {
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
  }
  ~Terminal() {
    if (editor) el_end(editor);
    if (past) history_end(past);
  }

  static Terminal* self(EditLine* e) {
    void* data = nullptr;
    el_get(e, EL_CLIENTDATA, &data);
    return static_cast<Terminal*>(data);
  }

  static char* shown_prompt(EditLine* e) { return self(e)->prompt.data(); }

  static unsigned char paste(EditLine* e, int) {
    std::wstring text;
    for (wchar_t c = 0; !text.ends_with(kPasteEnds) && el_wgetc(e, &c) == 1;)
      text += c == L'\r' ? L'\n' : c;
    if (text.ends_with(kPasteEnds)) text.resize(text.size() - kPasteEnds.size());
    return el_winsertstr(e, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  static unsigned char complete(EditLine* e, int) {
    const LineInfo* const info = el_line(e);
    const std::string line(info->buffer, info->cursor);
    const std::string rest = completion_of(line, self(e)->words(line));
    return !rest.empty() && el_insertstr(e, rest.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  Words words;
  std::string prompt;
  EditLine* editor = nullptr;
  History* past = nullptr;
};

LineEditor::LineEditor(Words words) : terminal_(std::make_unique<Terminal>(std::move(words))) {}
LineEditor::~LineEditor() = default;

void LineEditor::remember(const std::string& message) {
  HistEvent event;
  if (terminal_->past) history(terminal_->past, &event, H_ENTER, message.c_str());
}

std::optional<std::string> LineEditor::read(const std::string& prompt) {
  if (!terminal_->editor) return std::nullopt;
  terminal_->prompt = prompt;
  const LastWords last_words(kPasteOff);
  std::fputs(kPasteOn, stdout);
  std::fflush(stdout);
  int n = 0;
  const char* const typed = el_gets(terminal_->editor, &n);
  std::fputs(typed ? kPasteOff : (std::string(kPasteOff) + "\n").c_str(), stdout);
  std::fflush(stdout);
  if (!typed || n <= 0) return std::nullopt;
  std::string line(typed, static_cast<std::size_t>(n));
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

#else

struct LineEditor::Terminal {};

LineEditor::LineEditor(Words) {}
LineEditor::~LineEditor() = default;

void LineEditor::remember(const std::string&) {}

std::optional<std::string> LineEditor::read(const std::string& prompt) {
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

#endif

}  // namespace pc::cli
