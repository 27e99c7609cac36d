// An answer that is late is ended, and its client told once; one that is over in time is left
// alone.
#include "tools/serve/answer/timed_sink.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

namespace pc::serve {
namespace {

struct Seen {
  int n_ends = 0;
  std::string failure;
};

class SeeingSink : public AnswerSink {
 public:
  explicit SeeingSink(Seen* seen) : seen_(seen) {}
  void begin(const Usage&) override {}
  void piece(const Piece&) override {}
  void finish(std::uint32_t, const Finish&) override {}
  void end(const Usage&) override { ++seen_->n_ends; }
  void fail(const ApiError& error) override { seen_->failure += error.openai().dump(); }
  bool is_wanted() const override { return true; }

 private:
  Seen* const seen_;
};

using Clock = TimedSink::Clock;

}  // namespace

TEST_CASE("an answer that is late is not wanted, and its client is told once") {
  Seen seen;
  TimedSink sink(std::make_unique<SeeingSink>(&seen), Clock::now());
  CHECK_FALSE(sink.is_wanted());
  sink.tell_if_late();
  sink.tell_if_late();
  CHECK(seen.failure.find("deadline_exceeded") != std::string::npos);
  CHECK(seen.failure.find("deadline_exceeded") == seen.failure.rfind("deadline_exceeded"));
}

TEST_CASE("an answer that was over in time is left alone") {
  Seen seen;
  TimedSink sink(std::make_unique<SeeingSink>(&seen), Clock::now());
  sink.end({});
  sink.tell_if_late();
  CHECK(seen.n_ends == 1);
  CHECK(seen.failure.empty());
  TimedSink timeless(std::make_unique<SeeingSink>(&seen), Clock::time_point::max());
  CHECK(timeless.is_wanted());
}

}  // namespace pc::serve
