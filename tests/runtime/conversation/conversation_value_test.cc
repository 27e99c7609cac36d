// Conversations as values: what was said is known, copied, gone back over and let go of, and nobody
// has computed any of it.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "pml/turns/next_turns.h"
#include "runtime/conversation/conversation.h"
#include "runtime/conversation/next_text.h"
#include "tests/runtime/engine/apartment.h"

namespace pc::test {
namespace {

std::shared_ptr<const LoadedPrompt> prompt_of(Apartment& home, const std::string& text) {
  const std::vector<pml::Message> messages = {{pml::Role::kUser, {{text, "", {}}}}};
  return must(LoadedPrompt::of_messages(home.schema, messages));
}

// Whose prompt was read, so they say.
Conversation read(std::shared_ptr<const LoadedPrompt> prompt) {
  Conversation conversation(prompt);
  conversation.read_prompt(prompt->chain(false), 0, 0);
  return conversation;
}

// Draws and reads the tokens of this text; gives where they begin.
Position answer(Conversation* conversation, const std::string& text) {
  const Position begin = conversation->position();
  const auto encoded = must(conversation->engine().text_encoder().encode(
      std::vector<pml::TextSpan>{{text, false}}, false));
  for (const TokenId token : encoded.front()) {
    const pc_run run = conversation->begin_token(token);
    REQUIRE(run.n_tokens == 1);
    REQUIRE(run.position == conversation->position());
    conversation->end_token();
  }
  return begin;
}

// A user's turn behind an answer with this text, as the chat format writes it.
Appendix turn(const Conversation& conversation, const std::string& answer,
              const std::string& text) {
  const pml::ChatFormat& format = *conversation.prompt()->schema->text_encoder().chat;
  const std::vector<pml::ChatTurn> turns = {{pml::Role::kUser, text}};
  pml::NextTurns next =
      must(pml::next_turns(format, *conversation.open().chat, {answer, answer, true}, turns));
  REQUIRE(next.keeps_answer);
  const NextText tokens = must(encode_next(conversation.engine(), next));
  Appendix appendix = conversation.begin_appendix(true, -1, {});
  append_next(next, tokens, true, &appendix);
  appendix.cut->turn = next.chat.roles.size() - 1;
  appendix.open.chat = std::move(next.chat);
  appendix.open.n_opening = static_cast<std::uint32_t>(appendix.last.size());
  appendix.said = {pml::PromptNode(), pml::PromptNode()};
  return appendix;
}

void append(Conversation* conversation, const std::string& answer, const std::string& text) {
  Appendix appendix = turn(*conversation, answer, text);
  conversation->prepare(appendix);
  conversation->append(std::move(appendix), 0);
}

// All that it has read, in order of position.
Tokens tokens_of(const Conversation& conversation) {
  return conversation.chain().tokens(0, conversation.position());
}

struct Window : Apartment {
  Window() {
    context_tokens = 256;
    restart();
  }
};

TEST_CASE("a prompt is read, and then token after token") {
  Apartment home;
  const auto prompt = prompt_of(home, "Where does the ferry go?");
  const Conversation unread(prompt);
  CHECK_FALSE(unread.is_read());
  CHECK(unread.n_tokens() == 0);
  CHECK(unread.position() == prompt->plan.end);
  Conversation conversation = read(prompt);
  CHECK(conversation.is_read());
  CHECK(conversation.n_tokens() == prompt->plan.n_tokens());
  CHECK(conversation.chain().n_computed() == conversation.n_tokens());
  const Position begin = answer(&conversation, "To Lindby.");
  CHECK(begin == prompt->plan.end);
  CHECK(conversation.chain().n_computed() == conversation.n_tokens());
  // A token whose computing failed was not read.
  const Tokens before = tokens_of(conversation);
  const Position end = conversation.position();
  conversation.begin_token(7);
  conversation.take_back_token();
  CHECK(conversation.position() == end);
  CHECK(tokens_of(conversation) == before);
}

TEST_CASE("a copy goes its own way") {
  Apartment home;
  Conversation first = read(prompt_of(home, "Where does the ferry go?"));
  answer(&first, "To Lindby.");
  Conversation second = first;
  const Tokens before = tokens_of(first);
  append(&second, "To Lindby.", "And the tram?");
  answer(&second, "To Oslo.");
  CHECK(tokens_of(first) == before);
  CHECK(first.said().empty());
  CHECK(second.said().size() == 2);
  CHECK(second.open().chat->roles.size() == 3);
  const Tokens longer = tokens_of(second);
  REQUIRE(longer.size() > before.size());
  CHECK(std::equal(before.begin(), before.end(), longer.begin()));
}

TEST_CASE("an appendix that is not taken in changes nothing") {
  Apartment home;
  Conversation conversation = read(prompt_of(home, "Where does the ferry go?"));
  answer(&conversation, "To Lindby.");
  const Tokens before = tokens_of(conversation);
  Appendix appendix = turn(conversation, "To Lindby.", "And the tram?");
  conversation.prepare(appendix);
  CHECK(tokens_of(conversation) == before);
  CHECK(appendix.n_seen == before.size());
  CHECK(appendix.chain.n_tokens() == before.size() + appendix.tokens.size());
  CHECK(appendix.end == conversation.position() + static_cast<Position>(appendix.tokens.size()));
  std::vector<pc_run> runs;
  appendix.chain.add_missing(&runs);
  std::size_t n_missing = 0;
  for (const pc_run& run : runs) n_missing += run.n_tokens;
  CHECK(n_missing == appendix.tokens.size());
}

TEST_CASE("going back forgets what stands behind, and gives what was unsaid") {
  Apartment home;
  Conversation conversation = read(prompt_of(home, "Where does the ferry go?"));
  const Position begin = answer(&conversation, "To Lindby, at seven.");
  const Conversation first = conversation;
  append(&conversation, "To Lindby, at seven.", "And the tram?");
  const Position second = answer(&conversation, "To Oslo.");
  const Tokens all = tokens_of(conversation);
  for (const Position wrong :
       {Position{0}, begin - 1, first.position() + 1, second - 1, conversation.position() + 1})
    CHECK(conversation.back_to(wrong).error().code == Code::kInvalidArgument);
  for (const Position to : {begin, begin + 2, first.position()}) {
    Conversation back = conversation;
    Return left = must(back.back_to(to));
    CHECK(left.begin == begin);
    CHECK(left.kept.size() == static_cast<std::size_t>(to - begin));
    CHECK(left.unsaid == Tokens(all.begin() + to, all.end()));
    std::vector<pc_run> runs;
    left.chain.add_missing(&runs);
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].n_tokens == 1);
    CHECK(runs[0].position == to - 1);
    CHECK(tokens_of(back) == all);  // not yet
    back.go_back(std::move(left));
    CHECK(back.position() == to);
    CHECK(back.open().begin == begin);
    CHECK(back.open().chat->roles.size() == 1);
    CHECK(back.said().empty());
    CHECK(tokens_of(back) == Tokens(all.begin(), all.begin() + to));
  }
}

TEST_CASE("a window lets go of whole turns, the oldest first") {
  Window home;
  Conversation conversation = read(prompt_of(home, "Where does the ferry go?"));
  std::vector<Position> says = {};  // where turns that were appended say something
  std::string said = "To Lindby.";
  answer(&conversation, said);
  while (conversation.position() < 200) {
    Appendix appendix = turn(conversation, said, "And of number " + std::to_string(says.size()));
    says.push_back(appendix.cut->position);
    conversation.prepare(appendix);
    conversation.append(std::move(appendix), 0);
    answer(&conversation, said);
  }
  const Position end = conversation.position();
  CHECK_FALSE(conversation.wants_slide(end, static_cast<std::uint64_t>(256 - end)));
  REQUIRE(conversation.wants_slide(end, 100));
  CHECK(must(conversation.choose_slide({}, {end, 10, 0})).gone.n_tokens() == 0);
  const Slide slide = must(conversation.choose_slide({}, {end, 100, 0}));
  REQUIRE(slide.n_cuts > 0);
  // From where the prompt's turn says something to where a later one does; no more than is wanted.
  const Position from = says[slide.n_cuts - 1] - slide.gone.n_tokens();
  CHECK(slide.gone.has(from));
  CHECK_FALSE(slide.gone.has(from - 1));
  CHECK_FALSE(slide.gone.has(says[slide.n_cuts - 1]));
  CHECK(end + 100 - slide.gone.n_tokens() <= 192);
  if (slide.n_cuts > 1) CHECK(end + 100 - (says[slide.n_cuts - 2] - from) > 192);
  // It goes on amid its answer.
  const std::size_t n_turns = conversation.open().chat->roles.size();
  conversation.slide(slide, conversation.chain(), 0);
  CHECK(conversation.has_slid());
  CHECK(conversation.position() == end - slide.gone.n_tokens());
  CHECK(conversation.dropped().dropped_tokens == static_cast<std::uint64_t>(slide.gone.n_tokens()));
  CHECK(conversation.dropped().dropped_turns == 2 * slide.n_cuts);
  CHECK(conversation.open().chat->roles.size() == n_turns - 2 * slide.n_cuts);
  // Nothing goes back before it.
  CHECK_FALSE(conversation.back_to(conversation.position()).ok());
}

TEST_CASE("turns that were gone back over are none that a window lets go of") {
  Window home;
  Conversation conversation = read(prompt_of(home, "Where does the ferry go?"));
  answer(&conversation, "To Lindby.");
  const Position first = conversation.position();
  Conversation straight = conversation;
  append(&conversation, "To Lindby.", "And the tram, of which nobody here knows where it goes?");
  answer(&conversation, "To Oslo.");
  conversation.go_back(must(conversation.back_to(first)));
  for (Conversation* c : {&conversation, &straight})
    while (c->position() < 220) {
      append(c, "To Lindby.", "And then?");
      answer(c, "To Lindby.");
    }
  const Position end = straight.position();
  REQUIRE(conversation.position() == end);
  for (const std::uint64_t n_more : {64u, 100u, 150u, 200u}) {
    const Slide want = must(straight.choose_slide({}, {end, n_more, 0})),
                got = must(conversation.choose_slide({}, {end, n_more, 0}));
    CHECK(got.n_cuts == want.n_cuts);
    for (Position at = 0; at < end; ++at) REQUIRE(got.gone.has(at) == want.gone.has(at));
  }
}

TEST_CASE("for another engine a conversation is one text, with its modules' tokens in it") {
  Apartment home;
  const auto prompt = must(LoadedPrompt::parse(
      home.schema, "<prompt schema='s'><doc/><user>What does it cost?</user></prompt>"));
  Conversation conversation(prompt);
  std::uint64_t n_module_tokens = 0;
  for (const pml::PlanRun& run : prompt->plan.runs)
    if (run.kind == pml::RunKind::kCached) n_module_tokens += run.tokens.size();
  REQUIRE(n_module_tokens > 0);
  // Nobody has read it: there is nothing to be carried over.
  CHECK_FALSE(must(conversation.on(prompt)).is_read());
  conversation.read_prompt(prompt->chain(true), n_module_tokens, 1);
  answer(&conversation, "Four euros.");
  const Conversation moved = must(conversation.on(prompt));
  CHECK(moved.position() == conversation.position());
  CHECK(moved.n_tokens() == conversation.n_tokens());
  CHECK(moved.chain().n_tokens() == moved.n_tokens());
  CHECK(moved.chain().n_computed() == 0);
  CHECK(moved.open().read.n_module_tokens == 0);
  CHECK(moved.open().read.n_attached == 0);
  Tokens all;
  for (const pml::PlanRun& run : prompt->plan.runs)
    all.insert(all.end(), run.tokens.begin(), run.tokens.end());
  const Tokens got = tokens_of(moved);
  REQUIRE(got.size() > all.size());
  CHECK(std::equal(all.begin(), all.end(), got.begin()));
  // Nobody has these modules attached as it saw them: none of it is kept, nor what follows.
  for (const Chain::Link& link : moved.chain().links()) CHECK_FALSE(link.may_be_stored);
  Conversation later = moved;
  later.read(moved.chain());
  answer(&later, "And more.");
  CHECK_FALSE(later.chain().links().back().may_be_stored);
}

}  // namespace
}  // namespace pc::test
