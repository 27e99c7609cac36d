// Answers in channels: what is thought, said and called, however the text is cut into pieces.

#include "tools/serve/answer/channel_stream.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace pc::serve {
namespace {

// "thought{...} text{...} call{...} arguments{...} end"
std::string shown(const std::vector<ChannelPiece>& pieces) {
  constexpr const char* kNames[] = {"thought", "text", "call", "arguments", "end"};
  std::string out;
  const ChannelPiece* last = nullptr;
  for (const ChannelPiece& piece : pieces) {
    if (last && last->kind == piece.kind) {
      out.insert(out.size() - 1, piece.text);
    } else {
      out += (out.empty() ? "" : " ") + std::string(kNames[static_cast<int>(piece.kind)]);
      if (piece.kind != ChannelPiece::Kind::kCallEnd) out += "{" + piece.text + "}";
    }
    last = &piece;
  }
  return out;
}

std::string read(const std::string& text, bool reads_calls = true, bool ends_turn = false) {
  ChannelStream stream(reads_calls);
  std::vector<ChannelPiece> pieces = stream.push(text);
  for (const ChannelPiece& piece : stream.finish(ends_turn)) pieces.push_back(piece);
  return shown(pieces);
}

const std::string kThought = "<|channel|>analysis<|message|>They ask for rain.<|end|>";
const std::string kCall =
    "<|start|>assistant<|channel|>commentary to=functions.rain "
    "<|constrain|>json<|message|>{\"town\": \"Oslo\"}<|call|>";

}  // namespace

TEST_CASE("messages are thought, said and called by their headers") {
  CHECK(read(kThought + "<|start|>assistant<|channel|>final<|message|>It rains.<|return|>") ==
        "thought{They ask for rain.} text{It rains.}");
  CHECK(read("<|channel|>final<|message|>It rains.") == "text{It rains.}");
  CHECK(read(kThought + kCall) ==
        "thought{They ask for rain.} call{rain} arguments{{\"town\": \"Oslo\"}} end");
  // As the template writes calls, the recipient stands in front of the channel.
  CHECK(read(" to=functions.rain<|channel|>commentary json<|message|>{}<|call|>") ==
        "call{rain} arguments{{}} end");
  CHECK(read("<|channel|>commentary<|message|>I look.<|end|>" + kCall) ==
        "text{I look.} call{rain} arguments{{\"town\": \"Oslo\"}} end");
  CHECK(read("<|channel|>analysis to=python code<|message|>1 + 1<|call|>") ==
        "call{python} arguments{1 + 1} end");
}

TEST_CASE("a call that ends as turns do is whole, and one that is cut off is not") {
  const std::string call = "<|channel|>commentary to=functions.f json<|message|>{}";
  CHECK(read(call, true, true) == "call{f} arguments{{}} end");
  CHECK(read(call, true, false) == "call{f} arguments{{}}");
  CHECK(read(call + "<|call|>", true, true) == "call{f} arguments{{}} end");
  CHECK(read("<|channel|>final<|message|>Yes", true, true) == "text{Yes}");
}

TEST_CASE("without tools nothing is a call") {
  CHECK(read(kThought + kCall, false) == "thought{They ask for rain.} text{{\"town\": \"Oslo\"}}");
}

TEST_CASE("what is cut off, or in no channel, is what is there of it") {
  CHECK(read("Just text <|not a token") == "text{Just text <|not a token}");
  CHECK(read("to= nobody") == "");
  CHECK(read("<|chan") == "text{<|chan}");
  CHECK(read("<|channel|>analysis<|message|>Hm <|en") == "thought{Hm <|en}");
  CHECK(read(kThought + "<|start|>assist") == "thought{They ask for rain.}");
  CHECK(read("<|channel|>commentary to=functions.f<|message|>{\"a\": 1") ==
        "call{f} arguments{{\"a\": 1}");
  CHECK(read("<|channel|>analysis<|message|>Hm<|start|>assistant<|channel|>final<|message|>Ja") ==
        "thought{Hm} text{Ja}");
  CHECK(read("") == "");
}

TEST_CASE("pieces make no difference") {
  test::Random random(GENERATE(range(1, 40)));
  const std::string text =
      kThought + "<|start|>assistant<|channel|>commentary<|message|>I <look|>.<|end|>" + kCall;
  ChannelStream stream(true);
  std::vector<ChannelPiece> pieces;
  bool thought = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = random.between(1, 9);
    for (const ChannelPiece& piece : stream.push(text.substr(at, n))) pieces.push_back(piece);
    thought = thought || stream.is_thinking();
    at += n;
  }
  CHECK(thought);
  CHECK_FALSE(stream.is_thinking());
  for (const ChannelPiece& piece : stream.finish(false)) pieces.push_back(piece);
  CHECK(shown(pieces) == read(text));
}

TEST_CASE("a template that writes thoughts in a channel is known by it") {
  CHECK(is_in_channels({"<|channel|>analysis<|message|>",
                        "<|end|><|start|>assistant<|channel|>final<|message|>", "thinking"}));
  CHECK_FALSE(is_in_channels({"<think>", "</think>", "reasoning_content"}));
}

}  // namespace pc::serve
