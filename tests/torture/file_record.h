// What a test program that links file_record.cc does to the files below one folder, call by call:
// enough to say what a disk could hold if the power went at any of them. Bytes that are written
// through a shared mapping are recorded where the file is synced or gets a name, since a system may
// write them at any time before, or never. Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pc::test {

struct FileOp {
  enum class Kind {
    kMakeFolder,  // name
    kMake,        // file, without a name; a kLink follows where it got one at once
    kWrite,       // bytes of the file at an offset
    kReserve,     // the file has at least `at` bytes; new ones are zeros
    kResize,      // the file has `at` bytes
    kSync,        // all of the file's bytes so far are on the disk
    kLink,        // name -> file
    kRename,      // name -> to
    kUnlink,      // name
  };
  Kind kind;
  int file = -1;                   // a number from 0; never used again
  std::string name = {}, to = {};  // below the folder
  std::uint64_t at = 0;
  std::string bytes = {};
};

// From now on what is done below this folder is recorded. "" ends it.
void record_folder(const std::string& path);
const std::vector<FileOp>& recorded();

}  // namespace pc::test
