#include "tools/serve/answer/answer_reader.h"

#include <utility>

#include "tools/serve/request/names.h"

namespace pc::serve {

void AnswerReader::push(std::string_view text, std::vector<DrawnToken> tokens, EventSink* sink) {
  tokens_ = std::move(tokens);
  pass_on(thoughts_.push(text), false, sink);
  if (!tokens_.empty()) sink->take(Said{choice_, {}, take_tokens()});
}

void AnswerReader::pass_on(const ThoughtPiece& piece, bool is_over, EventSink* sink) {
  if (!piece.thought.empty()) sink->take(Thought{choice_, piece.thought, take_tokens()});
  if (!calls_) {
    if (!piece.said.empty()) sink->take(Said{choice_, piece.said, take_tokens()});
    return;
  }
  pass_on(calls_->push(piece.said), sink);
  if (is_over) pass_on(calls_->finish(), sink);
}

void AnswerReader::pass_on(std::vector<CallPiece> pieces, EventSink* sink) {
  for (CallPiece& piece : pieces) {
    switch (piece.kind) {
      case CallPiece::Kind::kText:
        sink->take(Said{choice_, std::move(piece.text), take_tokens()});
        break;
      case CallPiece::Kind::kName:
        sink->take(CallBegun{choice_, n_calls_++, new_call_name(), std::move(piece.text)});
        break;
      case CallPiece::Kind::kArguments:
        sink->take(CallSaid{choice_, n_calls_ - 1, std::move(piece.text)});
        break;
      case CallPiece::Kind::kEnd:
        break;
    }
  }
}

void AnswerReader::finish(pc_finish how, std::string stop, Finish::Counts counts, EventSink* sink) {
  const bool cuts_call = calls_ && calls_->is_within_call();
  pass_on(thoughts_.finish(), true, sink);
  sink->take(ChoiceEnded{choice_, {how, std::move(stop), n_calls_, cuts_call, counts}});
}

}  // namespace pc::serve
