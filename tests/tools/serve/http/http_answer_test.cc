#include "tools/serve/http/http_answer.h"

#include <catch2/catch.hpp>
#include <string>

namespace pc::serve {
namespace {

struct Wired {
  explicit Wired(AnswerQueue::Request request = {false, false, true, {}})
      : queue(std::make_shared<AnswerQueue>(request, [this] { ++n_woken; })) {}

  std::string all() {
    std::string bytes = queue->take();
    queue->taken();
    return bytes;
  }
  std::string body() {
    const std::string bytes = all();
    return bytes.substr(bytes.find("\r\n\r\n") + 4);
  }

  int n_woken = 0;
  std::shared_ptr<AnswerQueue> queue;
};

HttpResponse text(const std::string& body) {
  HttpResponse response;
  response.body = body;
  return response;
}

TEST_CASE("a whole answer is one, and what comes behind it is nothing") {
  Wired wired;
  QueuedReply reply(wired.queue);
  reply.send(text("one"));
  reply.send(text("two"));
  reply.write("three");
  CHECK(wired.body() == "one");
  CHECK(wired.queue->is_over());
  CHECK(wired.queue->keeps_alive());
  CHECK(wired.n_woken == 1);
}

TEST_CASE("a stream comes in chunks, and to an old client as it is") {
  for (const bool is_old : {false, true}) {
    Wired wired({is_old, false, true, {}});
    QueuedReply reply(wired.queue);
    reply.begin({});
    reply.write("ab");
    reply.write("");
    CHECK_FALSE(wired.queue->is_over());
    CHECK(wired.body() == (is_old ? "ab" : "2\r\nab\r\n"));
    reply.end();
    CHECK(wired.all() == (is_old ? "" : "0\r\n\r\n"));
    CHECK(wired.queue->is_over());
    CHECK(wired.queue->keeps_alive() == !is_old);
  }
}

TEST_CASE("a heartbeat is a piece of a stream that has one, between its beginning and its end") {
  for (const bool is_old : {false, true}) {
    Wired wired({is_old, false, true, {}});
    QueuedReply reply(wired.queue);
    wired.queue->beat();
    CHECK(wired.all().empty());
    HttpResponse head;
    head.heartbeat = ": \n\n";
    reply.begin(std::move(head));
    CHECK(wired.body().empty());
    wired.queue->beat();
    CHECK(wired.all() == (is_old ? ": \n\n" : "4\r\n: \n\n\r\n"));
    reply.end();
    wired.queue->beat();
    CHECK(wired.all() == (is_old ? "" : "0\r\n\r\n"));
  }
  Wired plain, of_head({false, true, true, {}});
  HttpResponse head;
  head.heartbeat = ": \n\n";
  plain.queue->begin({});
  of_head.queue->begin(std::move(head));
  for (Wired* wired : {&plain, &of_head}) {
    CHECK(wired->body().empty());
    wired->queue->beat();
    CHECK(wired->all().empty());
  }
}

TEST_CASE("who lets go without an answer has failed, and a stream that is cut off has no end") {
  Wired silent;
  QueuedReply(silent.queue);
  CHECK(silent.all().starts_with("HTTP/1.1 500 "));
  Wired cut;
  {
    QueuedReply reply(cut.queue);
    reply.begin({});
    reply.write("ab");
  }
  CHECK(cut.body() == "2\r\nab\r\n");
  CHECK(cut.queue->is_over());
  CHECK_FALSE(cut.queue->keeps_alive());
}

TEST_CASE("who has left is told of once, and gets nothing") {
  Wired wired;
  QueuedReply reply(wired.queue);
  int n_gone = 0;
  reply.on_gone([&] { ++n_gone; });
  reply.begin({});
  wired.queue->leave();
  wired.queue->leave();
  CHECK(n_gone == 1);
  reply.write("ab");
  CHECK(reply.queued_bytes() == 0);
  QueuedReply late(wired.queue);
  late.on_gone([&] { ++n_gone; });
  CHECK(n_gone == 2);
}

TEST_CASE("what is under way counts until it was sent") {
  Wired wired;
  QueuedReply reply(wired.queue);
  reply.begin({});
  reply.write(std::string(100, 'x'));
  const std::size_t n = reply.queued_bytes();
  CHECK(n > 100);
  CHECK(wired.queue->take().size() == n);
  CHECK(reply.queued_bytes() == n);
  wired.queue->taken();
  CHECK(reply.queued_bytes() == 0);
}

TEST_CASE("the answer to HEAD has no body and says how long it would be") {
  Wired wired({false, true, true, {{"a", "b"}}});
  QueuedReply(wired.queue).send(text("12345"));
  const std::string bytes = wired.all();
  CHECK(bytes.find("content-length: 5\r\n") != std::string::npos);
  CHECK(bytes.find("a: b\r\n") != std::string::npos);
  CHECK(bytes.ends_with("\r\n\r\n"));
}

}  // namespace
}  // namespace pc::serve
