// A conversation in the terminal: its messages, the session that answers them, and its file.
//
// The session lives from turn to turn; where it cannot go on (a message brings modules, an answer
// was interrupted, a turn was taken back) the next one is opened with all messages, and finds in
// the store what was kept. Threads: one at a time.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <promptcache/promptcache.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/answers/answer.h"
#include "tools/opening/options.h"

namespace pc::cli {

class Conversation {
 public:
  using OnText = std::function<void(std::string_view)>;

  // Borrows all arguments. Continues the conversation in the file options.history, if there is one.
  Conversation(const promptcache::Engine& engine, const promptcache::Schema& schema,
               const Options& options);

  const std::vector<promptcache::Message>& messages() const { return messages_; }
  bool is_empty() const;  // nothing was said yet

  // Asks, and adds question and answer. An error leaves the conversation as it was; an answer that
  // Ctrl-C ended stays as far as it came, with finish PC_FINISH_CANCELLED.
  pc_session_stats ask(const promptcache::Message& question, const OnText& on_text);
  // Answers the last question, in the place of its answer if it has one. Precondition: !is_empty().
  pc_session_stats answer_again(const OnText& on_text);
  // Removes the last question and its answer. False: there are none.
  bool take_back();
  // Starts an empty conversation. Returns the name that the old one's file got, or "".
  std::string begin_anew();

  std::uint32_t position() const { return position_; }  // tokens that the model has read
  // How many of the oldest turns the model has not read, or has dropped (options.overflow).
  std::uint64_t dropped_turns() const { return left_out_ + dropped_turns_; }

 private:
  bool append(const promptcache::Message& question);
  void start();
  void open_session(const std::vector<promptcache::Message>& messages);
  void read(const std::vector<promptcache::Message>& messages);
  std::size_t exchanges_too_many(const std::vector<promptcache::Message>& messages) const;
  std::uint64_t tokens_of(const promptcache::Message& message) const;
  Answer read_answer(const OnText& on_text);
  void keep(const Answer& answer);
  // Reads ahead the other members of unions that the prompt imports a member of.
  void read_ahead();
  void save() const;

  const promptcache::Engine& engine_;
  const promptcache::Schema& schema_;
  const Options& options_;
  std::vector<const char*> stop_;
  std::vector<promptcache::Message> messages_;
  std::optional<promptcache::Session> session_;
  std::uint32_t answer_begin_ = 0, position_ = 0;
  std::uint64_t left_out_ = 0;                           // oldest turns that the prompt lacks
  std::uint64_t dropped_turns_ = 0;                      // oldest turns that the session dropped
  bool may_go_back_ = true;                              // the session, to before its answer
  std::shared_ptr<const promptcache::Prompt> was_read_;  // kept until read_ahead() is done with it
  std::future<void> ahead_;                              // read_ahead(), under way
};

}  // namespace pc::cli
