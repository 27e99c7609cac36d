// Disks and signals that fail now and then, or for ever.
#include "modules/store/file_access.h"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "tests/modules/store_support.h"
#include "tests/support/file_faults.h"
#include "tests/support/temp_folder.h"

namespace pc {
namespace {

using test::fail_reads;
using test::fail_writes;
using test::n_file_calls;
using test::TempFolder;

// More than any call may try, of one piece.
constexpr int kFewCalls = 20;

class AFile {
 public:
  AFile() : fd(::open((folder_.path() + "/file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    std::iota(text.begin(), text.end(), '\0');
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text)); }
  bool reads_back() const {
    std::string back(text.size(), '\0');
    return read_exactly(fd.get(), 0, std::as_writable_bytes(std::span(back))).ok() && back == text;
  }

 private:
  TempFolder folder_;

 public:
  UniqueFd fd;
  std::string text = std::string(1000, '\0');
};

TEST_CASE("what fails for a moment is tried again") {
  const AFile file;
  const int failure = GENERATE(EINTR, EIO, EAGAIN);
  fail_writes(EINTR, 3);
  REQUIRE(write_all(file.fd.get(), 0, file.bytes()) == 0);
  fail_reads(failure, 3);
  CHECK(file.reads_back());
}

TEST_CASE("short calls are gone on with") {
  const AFile file;
  test::shorten_calls(7);
  CHECK(write_all(file.fd.get(), 0, file.bytes()) == 0);
  CHECK(file.reads_back());
  test::shorten_calls(0);
}

TEST_CASE("what fails for ever is an error, soon") {
  const AFile file;
  std::string to(10, '\0');
  const auto buffer = std::as_writable_bytes(std::span(to));
  for (const int failure : {EINTR, EIO, EAGAIN}) {
    const int before = n_file_calls();
    fail_reads(failure, -1);
    CHECK(read_exactly(file.fd.get(), 0, buffer).error().code == Code::kIo);
    fail_reads(0, 0);
    CHECK(n_file_calls() - before <= kFewCalls);
  }
  for (const int failure : {EINTR, EIO, ENOSPC, 0}) {
    const int before = n_file_calls();
    fail_writes(failure, -1);
    CHECK(write_all(file.fd.get(), 0, file.bytes()) == (failure == 0 ? EIO : failure));
    fail_writes(0, 0);
    CHECK(n_file_calls() - before <= kFewCalls);
  }
}

TEST_CASE("a module that a disk does not read for a while is no damaged one") {
  const TempFolder dir;
  const ModuleIdentity id = test::identity();
  test::put(*test::open_store(dir.path()), id);
  const std::string aside = dir.path() + "/v3/quarantine";
  for (const auto& stamp : std::filesystem::directory_iterator(dir.path() + "/v3/used"))
    std::filesystem::remove(stamp.path());  // so that its sums are read again
  {
    const auto store = test::open_store(dir.path());
    fail_reads(EIO, -1);
    const Lookup missed = store->find(id);
    fail_reads(0, 0);
    CHECK(missed.miss == MissReason::kUnreadable);
    CHECK(std::filesystem::is_empty(aside));
    CHECK(store->find(id));
  }
  {
    const auto store = test::open_store(dir.path());
    fail_reads(EIO, 1);
    CHECK(store->find(id));
    fail_reads(0, 0);
  }
  CHECK(std::filesystem::is_empty(aside));
}

}  // namespace
}  // namespace pc
