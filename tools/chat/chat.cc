// A conversation in the terminal.

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>

#include "tools/chat/conversation.h"
#include "tools/chat/line_editor.h"
#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/failure.h"
#include "tools/output/json.h"
#include "tools/output/report_cells.h"
#include "tools/output/sizes.h"
#include "tools/output/terminal.h"
#include "tools/output/word_wrap.h"

namespace pc::cli {
namespace {

constexpr char kHelp[] =
    "/use MODULE [NAME=VALUE ...]  puts a module of the schema before the next message\n"
    "/modules                      lists the schema's modules\n"
    "/again                        draws the last answer anew\n"
    "/undo                         takes the last question and answer back\n"
    "/new                          begins another conversation\n"
    "/context                      says how full the context window is\n"
    "/help                         prints this\n"
    "/quit                         ends; so does the end of the input\n"
    "A line that ends with \\ goes on in the next one. A message that begins with / begins with "
    "//.\n";

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t begin = line.find_first_not_of(' '); begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = std::min(line.find_first_not_of(' ', end), line.size());
  }
  return words;
}

class Chat {
 public:
  Chat(const promptcache::Engine& engine, const promptcache::Schema& schema, const Options& options)
      : schema_(schema),
        options_(options),
        conversation_(engine, schema, options),
        context_tokens_(parse_report(engine.describe())["context_tokens"].number().value_or(0)),
        asks_(is_terminal(stdin)) {
    if (!asks_) return;
    editor_.emplace([this](const std::string& line) { return words_at(line); });
    for (const promptcache::Message& message : conversation_.messages())
      if (message.role == "user" && !message.content.empty())
        editor_->remember(typed(message.content));
  }

  void hold() {
    if (asks_ && !options_.quiet) greet();
    for (std::string line; read_line(&line);) {
      if (line == "/quit") return;
      try {
        take(line);
      } catch (const promptcache::Error& error) {
        // Nothing of the conversation is lost; what comes next may be shorter, or spelled right.
        if (!asks_) throw;
        print(wrap_.end());
        parts_.clear();
        print_failure(Failure(kFailure, error.what()));
      } catch (const Failure& failure) {
        if (!asks_) throw;
        print_failure(failure);
      }
    }
  }

 private:
  void greet() const {
    note(conversation_.is_empty()
             ? "/help lists what a line may be besides a message"
             : "goes on behind " + format_count(conversation_.messages().size(), "message"));
  }

  // False at the end of the input.
  bool read_line(std::string* line) {
    line->clear();
    for (;; *line += '\n') {
      const std::optional<std::string> more = read_more(line->empty());
      if (!more) return !line->empty();
      *line += *more;
      if (line->empty() || line->back() != '\\' || (editor_ && editor_->ends_with_paste())) break;
      line->pop_back();
    }
    if (editor_ && !line->empty()) editor_->remember(*line);
    return true;
  }

  std::optional<std::string> read_more(bool first) {
    if (editor_) return editor_->read(first ? "> " : "  ");
    std::string more;
    if (!std::getline(std::cin, more)) return std::nullopt;
    return more;
  }

  // As it must be typed to be said.
  static std::string typed(const std::string& content) {
    return (content[0] == '/' ? "/" : "") + content;
  }

  // Commands; behind /use, modules and then their parameters.
  std::vector<std::string> words_at(const std::string& line) const {
    if (line.rfind("/use ", 0) == 0) return module_words(line);
    if (line[0] != '/' || line.find(' ') != line.npos) return {};
    return {"/again", "/context", "/help", "/modules", "/new", "/quit", "/undo", "/use"};
  }

  std::vector<std::string> module_words(const std::string& line) const {
    const std::vector<std::string> before = words_of(line.substr(0, line.rfind(' ')));
    std::vector<std::string> words;
    const Json report = parse_report(schema_.describe());
    for (const Json& module : report["modules"].items()) {
      const std::string path = module["path"].text();
      if (path == "-") continue;
      if (before.size() == 1) words.push_back(path);
      if (before.size() < 2 || before[1] != path) continue;
      for (const Json& p : module["parameters"].items()) words.push_back(p["name"].text() + "=");
    }
    return words;
  }

  void take(const std::string& line) {
    if (line.find_first_not_of(" \t\n") == line.npos) return;
    if (line[0] != '/') return ask(line);
    if (line.rfind("//", 0) == 0) return ask(line.substr(1));
    const std::vector<std::string> words = words_of(line);
    const std::string& command = words[0];
    if (command == "/help") {
      print(kHelp);
    } else if (command == "/modules") {
      list_modules();
    } else if (command == "/use") {
      use(words);
    } else if (command == "/again") {
      answer_again();
    } else if (command == "/undo") {
      note(conversation_.take_back() ? "the last question is taken back" : "nothing was asked yet");
    } else if (command == "/new") {
      parts_.clear();
      const std::string aside = conversation_.begin_anew();
      if (!aside.empty()) note("the one before is in " + aside);
    } else if (command == "/context") {
      print(context() + "\n");
    } else {
      note(printable(command) + " is no command; /help lists them");
    }
  }

  void ask(const std::string& text) {
    promptcache::Message question{"user", text};
    if (!parts_.empty()) {
      question.parts = parts_;
      question.parts.push_back({"\n" + text});
    }
    report(conversation_.ask(question, show_text()));
    parts_.clear();
  }

  void answer_again() {
    if (conversation_.is_empty()) return note("nothing was asked yet");
    report(conversation_.answer_again(show_text()));
  }

  Conversation::OnText show_text() {
    open_line_ = false;
    wrap_ = WordWrap(terminal_columns(stdout));
    return [this](std::string_view text) {
      print(is_terminal(stdout) ? wrap_.add(printable_lines(text)) : std::string(text));
      open_line_ = text.back() != '\n';
    };
  }

  void report(const pc_session_stats& stats) {
    print(wrap_.end() + (open_line_ ? "\n" : ""));
    if (stats.finish == PC_FINISH_LENGTH)
      note("the answer is cut at " + format_count(stats.generated_tokens, "token") +
           "; -n allows more");
    const double speed = decode_tokens_per_second(stats);
    char text[64] = "";
    if (speed > 0) std::snprintf(text, sizeof text, "; %.1f tokens a second", speed);
    // A module that had to be encoded for this turn was computed for it.
    const std::uint64_t reused = stats.cached_tokens - stats.encoded_tokens;
    note(context() + "; " + std::to_string(stats.computed_tokens + stats.encoded_tokens) +
         " computed, " + std::to_string(reused) + " reused; first token in " +
         format_duration(stats.ttft_us) + text);
  }

  std::string context() const {
    const std::string read = conversation_.position() == 0 && !conversation_.is_empty()
                                 ? "not read yet, of "
                                 : std::to_string(conversation_.position()) + " of ";
    std::string text = read + std::to_string(context_tokens_) + " tokens";
    if (const std::uint64_t n = conversation_.dropped_turns())
      text += "; the oldest " + format_count(n, "turn") + " went, answers are approximate";
    return text;
  }

  void list_modules() const {
    const Json report = parse_report(schema_.describe());
    std::string text;
    for (const Json& module : report["modules"].items()) {
      if (module["path"].text() == "-") continue;
      text += cell(module["path"]);
      for (const Json& p : module["parameters"].items()) text += " " + cell(p["name"]) + "=";
      text += ": " + cell(module["tokens"]) + " tokens\n";
    }
    print(text.empty() ? "there are none; -s names a schema that has some\n" : text);
  }

  void use(const std::vector<std::string>& words) {
    if (words.size() < 2) return note("which module? /modules lists them");
    promptcache::Part part{"", words[1]};
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      if (equals == words[i].npos) {
        // The value goes on behind a space.
        if (part.arguments.empty()) return note("an argument is NAME=VALUE");
        part.arguments.back().value += " " + words[i];
      } else {
        part.arguments.push_back({words[i].substr(0, equals), words[i].substr(equals + 1)});
      }
    }
    parts_.push_back(std::move(part));
  }

  void note(const std::string& text) const {
    if (!options_.quiet) std::fprintf(stderr, "[%s]\n", text.c_str());
  }

  const promptcache::Schema& schema_;
  const Options& options_;
  Conversation conversation_;
  std::uint64_t context_tokens_;
  bool asks_;                         // the input is a person
  std::optional<LineEditor> editor_;  // then
  bool open_line_ = false;
  WordWrap wrap_{0};
  std::vector<promptcache::Part> parts_;  // of the next message, in front of its text
};

}  // namespace

ExitCode chat(const Options& options) {
  const promptcache::Engine engine = open_engine(options, cache_mode(options));
  const promptcache::Schema schema =
      options.schema.empty() ? promptcache::Schema::plain(engine) : load_schema(engine, options);
  Chat(engine, schema, options).hold();
  return kSuccess;
}

}  // namespace pc::cli
