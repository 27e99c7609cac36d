// An answer reaches its client in one of two ways, and an error as a status or as the last event;
// one that is late is ended, and its client told once.
#include "tools/serve/answer/delivery.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "tests/support/recorded_reply.h"

namespace pc::serve {
namespace {

// Writes the names of events.
class NamingWriter : public AnswerWriter {
 public:
  Protocol protocol() const override { return Protocol::kOpenAi; }
  std::string stream(const Event& event) override {
    return std::visit(Of{[](const Begun&) { return std::string("begun "); },
                         [](const Said& said) { return said.text + " "; },
                         [](const Ended&) { return std::string("ended"); },
                         [](const Failed&) { return std::string("failed"); },
                         [](const auto&) { return std::string(); }},
                      event);
  }
  std::string whole(const GatheredAnswers& answers) override {
    return answers.choices.front().text();
  }
};

struct Delivered {
  explicit Delivered(bool streams)
      : reply(std::make_shared<test::RecordedReply>()),
        delivery(reply, std::make_unique<NamingWriter>(), streams, 1) {}

  void answer() {
    for (const Event& event : {Event(Accepted{}), Event(Begun{}), Event(Said{0, "a", {}}),
                               Event(Said{0, "b", {}}), Event(ChoiceEnded{}), Event(Ended{})})
      delivery.take(event);
  }

  std::shared_ptr<test::RecordedReply> reply;
  Delivery delivery;
};

}  // namespace

TEST_CASE("an answer is streamed, or sent whole") {
  Delivered streamed(true), whole(false);
  streamed.delivery.take(Accepted{});
  CHECK(streamed.reply->has_begun);  // before anything is computed
  streamed.answer();
  CHECK(streamed.reply->stream == "begun a b ended");
  CHECK(streamed.reply->is_over);
  whole.answer();
  CHECK(whole.reply->whole.body == "ab");
  CHECK_FALSE(whole.reply->has_begun);
}

TEST_CASE("an error is a status before the stream's head, and an event behind it") {
  Delivered early(true), late(true), whole(false);
  const Failed failed{ApiError::bad_request("no", "prompt")};
  early.delivery.take(failed);
  CHECK(early.reply->whole.status == 400);
  late.delivery.take(Accepted{});
  late.delivery.take(failed);
  CHECK(late.reply->stream == "failed");
  CHECK(late.reply->is_over);
  whole.delivery.take(Accepted{});
  whole.delivery.take(failed);
  CHECK(whole.reply->whole.status == 400);
}

TEST_CASE("an answer that is late is not wanted, and its client is told once") {
  Delivered delivered(false);
  delivered.delivery.set_deadline(Delivery::Clock::now());
  CHECK_FALSE(delivered.delivery.is_wanted());
  delivered.delivery.tell_if_late();
  delivered.delivery.tell_if_late();
  CHECK(delivered.reply->n_sent == 1);
  CHECK(delivered.reply->whole.status == 504);
  CHECK(delivered.reply->whole.body.find("deadline_exceeded") != std::string::npos);
}

TEST_CASE("what an answer came to when its time was over is no answer, and one in time is") {
  Delivered cut(false), whole(false);
  cut.delivery.set_deadline(Delivery::Clock::now());
  for (const Event& event : {Event(Begun{}), Event(Said{0, "a", {}}), Event(Ended{})})
    cut.delivery.take(event);
  CHECK(cut.reply->whole.status == 504);
  whole.delivery.set_deadline(Delivery::Clock::now());
  whole.answer();
  whole.delivery.tell_if_late();
  CHECK(whole.reply->whole.status == 200);
  CHECK(whole.reply->n_sent == 1);
}

TEST_CASE("an answer whose reader has gone or does not read is not wanted") {
  Delivered gone(true), full(true);
  CHECK(gone.delivery.is_wanted());
  gone.reply->gone();
  CHECK_FALSE(gone.delivery.is_wanted());
  full.reply->n_queued = Delivery::kMostQueued;
  CHECK_FALSE(full.delivery.is_wanted());
}

}  // namespace pc::serve
