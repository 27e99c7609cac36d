// What command lines of llama-bench measure: the rows that llama-bench b11434 prints for the same
// line, in its order. command_bench_test.py holds them to a llama-bench where there is one.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tools/bench/bench_case.h"
#include "tools/bench/bench_plan.h"
#include "tools/command/command_line.h"
#include "tools/output/failure.h"

using namespace pc::cli;

namespace {

using Texts = std::vector<std::string>;

Texts words_of(const std::string& line) {
  Texts words = {"promptcache", "bench"};
  std::string word;
  for (const char c : line + " ")
    if (c != ' ')
      word += c;
    else if (!word.empty())
      words.push_back(std::exchange(word, ""));
  return words;
}

Options options_of(const std::string& line) {
  const Texts words = words_of(line);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  const auto parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
  REQUIRE(std::holds_alternative<Options>(parsed));
  return std::get<Options>(parsed);
}

// "model type threads test" of each row, without what is as by default.
Texts rows(const std::string& line) {
  const Options options = options_of("--cached 0 " + line);
  Texts out;
  for (const BenchSetup& s : bench_setups(options.bench))
    for (const BenchCase& test : bench_cases(options.bench, 8192))
      out.push_back(s.model + (s.kv_type.empty() ? "" : " " + s.kv_type) +
                    (s.threads == 0 ? "" : " t" + std::to_string(s.threads)) + " " + name_of(test));
  return out;
}

bool is_refused(const std::string& line) {
  const Texts words = words_of(line);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  const auto parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
  const auto* const code = std::get_if<ExitCode>(&parsed);
  return code && *code == kUsage;
}

}  // namespace

TEST_CASE("rows are those of llama-bench, in its order") {
  CHECK(rows("-m m") == Texts{"m pp512", "m tg128"});
  CHECK(rows("-m m -p 16,32 -n 0") == Texts{"m pp16", "m pp32"});
  CHECK(rows("-m m -p 16 -p 32 -n 4 -n 8") == Texts{"m pp16", "m pp32", "m tg4", "m tg8"});
  CHECK(rows("-m m -pg 16,8") == Texts{"m pp512", "m tg128", "m pp16+tg8"});
  CHECK(rows("-m m -p 0 -n 0 -pg 16,8 -pg 32,4 -d 0,64") ==
        Texts{"m pp16+tg8", "m pp32+tg4", "m pp16+tg8 @ d64", "m pp32+tg4 @ d64"});
  CHECK(rows("-m m -p 0 -n 0 -pg 16,0 -pg 0,8 -pg 0,0") == Texts{"m pp16", "m tg8"});
  CHECK(rows("-m m -p 16 -n 4 -d 0,8") == Texts{"m pp16", "m tg4", "m pp16 @ d8", "m tg4 @ d8"});
  CHECK(rows("-m m -p 16-32+8 -n 2-16*4") == Texts{"m pp16", "m pp24", "m pp32", "m tg2", "m tg8"});
  CHECK(rows("-m m -p 16,16 -n 0") == Texts{"m pp16", "m pp16"});
  CHECK(rows("-m m -t 1-2 -p 16 -n 0 -d 0,8") ==
        Texts{"m t1 pp16", "m t1 pp16 @ d8", "m t2 pp16", "m t2 pp16 @ d8"});
  CHECK(rows("-m a,b -m c -p 16 -n 4") ==
        Texts{"a pp16", "a tg4", "b pp16", "b tg4", "c pp16", "c tg4"});
  CHECK(rows("-m m -ctk q8_0 -ctv q8_0 -t 1,2 -p 0 -n 4") == Texts{"m q8 t1 tg4", "m q8 t2 tg4"});
  CHECK(rows("--model m --n_prompt 16 --n-gen=4 --cache_type_k bf16 --cache-type-v bf16") ==
        Texts{"m bf16 pp16", "m bf16 tg4"});
}

TEST_CASE("the whole command line of llama-bench is read") {
  const Options o = options_of(
      "-m m --numa distribute -r 3 --prio 2 --delay 1 -o jsonl -oe md -v --progress --no-warmup "
      "-fitt 512 -fitc 4096 -hft secret --offline -b 2048 -ub 512 -C 0x3 --cpu-strict 0 --poll 50 "
      "-ngl -1 -ncmoe 0 -sm layer -mg 0 -nkvo 0 -fa auto -dev none -lm mmap -mmp 1 -lzm auto "
      "-embd 0 -ts 1/0 -ot exps=CPU,blk=CPU -nopo 0 --no-host 0 --repack 1");
  CHECK(o.bench.repetitions == 3);
  CHECK(o.bench.priority == 2);
  CHECK(o.bench.delay == 1);
  CHECK(o.bench.output == "jsonl");
  CHECK(o.bench.error_output == "md");
  CHECK(o.bench.verbose);
  CHECK_FALSE(o.bench.warms_up);
  CHECK(o.bench.cpu_mask == "0x3");
  CHECK(o.bench.without_meaning.size() == 25);
  for (const std::string& remark : o.bench.without_meaning) {
    CHECK(remark.starts_with("--"));
    CHECK(remark.find(" has no meaning here: ") != remark.npos);
    CHECK(remark.find("secret") == remark.npos);
  }
  CHECK(options_of("--list-devices").bench.lists_devices);
}

TEST_CASE("what would measure something else than it says is refused") {
  for (const std::string line : {"-hf a/b",      "-hff f",
                                 "-embd 1",      "--repack 0",
                                 "-b 128,256",   "-fa 0,1",
                                 "-ngl 0,99",    "-ngl 0 -ngl 99",
                                 "-dev cuda0",   "-fa maybe",
                                 "-ngl x",       "-sm rows",
                                 "-p 4-2",       "-t 0",
                                 "-pg 16",       "-pg 16,8,4",
                                 "-pg 1-2",      "-o xml",
                                 "--prio 4",     "-ctk q9",
                                 "--kv-type q3", "--kv-type q8 -ctk q8_0 -ctv q8_0",
                                 "-q --progress"})
    CHECK(is_refused("-m m " + line));
}

TEST_CASE("what is typed wins over a variable that says the same in another way") {
  ::setenv("PROMPTCACHE_KV_TYPE", "q8", 1);
  ::setenv("PROMPTCACHE_QUIET", "1", 1);
  const Options typed = options_of("-m m -ctk f32 -ctv f32 --progress");
  CHECK(typed.bench.kv_types.empty());
  CHECK(typed.bench.k_types == Texts{"f32"});
  CHECK_FALSE(typed.quiet);
  const Options plain = options_of("-m m");
  CHECK(plain.bench.kv_types == Texts{"q8"});
  CHECK(plain.quiet);
  ::setenv("PROMPTCACHE_CACHE_TYPE_K", "f32", 1);
  CHECK(is_refused("-m m"));  // two variables
  CHECK(options_of("-m m --kv-type q4").bench.kv_types == Texts{"q4"});
  for (const char* const name :
       {"PROMPTCACHE_KV_TYPE", "PROMPTCACHE_QUIET", "PROMPTCACHE_CACHE_TYPE_K"})
    ::unsetenv(name);
}
