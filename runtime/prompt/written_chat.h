// A whole conversation (runtime/chat/whole/chat_request.h) in the text that the model's own
// template writes, or a named chat format does, and the prompts that can be made of it.
//
// Parts and tools that are to be modules become modules of a schema of their own, called "chat",
// which see the text that all of them stand behind (attend="prefix"); all other text is the
// prompt's, and found as a chain. To write a conversation takes longer than to make a prompt of it,
// so that who compares prompts writes it once.
//
// Immutable; keeps the engine alive. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "pml/syntax/repair.h"
#include "pml/syntax/schema.h"
#include "runtime/chat/whole/chat_request.h"
#include "runtime/chat/whole/chat_text.h"
#include "runtime/engine/engine.h"
#include "runtime/prompt/loaded_prompt.h"

namespace pc {

// Which parts and tools of a conversation are modules of its prompt, of those that are to be.
enum class ChatModules {
  kAll,    // and see all text that stands before the first of them
  kApart,  // and see of that text what the format writes before anything that was said, so that
           // they are found behind any system's text
  kNone,
};

class WrittenChat {
 public:
  // name_space: as LoadedSchema::parse.
  // Errors: those of the template; kInvalidArgument: no such repair; kUnsupported: the model has no
  // chat format, or a named one is to write tools.
  static Result<std::shared_ptr<const WrittenChat>> write(std::shared_ptr<const Engine> engine,
                                                          const ChatRequest& chat,
                                                          std::optional<std::string> name_space);

  std::string text() const { return text_.text(); }
  // in_slots: modules are encoded behind documents of earlier conversations that stand in for those
  // that they have not seen (runtime/schema/chat_stand_ins.h), where there are some yet and the
  // model can; and they become such documents. Where all modules are tools, tools that nobody has
  // stand in (stand_in_tools.h).
  Result<std::shared_ptr<const LoadedPrompt>> prompt(ChatModules modules,
                                                     bool in_slots = false) const;

 private:
  WrittenChat() = default;
  std::size_t room_left(std::size_t wanted) const;  // in tokens
  std::vector<std::string> known_stand_ins() const;
  std::vector<std::string> stand_ins_for(const pml::Schema& schema) const;

  std::shared_ptr<const Engine> engine_;
  std::optional<std::string> name_space_;
  ChatText text_;        // as the template writes it
  std::size_t bos_ = 0;  // bytes of it that spell the BOS in front, which every prompt has anyway
  bool ends_in_answer_ = false;  // which has a text by now
  bool has_tools_alone_ = false;
  pml::Repair repair_;
  std::uint64_t write_us_ = 0;
};

}  // namespace pc
