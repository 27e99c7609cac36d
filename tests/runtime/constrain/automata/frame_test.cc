#include "runtime/constrain/automata/frame.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace pc::constrain::test {
namespace {

FramePtr called_by(std::vector<FramePtr> callers) {
  auto frame = std::make_unique<Frame>();
  for (FramePtr& caller : callers) frame->returns.push_back({0, std::move(caller)});
  return FramePtr(std::move(frame));
}

// So many below each other that the stack of a thread has no room for them.
constexpr int kMany = 1'000'000;

FramePtr chain(FramePtr top = nullptr) {
  for (int i = 0; i < kMany; ++i) top = called_by({std::move(top)});
  return top;
}

TEST_CASE("a chain of a million frames is freed") {
  FramePtr top = chain();
  const FramePtr below = top->returns.front().frame;
  top = nullptr;
  CHECK(below->returns.size() == 1);
}

TEST_CASE("a frame that several have called from is freed once, behind the last of them") {
  FramePtr shared = chain();
  const FramePtr kept = shared;
  FramePtr top = called_by({shared, shared, called_by({shared}), std::move(shared)});
  top = chain(std::move(top));
  top = nullptr;
  CHECK(kept->returns.size() == 1);
}

TEST_CASE("owners in several threads may let go of one chain at once") {
  const FramePtr root = chain();
  std::vector<FramePtr> tops;
  for (int i = 0; i < 4; ++i) tops.push_back(called_by({root, called_by({root})}));
  FramePtr joined = called_by({tops[0], tops[1]});
  std::vector<std::thread> threads;
  for (FramePtr& top : tops)
    threads.emplace_back([own = std::move(top), all = joined]() mutable {
      own = nullptr;
      all = nullptr;
    });
  joined = nullptr;
  for (std::thread& thread : threads) thread.join();
  CHECK(root->returns.size() == 1);
}

}  // namespace
}  // namespace pc::constrain::test
