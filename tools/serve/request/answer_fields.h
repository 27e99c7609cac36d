// What a request says of an answer's calls of tools, and of the thoughts before it.
//
// Pure; all throw ApiError. Threads: any.
#pragma once

#include <string>

#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// "tool_choice" of OpenAI's protocols. tools: as templates take them, or null.
ToolChoice openai_tool_choice(Fields& body, const Json& tools);
// That of Anthropic's. one_call: set where no more than one is wanted.
ToolChoice anthropic_tool_choice(Fields& body, const Json& tools, bool* one_call);

// Those of the tools that the prompt has. A choice that lets fewer be called, or none, leaves the
// prompt as the turns before it wrote it, so that their states are found: the answer is held to the
// choice while it is drawn (answer_grammar.h). For a model whose answers cannot be held, the others
// are left out. Null: none.
Json tools_in_prompt(const Json& tools, const ToolChoice& choice, const ModelFacts& model);

// What the model's template is told: chat_template_kwargs, and where they do not say it,
// enable_thinking and reasoning_effort, of which "none" is not to think. Templates know one of both
// ("enable_thinking": Qwen3, SmolLM3; "reasoning_effort": gpt-oss), or neither, which does not
// mind. Null: nothing.
Json openai_variables(Fields& body);
// The same of reasoning.effort in OpenAI's responses.
Json responses_variables(Fields& body);

}  // namespace pc::serve
