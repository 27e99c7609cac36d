#include "tools/output/failure.h"

#include <cstdio>

#include "tools/output/terminal.h"

namespace pc::cli {

ExitCode exit_code_of(const promptcache::Error& error) {
  switch (error.status()) {
    case PC_INVALID_ARGUMENT:
      return kUsage;
    case PC_PML_SYNTAX:
    case PC_PML_SEMANTIC:
      return kPml;
    case PC_NOT_FOUND:
    case PC_IO:
    case PC_CORRUPT:
    case PC_UNSUPPORTED:
    case PC_MISMATCH:
    case PC_BUDGET:
    case PC_NOT_FINITE:
      return kModelOrStore;
    case PC_CANCELLED:
      return kInterrupted;
    default:
      return kFailure;
  }
}

Failure document_failure(const promptcache::Error& error, const std::string& document) {
  if (error.line() == 0) {
    const bool unreadable = error.status() == PC_NOT_FOUND || error.status() == PC_IO;
    return {unreadable ? kFailure : exit_code_of(error), error.what(),
            error.status() == PC_PML_SYNTAX || error.status() == PC_PML_SEMANTIC ? document : ""};
  }
  return {kPml, error.what(),
          document + ":" + std::to_string(error.line()) + ":" + std::to_string(error.column())};
}

void print_failure(const Failure& failure) {
  const std::string place = failure.place.empty() ? "" : printable(failure.place) + ": ";
  std::fprintf(stderr, "%s%s %s\n", place.c_str(), paint("error:", Colour::kRed, stderr).c_str(),
               printable(failure.what()).c_str());
}

}  // namespace pc::cli
