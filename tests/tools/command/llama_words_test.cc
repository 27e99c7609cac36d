#include "tools/command/llama_words.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

namespace {

using Words = std::vector<std::string>;

Words long_names(const std::vector<const char*>& words) {
  return with_long_names(words);
}

}  // namespace

TEST_CASE("names of several letters behind one dash become those of our options") {
  CHECK(long_names({"promptcache", "bench", "-ngl", "99", "-pg", "16,8", "-p", "512", "-hfr",
                    "a/b"}) == Words{"promptcache", "bench", "--n-gpu-layers", "99", "--pg", "16,8",
                                     "-p", "512", "--hf-repo", "a/b"});
  CHECK(dashed_names("--hf-repo") == Words{"-hf", "-hfr"});
  CHECK(dashed_names("--n-prompt").empty());
}

TEST_CASE("underscores of a long name become dashes, and those of a value stay") {
  CHECK(long_names({"promptcache", "bench", "--n_prompt", "--cache_dir=a_b", "my_model.gguf"}) ==
        Words{"promptcache", "bench", "--n-prompt", "--cache-dir=a_b", "my_model.gguf"});
}

TEST_CASE("other verbs, and what stands behind --, are left alone") {
  CHECK(long_names({"promptcache", "run", "-ngl"}) == Words{"promptcache", "run", "-ngl"});
  CHECK(long_names({"promptcache", "bench", "--", "-fa"}) ==
        Words{"promptcache", "bench", "--", "-fa"});
  CHECK(long_names({"promptcache"}) == Words{"promptcache"});
}
