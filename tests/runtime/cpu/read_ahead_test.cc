// Reading ahead changes when bytes come, never which.

#include "runtime/cpu/read_ahead.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/mapped_file.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_model.h"

namespace pc::test {
namespace {

// A file of so many bytes that is on the disk alone.
MappedFile cold_file(const TempFolder& folder, std::size_t n) {
  folder.write("file", std::string(n, 'x'));
  const std::string path = folder.path() + "/file";
  const int fd = ::open(path.c_str(), O_RDONLY);
  REQUIRE(fd >= 0);
  ::fdatasync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
  auto file = MappedFile::open(path);
  REQUIRE(file.ok());
  return std::move(file).value();
}

bool comes_into_memory(const std::byte* byte, std::chrono::seconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!is_resident(byte) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return is_resident(byte);
}

TEST_CASE("a cold file comes into memory without being touched") {
  const TempFolder folder;
  const MappedFile file = cold_file(folder, (20 << 20) + 5);
  const auto bytes = file.bytes();
#ifdef PC_EMULATED
  WARN("skipped: qemu-user keeps hints about memory to itself");
  return;
#endif
  if (is_resident(&bytes.back())) {
    WARN("skipped: this file system keeps all in memory");
    return;
  }
  // Ranges may begin and end anywhere, overlap, and be empty.
  ReadAhead reading;
  reading.add({{bytes.subspan(1, 3 << 20), {}}, {}, {bytes.subspan((1 << 20) + 7)}});
  CHECK(comes_into_memory(&bytes.back(), std::chrono::seconds(30)));
}

TEST_CASE("what is forgotten is read no more, and what is added afterwards is") {
  const TempFolder one, two;
  const MappedFile file = cold_file(one, 64 << 20), other = cold_file(two, 4 << 20);
  ReadAhead reading;
  reading.add({{file.bytes()}});
  reading.forget(file.bytes());
  const std::byte* last = &file.bytes().back();
  if (!is_resident(last))  // else the disk was quicker
    CHECK_FALSE(comes_into_memory(last, std::chrono::seconds(1)));
  for (int i = 0; i < 3; ++i) {
    reading.add({{}, {other.bytes()}});
    reading.forget(file.bytes());  // nothing of the other
  }
#ifndef PC_EMULATED
  CHECK(comes_into_memory(&other.bytes().back(), std::chrono::seconds(30)));
  reading.add({{file.bytes()}});
  CHECK(comes_into_memory(last, std::chrono::seconds(30)));
#endif
}

TEST_CASE("reading may be given up at any time") {
  const TempFolder folder;
  for (int i = 0; i < 5; ++i) {
    const MappedFile file = cold_file(folder, 20 << 20);
    ReadAhead reading;
    reading.add({{file.bytes()}});
  }
}

TEST_CASE("a child of fork reads nothing ahead, and waits for nobody") {
  const TempFolder folder;
  const MappedFile file = cold_file(folder, 64 << 20);
  for (int i = 0; i < 20; ++i) {
    auto reading = std::make_unique<ReadAhead>();
    reading->add({{file.bytes()}});
    const pid_t child = ::fork();  // maybe while the thread holds the lock
    REQUIRE(child >= 0);
    if (child == 0) {
      ::alarm(60);
      reading->add({{file.bytes()}});
      reading->forget(file.bytes());
      reading.reset();
      ::_exit(0);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    reading->forget(file.bytes());
  }
}

TEST_CASE("hints about what is no mapping, or gone, do no harm") {
  const std::string text(1 << 20, 'x');
  const auto bytes = std::as_bytes(std::span(text));
  will_need(bytes);
  populate(bytes.subspan(3));
  will_need({});
  populate({});
  CHECK(is_resident(bytes.data()));
  const TempFolder folder;
  const MappedFile file = cold_file(folder, 4 << 20);
  REQUIRE(::truncate((folder.path() + "/file").c_str(), 1 << 20) == 0);
  will_need(file.bytes());
  populate(file.bytes());  // beyond the end of the file: no signal
}

TEST_CASE("weights are read in the order of the layers, packed where they are") {
  const TinyModel model(3);
  const pc_model_desc& d = model.desc;
  const auto plain = weights_by_layer(d, {});
  REQUIRE(plain.size() == d.n_layers + 1);
  for (std::uint32_t layer = 0; layer < d.n_layers; ++layer) {
    REQUIRE(plain[layer].size() == 7);
    const pc_tensor& wq = d.layers[layer].wq;
    CHECK(static_cast<const void*>(plain[layer].front().data()) == wq.data);
    CHECK(plain[layer].front().size() == std::size_t{wq.rows} * wq.cols * 4);
  }
  REQUIRE(plain.back().size() == 1);
  CHECK(static_cast<const void*>(plain.back().front().data()) == d.lm_head.data);
}

}  // namespace
}  // namespace pc::test
