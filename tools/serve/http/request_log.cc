#include "tools/serve/http/request_log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <ctime>

#include "tools/output/json.h"

namespace pc::serve {
namespace {

// A pipe that is ready takes a page at least without waiting; a line is shorter than that.
constexpr std::size_t kMostPath = 300, kMostSentence = 300;

std::string printable(std::string_view text, std::size_t most) {
  std::string out(text.substr(0, most));
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return out + (text.size() > most ? "..." : "");
}

std::string time_text(std::chrono::system_clock::time_point now) {
  using namespace std::chrono;
  const auto ms = duration_cast<milliseconds>(now.time_since_epoch()).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + n, text.size() - n, ".%03dZ", static_cast<int>(ms % 1000));
  return text.data();
}

// "messages[2].role", "top_p"
bool is_field(std::string_view text) {
  return text.size() <= 64 && std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '.' || c == '[' || c == ']';
         });
}

// The sentence of an error in the shape of either protocol; "" where there is none.
std::string sentence_in(const std::string& body) {
  try {
    return cli::parse_report(body)["error"]["message"].string();
  } catch (const std::exception&) {
    return "";
  }
}

}  // namespace

void RequestNotes::set_model(const std::string& name) {
  const MutexLock lock(mutex_);
  model_ = name;
}

void RequestNotes::set_tokens(const Tokens& tokens) {
  const MutexLock lock(mutex_);
  tokens_ = tokens;
}

std::string RequestNotes::model() const {
  const MutexLock lock(mutex_);
  return model_;
}

std::optional<RequestNotes::Tokens> RequestNotes::tokens() const {
  const MutexLock lock(mutex_);
  return tokens_;
}

// An apostrophe amid a word ("it's") quotes nothing.
std::string without_contents(std::string_view sentence) {
  std::string out;
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    const char c = sentence[i];
    out += c;
    const bool opens = c == '"' || c == '`' || (c == '\'' && (i == 0 || sentence[i - 1] == ' '));
    if (!opens) continue;
    // What is quoted may have such a mark in it: the last counts, where it is no field.
    std::size_t end = sentence.find(c, i + 1);
    if (end == sentence.npos) return printable(out + "...", kMostSentence);
    if (is_field(sentence.substr(i + 1, end - i - 1))) {
      out += sentence.substr(i + 1, end - i);
    } else {
      end = sentence.rfind(c);
      out += "...";
      out += c;
    }
    i = end;
  }
  return printable(out, kMostSentence);
}

std::string text_of(const RequestLine& line, std::chrono::system_clock::time_point now) {
  std::array<char, 32> ms{};
  std::snprintf(ms.data(), ms.size(), "%.1fms", line.time.count());
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
  std::string text = time_text(now) + " " + line.from + " " + or_dash(printable(line.method, 16)) +
                     " " + or_dash(printable(line.path, kMostPath)) + " " +
                     (line.status ? std::to_string(line.status) : "-") + " " + ms.data();
  if (line.notes) {
    if (const std::string model = line.notes->model(); !model.empty())
      text += " model=" + printable(model, kMostPath);
    if (const auto tokens = line.notes->tokens())
      text += " prompt=" + std::to_string(tokens->prompt) +
              " cached=" + std::to_string(tokens->cached) +
              " generated=" + std::to_string(tokens->generated);
  }
  if (!line.is_whole) text += " gone";
  if (const std::string sentence = line.status >= 400 ? sentence_in(line.answer) : "";
      !sentence.empty())
    text += " error: " + without_contents(sentence);
  return text;
}

void RequestLog::write(const RequestLine& line) {
  std::string text = text_of(line, std::chrono::system_clock::now()) + "\n";
  const MutexLock lock(mutex_);
  pollfd ready{descriptor_, POLLOUT, 0};
  if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) {
    ++n_lost_;
    return;
  }
  if (n_lost_ > 0) text = "(" + std::to_string(n_lost_) + " lines were lost)\n" + text;
  n_lost_ = 0;
  if (::write(descriptor_, text.data(), text.size()) < 0) ++n_lost_;
}

}  // namespace pc::serve
