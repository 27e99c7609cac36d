// From a schema document to a Schema: every rule that can be checked without
// tokens is checked here.
//
// Pure but for the files that src= names, which are read through a function
// of the caller's. Threads: any; no state.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "pml/syntax/schema.h"

namespace pc::pml {

// Gives the bytes of a file named by src=, or an error that names it. Whether
// they are UTF-8 is checked by the parser.
using ReadFileFn = std::function<Result<std::string>(const std::string& relative_path)>;

// A schema's text in all, src= files included: 16 million tokens of four bytes.
inline constexpr std::size_t kMaxSchemaTextBytes = std::size_t{64} << 20;
// A module's path, like its name (kMaxNameBytes), is repeated in every job and report.
inline constexpr std::size_t kMaxPathBytes = 1024;
// Room of one parameter, in tokens: more is a document, and a document is a module.
inline constexpr std::uint32_t kMaxParamTokens = 65536;

// Stand-ins of a schema: a model that reads of a sixteenth document reads of many.
inline constexpr std::size_t kMaxStandIns = 16;

// Errors: kPmlSyntax, kPmlSemantic, or what read_file gave, with line:column.
// An empty read_file makes every src= an error.
Result<Schema> parse_schema(std::string_view document, const ReadFileFn& read_file = {});

}  // namespace pc::pml
