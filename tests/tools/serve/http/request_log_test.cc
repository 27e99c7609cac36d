#include "tools/serve/http/request_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

namespace pc::serve {
namespace {

using namespace std::chrono_literals;

const std::chrono::system_clock::time_point kNow{1'795'665'906'789ms};

RequestLine line() {
  RequestLine line;
  line.from = "loopback";
  line.method = "POST";
  line.path = "/v1/chat/completions";
  line.status = 200;
  line.time = 81.25ms;
  return line;
}

struct Pipe {
  Pipe() { REQUIRE(::pipe2(ends.data(), O_NONBLOCK) == 0); }
  ~Pipe() {
    for (const int end : ends) ::close(end);
  }
  std::string read() {
    std::string text(std::size_t{1} << 20, '\0');
    const ssize_t n = ::read(ends[0], text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  std::array<int, 2> ends{};
};

TEST_CASE("a line says when, whence, what and how") {
  RequestLine whole = line();
  CHECK(text_of(whole, kNow)
            .starts_with("2026-11-26T04:05:06.789Z loopback POST /v1/chat/completions 200 81."));
  const auto notes = std::make_shared<RequestNotes>();
  notes->set_model("city-guide");
  notes->set_tokens({53, 1, 24});
  whole.notes = notes;
  CHECK(text_of(whole, kNow).ends_with("ms model=city-guide prompt=53 cached=1 generated=24"));
  whole.is_whole = false;
  CHECK(text_of(whole, kNow).ends_with(" gone"));
}

TEST_CASE("an error has its sentence, and what was no request no path") {
  RequestLine bad = line();
  bad.method = bad.path = "";
  bad.status = 400;
  bad.answer = R"({"error": {"message": "top_p must be a number"}})";
  CHECK(text_of(bad, kNow).find(" - - 400 ") != std::string::npos);
  CHECK(text_of(bad, kNow).ends_with(" error: top_p must be a number"));
  bad.answer = "no JSON";
  CHECK(text_of(bad, kNow).find("error") == std::string::npos);
}

TEST_CASE("a line is one line, of bounded length, whatever a client sends") {
  RequestLine odd = line();
  odd.method = std::string(100, 'M');
  odd.path = "/a\nb\x1b[31m\xC3\xB6" + std::string(5000, 'x');
  odd.status = 400;
  odd.answer = R"({"error": {"message": "a\nb"}})";
  const std::string text = text_of(odd, kNow);
  CHECK(text.size() < 1000);
  for (const char c : text) CHECK((c >= ' ' && c <= '~'));
}

TEST_CASE("what is quoted is left out, and a field's name is not") {
  CHECK(without_contents("\"messages[2].role\" must be one") == "\"messages[2].role\" must be one");
  CHECK(without_contents("the text \"my secret plan\" is odd") == "the text \"...\" is odd");
  CHECK(without_contents("it is \"my \"secret\" plan\" here") == "it is \"...\" here");
  CHECK(without_contents("last read: 'my secret'") == "last read: '...'");
  CHECK(without_contents("the server's file") == "the server's file");
  CHECK(without_contents("cut \"my secret") == "cut \"...");
}

TEST_CASE("a pipe that nobody reads costs lines and no time") {
  Pipe pipe;
  RequestLog log(pipe.ends[1]);
  log.write(line());
  CHECK(pipe.read().ends_with("ms\n"));
  for (int i = 0; i < 5000; ++i) log.write(line());  // more than a pipe holds
  CHECK(pipe.read().find("lost") == std::string::npos);
  log.write(line());
  const std::string text = pipe.read();
  CHECK(text.starts_with("("));
  CHECK(text.find(" lines were lost)\n") != std::string::npos);
}

}  // namespace
}  // namespace pc::serve
