// What a request says of the answer's form: JSON, JSON of a schema, or one of some texts, in the
// words of each protocol and of servers whose clients change one URL.
//
// A form is enforced or refused by name; a request that has two of them is refused. Pure; all throw
// ApiError. Threads: any.
#pragma once

#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// response_format; json_schema as llama.cpp's server has it; guided_json, guided_choice and
// structured_outputs as vLLM's.
Format openai_format(Fields& body);

// text.format of OpenAI's responses.
Format responses_format(Fields& body);

// output_config.format of Anthropic's messages, and output_format, as it was called before.
Format anthropic_format(Fields& body);

}  // namespace pc::serve
