// How the command ends: its exit codes, and a failure on the way to one of them.
#pragma once

#include <promptcache/promptcache.hpp>
#include <stdexcept>
#include <string>

namespace pc::cli {

enum ExitCode {
  kSuccess = 0,
  kFailure = 1,
  kUsage = 2,          // the command line
  kPml = 3,            // a schema or a prompt
  kModelOrStore = 4,   // a checkpoint, or the directory of modules
  kInterrupted = 130,  // 128 + SIGINT
};

// what() is the whole line for the user, without "error:" in front of it unless
// `place` is set: then the line reads "<place>: error: <what>".
struct Failure : std::runtime_error {
  Failure(ExitCode code, const std::string& message, std::string at = {})
      : std::runtime_error(message), exit_code(code), place(std::move(at)) {}
  ExitCode exit_code;
  std::string place;  // "guide.pml:12:7"
};

// The exit code of a library error about a model or store, or about the call itself.
ExitCode exit_code_of(const promptcache::Error& error);

// A library error about the PML document called `document` ("guide.pml").
Failure document_failure(const promptcache::Error& error, const std::string& document);

// Prints one line on stderr, "error: ..." or in the style of compilers.
void print_failure(const Failure& failure);

}  // namespace pc::cli
