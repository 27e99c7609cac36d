#include "tools/serve/answer/answer_reader.h"

#include <utility>

#include "tools/serve/request/names.h"

namespace pc::serve {

void AnswerReader::push(std::string_view text, std::vector<DrawnToken> tokens, EventSink* sink) {
  tokens_ = std::move(tokens);
  if (channels_)
    pass_on(channels_->push(text), sink);
  else
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

void AnswerReader::pass_on(const std::vector<pc_answer_piece>& pieces, EventSink* sink) {
  for (const pc_answer_piece& piece : pieces) {
    std::string text(piece.text, piece.bytes);
    switch (piece.kind) {
      case PC_ANSWER_TEXT:
        sink->take(Said{choice_, std::move(text), take_tokens()});
        break;
      case PC_ANSWER_CALL:
        begin_call(std::move(text), sink);
        break;
      case PC_ANSWER_ARGUMENTS:
        sink->take(CallSaid{choice_, n_calls_ - 1, std::move(text)});
        break;
      case PC_ANSWER_CALL_END:
        is_within_call_ = false;
        break;
    }
  }
}

void AnswerReader::pass_on(const std::vector<ChannelPiece>& pieces, EventSink* sink) {
  for (const auto& [kind, text] : pieces) {
    switch (kind) {
      case ChannelPiece::Kind::kThought:
        sink->take(Thought{choice_, text, take_tokens()});
        break;
      case ChannelPiece::Kind::kText:
        sink->take(Said{choice_, text, take_tokens()});
        break;
      case ChannelPiece::Kind::kCall:
        begin_call(text, sink);
        break;
      case ChannelPiece::Kind::kArguments:
        sink->take(CallSaid{choice_, n_calls_ - 1, text});
        break;
      case ChannelPiece::Kind::kCallEnd:
        is_within_call_ = false;
        break;
    }
  }
}

void AnswerReader::begin_call(std::string name, EventSink* sink) {
  is_within_call_ = true;
  sink->take(CallBegun{choice_, n_calls_++, new_call_name(), std::move(name)});
}

void AnswerReader::finish(pc_finish how, std::string stop, Finish::Counts counts, EventSink* sink) {
  bool cuts_call = is_within_call_;
  if (channels_) {
    pass_on(channels_->finish(how == PC_FINISH_EOS), sink);
    cuts_call = is_within_call_;
  } else {
    pass_on(thoughts_.finish(), true, sink);
  }
  sink->take(ChoiceEnded{choice_, {how, std::move(stop), n_calls_, cuts_call, counts}});
}

}  // namespace pc::serve
