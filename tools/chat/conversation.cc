#include "tools/chat/conversation.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "tools/chat/chat_file.h"
#include "tools/opening/window_fit.h"
#include "tools/output/interrupt.h"

namespace pc::cli {
namespace {

bool is_text(const promptcache::Message& message) {
  return message.parts.empty();
}

bool is_question(const promptcache::Message& message) {
  return message.role == "user";
}

// Up to the next question. How many go; none where no other question is behind it.
std::size_t drop_exchange(std::vector<promptcache::Message>* messages) {
  const auto first = std::ranges::find_if(*messages, is_question);
  const auto next =
      first == messages->end() ? first : std::find_if(first + 1, messages->end(), is_question);
  if (next == messages->end()) return 0;
  const auto n = static_cast<std::size_t>(next - first);
  messages->erase(first, next);
  return n;
}

}  // namespace

Conversation::Conversation(const promptcache::Engine& engine, const promptcache::Schema& schema,
                           const Options& options)
    : engine_(engine), schema_(schema), options_(options) {
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
  left_out_ = dropped_turns_ = 0;
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
  if (session_ && may_go_back_) {
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

// Without the oldest turns, where the window may slide and they do not fit.
void Conversation::open_session(const std::vector<promptcache::Message>& messages) {
  std::vector<promptcache::Message> left = messages;
  left_out_ = 0;
  for (bool is_first = true;; is_first = false) try {
      return read(left);
    } catch (const promptcache::Error& error) {
      if (error.status() != PC_CONTEXT_FULL || options_.overflow != "slide") throw;
      std::size_t n_dropped = 0;
      for (std::size_t n = is_first ? std::max<std::size_t>(1, exchanges_too_many(left)) : 1; n > 0;
           --n)
        n_dropped += drop_exchange(&left);
      if (n_dropped == 0) throw;
      left_out_ += n_dropped;
    }
}

std::size_t Conversation::exchanges_too_many(
    const std::vector<promptcache::Message>& messages) const {
  std::uint64_t n_fixed = 0;
  std::vector<std::uint64_t> exchanges;
  for (const promptcache::Message& message : messages) {
    if (is_question(message)) exchanges.push_back(0);
    (exchanges.empty() ? n_fixed : exchanges.back()) += tokens_of(message);
  }
  return exchanges_that_go(exchanges, n_fixed, engine_.facts().context_tokens);
}

// What the template writes around it is a few.
std::uint64_t Conversation::tokens_of(const promptcache::Message& message) const {
  constexpr std::uint64_t kAround = 8;
  std::uint64_t n = kAround + engine_.tokenize(message.content).size();
  for (const promptcache::Part& part : message.parts) n += engine_.tokenize(part.text).size();
  return n;
}

void Conversation::read(const std::vector<promptcache::Message>& messages) {
  session_.reset();
  const auto prompt = std::make_shared<const promptcache::Prompt>(schema_, messages);
  promptcache::Session session(*prompt, session_options(options_, true, stop_));
  {
    const Interruptible interruptible(session.get());
    session.prefill();
  }
  session_.emplace(std::move(session));
  was_read_ = prompt;
}

// To its end, or to Ctrl-C.
Answer Conversation::read_answer(const OnText& on_text) {
  Answer answer;
  const std::uint64_t dropped_tokens = session_->stats().dropped_tokens;
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
  dropped_turns_ = answer.stats.dropped_turns;
  may_go_back_ = answer.stats.dropped_tokens == dropped_tokens;  // its window did not slide in it
  if (stopped) session_.reset();  // the cancellation may be the next call's
  return answer;
}

// A conversation with a file is there the next time, and so are its states.
void Conversation::keep(const Answer& answer) {
  if (answer.stats.finish == PC_FINISH_CANCELLED) session_.reset();
  read_ahead();
  save();
  if (options_.history.empty() || !session_ || options_.no_cache || options_.read_only_cache)
    return;
  try {
    session_->keep();
  } catch (const promptcache::Error&) {
    // The store is full or cannot be written: the next start computes what it lacks.
  }
}

// While the next question is thought of.
void Conversation::read_ahead() {
  if (!was_read_) return;
  try {
    ahead_ = std::async(std::launch::async, [prompt = std::exchange(was_read_, nullptr)] {
      try {
        prompt->prefetch();
      } catch (const promptcache::Error&) {
        // What it could not read is read when it is asked for.
      }
    });
  } catch (const std::system_error&) {
    // Nor where there is no thread for it.
  }
}

void Conversation::save() const {
  if (!options_.history.empty()) write_chat(options_.history, messages_);
}

}  // namespace pc::cli
