// The promptcache command: parses the command line, runs a verb, and turns
// what it throws into one line and an exit code.
#include <new>
#include <string>

#include "tools/command_line.h"
#include "tools/failure.h"
#include "tools/interrupt.h"

namespace {

using namespace pc::cli;

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
  } catch (const std::bad_alloc&) {
    print_failure(Failure(kFailure, "out of memory"));
    return kFailure;
  }
}

}  // namespace

int main(int argc, char** argv) {
  handle_interrupts();
  const auto command = parse_command_line(argc, argv);
  if (const auto* const exit_code = std::get_if<ExitCode>(&command)) return *exit_code;
  (void)pc_guard_files(nullptr);  // without it, a file that is cut short ends the process
  return run_verb(std::get<Options>(command));
}
