#include "runtime/conversation/next_text.h"

#include <utility>

#include "runtime/prompt/loaded_prompt.h"  // reaches_beyond

namespace pc {

Result<NextText> encode_next(const Engine& engine, const pml::NextTurns& next) {
  std::vector<pml::TextSpan> texts;
  if (!next.before.empty()) texts.push_back({next.before, true});
  for (const auto& span : next.spans) texts.push_back({span.text, span.markup});
  NextText text;
  PC_TRY(text.spans, engine.text_encoder().encode(texts, false));
  std::vector<Tokens>& spans = text.spans;
  if (!next.before.empty()) spans.erase(spans.begin());
  if (next.said && *next.said > 0) {
    Tokens& opening = spans[*next.said - 1];
    if (reaches_beyond(engine.tokenizer(), opening, next.spans[*next.said - 1].text)) {
      spans[*next.said].insert(spans[*next.said].begin(), opening.back());
      opening.pop_back();
    }
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    text.n += spans[i].size();
    if (next.said && i < *next.said) text.n_opening += spans[i].size();
  }
  return text;
}

void append_next(const pml::NextTurns& next, const NextText& text, bool ends_turn,
                 Appendix* appendix) {
  if (ends_turn && !appendix->took_all()) appendix->chain.end_turn();
  for (std::size_t i = appendix->took_all() ? *next.said : 0; i < text.spans.size(); ++i) {
    if (i == next.said) appendix->cut = Cut{appendix->end, 0};
    appendix->append(text.spans[i]);
    if (!next.spans[i].markup && i + 1 < text.spans.size()) appendix->chain.end_turn();
  }
  appendix->last = text.spans.back();
}

}  // namespace pc
