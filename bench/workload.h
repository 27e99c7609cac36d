// A load: requests that import modules and arrive in time, as bench/peers/workloads.py writes it.
//
//   {"modules": {"m0": "words", ...}, "warm": [["m0"], ...],
//    "requests": [{"at": 0.5, "modules": ["m0"], "text": "words", "answer": 64}, ...]}
//
// A value. "warm" are beginnings of prompts that were computed before the clock starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace pc::bench {

struct Workload {
  struct Module {
    std::string name, text;
  };
  struct Request {
    double at_s = 0;  // behind the start; requests are sorted by it
    std::vector<std::string> modules;
    std::string text;
    std::uint32_t answer = 1;  // tokens
  };
  std::vector<Module> modules;
  std::vector<std::vector<std::string>> warm;
  std::vector<Request> requests;

  // Errors name the file and the place in it.
  static Result<Workload> read(const std::string& path);

  // All modules, in one section, so that prompts may import them in any order.
  std::string schema() const;
};

// That imports these and goes on with the text.
std::string prompt_of(const std::vector<std::string>& modules, const std::string& text);

}  // namespace pc::bench
