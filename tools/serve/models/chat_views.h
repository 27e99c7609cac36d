// A conversation as the library takes it (pc_chat_write), with nothing of its texts copied.
//
// Borrows the conversation's texts; owner of what is JSON for the library, too: tools, variables,
// a message's other fields. Threads: thread-compatible.
#pragma once

#include <deque>
#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "tools/serve/request/question.h"

namespace pc::serve {

class ChatViews {
 public:
  // chat: as with_modules() makes it. Throws ApiError where it is no conversation.
  explicit ChatViews(const Json& chat);
  ChatViews(const ChatViews&) = delete;
  ChatViews& operator=(const ChatViews&) = delete;

  // repair: of its modules; "": none. continues: its last message is gone on with.
  promptcache::Chat write(const promptcache::Engine& engine, const std::string& repair,
                          bool continues) const;

 private:
  void add(const Json& message, const std::string& path);
  void add_content(const Json& content, const std::string& path, pc_chat_message* message);
  const std::string& kept(std::string text);

  const Json chat_;
  std::deque<std::string> texts_;
  std::deque<std::vector<pc_chat_part>> parts_;
  std::vector<pc_chat_message> messages_;
  std::vector<pc_chat_tool> tools_;
  std::string variables_;
};

}  // namespace pc::serve
