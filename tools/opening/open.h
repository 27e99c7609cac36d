// From what the command line names to what the library works with. Errors are
// thrown as Failure where they are about a document, as promptcache::Error
// otherwise.
#pragma once

#include <promptcache/promptcache.hpp>
#include <string>

#include "tools/opening/options.h"

namespace pc::cli {

pc_cache_mode cache_mode(const Options& options);
// Borrows the strings of options.
promptcache::EngineOptions engine_options(const Options& options);
// Shows how far it has come; Ctrl-C ends it.
promptcache::Engine open_engine(const Options& options, pc_cache_mode mode);
// The same where somebody else minds Ctrl-C, and nobody watches.
promptcache::Engine open_engine_quietly(const Options& options, pc_cache_mode mode);
promptcache::Schema load_schema(const promptcache::Engine& engine, const Options& options);
promptcache::Store open_store(const Options& options, pc_cache_mode mode);
// To be written, and made where there is none.
promptcache::Store make_store(const Options& options);
// And those around it. Throws Failure.
void make_folder(const std::string& dir);

// A document and the name it has in messages.
struct Document {
  std::string name;  // "prompt.pml", "<stdin>"
  std::string text;
};

// "-" is the standard input.
Document read_document(const std::string& path);

promptcache::Prompt parse_prompt(const promptcache::Schema& schema, const Document& document);

// Says on the standard error what the author of a prompt of this name may not have meant.
void print_remarks(const promptcache::Prompt& prompt, const std::string& name);
void print_remark(const std::string& file, const std::string& remark);

// Writes a result to the standard output.
void print(const std::string& text);

}  // namespace pc::cli
