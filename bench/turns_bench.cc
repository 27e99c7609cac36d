// What does a model's own chat template cost a conversation, and a chat that grows by two turns?
//
//   turns_bench TEMPLATE [--turns 41,101,301] [--repeat 5]
//
// TEMPLATE: a file of Jinja (a model's chat_template.jinja). For each number of turns, user and
// assistant in turn: the time to find what stands around them from nothing, as the first request
// of a process does, and behind a conversation of two turns less, as the next request of a chat
// does. Medians. One thread; nothing else is measured.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "bench/runs.h"
#include "runtime/chat/turns/own_chat_format.h"

namespace pc::bench {
namespace {

struct Arguments {
  std::string file;
  std::vector<std::size_t> turns{41, 101, 301};
  std::size_t repeat = 5;
};

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    std::istringstream value(i + 1 < argc ? argv[i + 1] : "");
    if (arg == "--turns") {
      a.turns.clear();
      for (std::string one; std::getline(value, one, ',');) a.turns.push_back(std::stoul(one));
    } else if (arg == "--repeat") {
      value >> a.repeat;
    } else {
      a.file = arg;
      continue;
    }
    ++i;
  }
  if (a.file.empty()) die("usage: turns_bench TEMPLATE [--turns 41,101,301] [--repeat 5]");
  return a;
}

std::vector<pml::Role> alternating(std::size_t n) {
  std::vector<pml::Role> roles(n, pml::Role::kUser);
  for (std::size_t i = 1; i < n; i += 2) roles[i] = pml::Role::kAssistant;
  return roles;
}

double ask_ms(const pml::ChatFormat& format, std::size_t n_turns) {
  const std::vector<pml::Role> roles = alternating(n_turns);
  const auto start = std::chrono::steady_clock::now();
  must(format.turns(roles));
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void measure(const ChatProgram& program, std::size_t n_turns, std::size_t repeat) {
  Series nothing, grown;
  for (std::size_t i = 0; i < repeat; ++i) {
    const pml::ChatFormat format = OwnChatFormat(program, ChatClock::at(0)).today();
    nothing.add(ask_ms(format, n_turns));
    grown.add(ask_ms(format, n_turns + 2));
  }
  std::printf("| %zu | %.2f | %.2f |\n", n_turns, nothing.median(), grown.median());
  std::fflush(stdout);
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  using namespace pc;
  using namespace pc::bench;
  const Arguments a = parse(argc, argv);
  std::ifstream file(a.file);
  if (!file) die(a.file + " cannot be read");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const ChatProgram program = must(ChatProgram::parse(text, {"<s>", "</s>", {}}));
  std::printf("| turns | from nothing, ms | two more, ms |\n|---|---|---|\n");
  for (const std::size_t n : a.turns) measure(program, n, a.repeat);
  return 0;
}
