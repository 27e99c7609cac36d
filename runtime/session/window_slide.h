// A conversation without some of its tokens: what stood behind them moves up to where they stood,
// with the states that it has (docs/adr/0041-chats-without-an-end.md).
//
// States of what stays have seen what goes, so what comes of it is approximate. Keys are rotated to
// their new distances when they are read, as those of modules are ("Prompt Cache", section 3.4;
// "Efficient Streaming Language Models with Attention Sinks", section 3.2, does so with a cache).
// What the conversation computed itself is copied into modules in memory, which belong to the new
// timeline; modules and links of files are attached where they lie. Pure but for that. Threads:
// any.
#pragma once

#include "base/status.h"
#include "runtime/backend/backend_handle.h"
#include "runtime/conversation/gone.h"
#include "runtime/prompt/chain.h"

namespace pc {

// A conversation before the slide. All of its chain is computed or attached. Borrowed.
struct Conversed {
  const BackendModel& backend;
  const ModuleIdentity& identity;  // of its schema
  const BackendTimeline& timeline;
  const Chain& chain;
};

struct Slid {
  BackendTimeline timeline;  // has everything attached, nothing of its own
  Chain chain;               // links whose states are in memory (append_held), and modules
};

// The conversation without the positions of `gone`, and without all from `end` on. Errors:
// kUnsupported where tokens of modules were computed anew, since links of those have gaps; the
// backend's, kOutOfMemory.
Result<Slid> slide_window(const Conversed& conversed, const Gone& gone, Position end);

}  // namespace pc
