// What the command can do, one function and one file a verb. Each prints its
// result on the standard output and everything else on the standard error, and
// throws Failure or promptcache::Error.
#pragma once

#include "tools/opening/options.h"

namespace pc::cli {

ExitCode run(const Options& options);
ExitCode chat(const Options& options);
ExitCode encode(const Options& options);
ExitCode check(const Options& options);
ExitCode explain(const Options& options);
ExitCode cache_list(const Options& options);
ExitCode cache_show(const Options& options);
ExitCode cache_verify(const Options& options);
ExitCode cache_remove(const Options& options);
ExitCode cache_collect(const Options& options);
ExitCode cache_export(const Options& options);
ExitCode cache_pin(const Options& options);
ExitCode cache_unpin(const Options& options);
ExitCode cache_import(const Options& options);
ExitCode cache_push(const Options& options);
ExitCode cache_pull(const Options& options);
ExitCode cache_sign(const Options& options);
ExitCode model_info(const Options& options);
ExitCode model_verify(const Options& options);
ExitCode bench(const Options& options);
ExitCode bench_compare(const Options& options);
ExitCode serve(const Options& options);
ExitCode tokenize(const Options& options);
ExitCode version(const Options& options);

}  // namespace pc::cli
