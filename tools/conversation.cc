#include "tools/conversation.h"

#include <utility>

#include "tools/chat_file.h"
#include "tools/interrupt.h"

namespace pc::cli {
namespace {

bool is_text(const promptcache::Message& message) {
  return message.parts.empty();
}

}  // namespace

Conversation::Conversation(const promptcache::Schema& schema, const Options& options)
    : schema_(schema), options_(options) {
  for (const std::string& s : options.stop) stop_.push_back(s.c_str());
  if (!options.history.empty()) messages_ = read_chat(options.history);
  if (messages_.empty()) start();
  save();  // where that fails, it fails before anything is said
}

bool Conversation::is_empty() const {
  return messages_.empty() || (messages_.size() == 1 && messages_[0].role == "system");
}

std::string Conversation::begin_anew() {
  std::string aside;
  if (!options_.history.empty() && !is_empty()) aside = set_chat_aside(options_.history);
  start();
  save();
  return aside;
}

void Conversation::start() {
  session_.reset();
  position_ = 0;
  messages_.clear();
  if (!options_.system.empty()) messages_.push_back({"system", options_.system});
}

pc_session_stats Conversation::ask(const promptcache::Message& question, const OnText& on_text) {
  std::vector<promptcache::Message> all = messages_;
  all.push_back(question);
  if (!session_ || !is_text(question) || !append(question)) open_session(all);
  answer_begin_ = session_->position();
  const Answer answer = read_answer(on_text);
  all.push_back({"assistant", answer.text});
  messages_ = std::move(all);
  keep(answer);
  return answer.stats;
}

pc_session_stats Conversation::answer_again(const OnText& on_text) {
  std::vector<promptcache::Message> all = messages_;
  if (all.back().role == "assistant") all.pop_back();
  if (session_) {
    session_->rewind(answer_begin_);
  } else {
    open_session(all);
    answer_begin_ = session_->position();
  }
  const Answer answer = read_answer(on_text);
  all.push_back({"assistant", answer.text});
  messages_ = std::move(all);
  keep(answer);
  return answer.stats;
}

bool Conversation::take_back() {
  if (is_empty()) return false;
  session_.reset();
  position_ = 0;
  messages_.pop_back();
  if (!messages_.empty() && messages_.back().role == "user") messages_.pop_back();
  save();
  return true;
}

// False where the format writes what was said otherwise now: all of it is to be read again.
bool Conversation::append(const promptcache::Message& question) try {
  const Interruptible interruptible(session_->get());
  session_->append({question});
  return true;
} catch (const promptcache::Error& error) {
  if (error.status() == PC_UNSUPPORTED) return false;
  throw;
}

void Conversation::open_session(const std::vector<promptcache::Message>& messages) {
  session_.reset();
  const promptcache::Prompt prompt(schema_, messages);
  promptcache::Session session(prompt, session_options(options_, true, stop_));
  {
    const Interruptible interruptible(session.get());
    session.prefill();
  }
  session_.emplace(std::move(session));
}

// To its end, or to Ctrl-C.
Answer Conversation::read_answer(const OnText& on_text) {
  Answer answer;
  bool stopped = false;  // perhaps behind the last token
  try {
    const Interruptible interruptible(session_->get());
    session_->generate([&](const pc_token& token) {
      const std::string_view text(token.text, token.text_bytes);
      answer.text += text;
      if (!text.empty()) on_text(text);
    });
    stopped = interruptible.requested();
  } catch (const promptcache::Error& error) {
    if (error.status() != PC_CANCELLED) {
      session_.reset();
      throw;
    }
  }
  answer.stats = session_->stats();
  position_ = session_->position();
  if (stopped) session_.reset();  // the cancellation may be the next call's
  return answer;
}

// A conversation with a file is there the next time, and so are its states.
void Conversation::keep(const Answer& answer) {
  if (answer.stats.finish == PC_FINISH_CANCELLED) session_.reset();
  save();
  if (options_.history.empty() || !session_ || options_.no_cache || options_.read_only_cache)
    return;
  try {
    session_->keep();
  } catch (const promptcache::Error&) {
    // The store is full or cannot be written: the next start computes what it lacks.
  }
}

void Conversation::save() const {
  if (!options_.history.empty()) write_chat(options_.history, messages_);
}

}  // namespace pc::cli
