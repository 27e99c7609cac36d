#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#ifdef __SANITIZE_THREAD__
// Children of fork() begin threads, in tests of processes that share a store.
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0";
}
// Pages that are lost while other threads read them are replaced under these: that is no write of
// the program's (base/mapping_guard.cc).
extern "C" const char* __tsan_default_suppressions() {
  return "race:replace_pages";
}
#endif
