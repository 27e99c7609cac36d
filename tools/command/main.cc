// The promptcache command: parses the command line, runs a verb, and turns
// what it throws into one line and an exit code.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <string>

#include "tools/command/command_line.h"
#include "tools/output/failure.h"
#include "tools/output/interrupt.h"

namespace {

using namespace pc::cli;

// What is opened later must not become the standard input, output or error of a process that was
// started without: a chat would read its model's file, and a report would be written into one.
bool fill_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", O_RDWR) != descriptor)
      return false;  // it takes the lowest that is free
  }
  return true;
}

ExitCode run_verb(const Options& options) {
  try {
    return options.verb(options);
  } catch (const Failure& failure) {
    print_failure(failure);
    return failure.exit_code;
  } catch (const promptcache::Error& error) {
    if (error.status() == PC_CANCELLED) return kInterrupted;  // said when it was asked for
    const char* const hint = error.status() == PC_BUDGET ? " (--cache-size)" : "";
    print_failure(Failure(exit_code_of(error), std::string(error.what()) + hint));
    return exit_code_of(error);
  } catch (const std::filesystem::filesystem_error& error) {
    print_failure(Failure(kModelOrStore, "\"" + error.path1().string() +
                                             "\" cannot be used: " + error.code().message()));
    return kModelOrStore;
  } catch (const std::bad_alloc&) {
    print_failure(Failure(kFailure, "out of memory"));
    return kFailure;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (!fill_standard_descriptors()) return kFailure;
  handle_interrupts();
  const auto command = parse_command_line(argc, argv);
  if (const auto* const exit_code = std::get_if<ExitCode>(&command)) return *exit_code;
  (void)pc_guard_files(nullptr);  // without it, a file that is cut short ends the process
  return run_verb(std::get<Options>(command));
}
