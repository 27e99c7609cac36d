"""A model of lm-evaluation-harness: pip install promptcache[lm-eval].

    import lm_eval
    from promptcache.integrations.lm_eval import PromptcacheLM

    lm_eval.simple_evaluate(PromptcacheLM("model.gguf"), tasks=["arc_easy"])

The texts that requests have in common (a task's examples) are computed once: each context is kept, and
those that begin alike find it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from tqdm import tqdm

from promptcache import Engine

__all__ = ["PromptcacheLM"]


class PromptcacheLM(LM):
    """model: a GGUF file or a folder, or an Engine. options: those of Engine."""

    def __init__(self, model: Any, **options: Any) -> None:
        super().__init__()
        self.engine = model if isinstance(model, Engine) else Engine(model, **options)

    def _tokens(self, text: str) -> List[int]:
        return self.engine.tokenize(text, bos=True)

    def _score(self, tokens: Sequence[int], n_given: int) -> Tuple[float, bool]:
        """Of the tokens behind the first n_given, which is at least 1: the logarithm of their
        probability, and whether each is the likeliest in its place. The oldest are cut off where
        all do not fit."""
        window = self.engine.facts.context_tokens
        cut = max(0, len(tokens) - window)
        tokens, first = tokens[cut:], max(1, n_given - cut)
        prompt = self.engine.plain().tokens(tokens)
        asked = {"prompt_logprobs": 1, "prompt_logprobs_from": first, "max_tokens": 0}
        total, greedy = 0.0, True
        with prompt.session(**asked) as session:
            session.prefill()
            for index in range(first, len(tokens)):
                (_, logprob), (best, _) = session.prompt_logprobs(index, top=1)
                total += logprob
                greedy = greedy and best == tokens[index]
            session.try_keep()
        return total, greedy

    def loglikelihood(
        self, requests: List[Instance], disable_tqdm: bool = False
    ) -> List[Tuple[float, bool]]:
        scores = []
        for request in tqdm(requests, disable=disable_tqdm):
            context, continuation = request.args
            tokens = self._tokens(context + continuation)
            # A token that the border goes through is the continuation's.
            given = self._tokens(context)
            n_same = next(
                (i for i, (a, b) in enumerate(zip(given, tokens)) if a != b), len(given)
            )
            scores.append(self._score(tokens, max(1, min(n_same, len(tokens) - 1))))
        return scores

    def loglikelihood_rolling(
        self, requests: List[Instance], disable_tqdm: bool = False
    ) -> List[float]:
        """Of whole texts, in pieces that fill the window and of which each token counts once."""
        window = self.engine.facts.context_tokens
        totals = []
        for request in tqdm(requests, disable=disable_tqdm):
            tokens, total = self._tokens(request.args[0]), 0.0
            for end in range(1, len(tokens), window - 1):
                piece = tokens[end - 1 : end - 1 + window]
                total += self._score(piece, 1)[0]
            totals.append(total)
        return totals

    def generate_until(self, requests: List[Instance], disable_tqdm: bool = False) -> List[str]:
        answers = []
        for request in tqdm(requests, disable=disable_tqdm):
            context, asked = request.args
            answers.append(self._answer(context, dict(asked)))
        return answers

    def _answer(self, context: str, asked: Dict[str, Any]) -> str:
        stop = asked.get("until") or []
        window = self.engine.facts.context_tokens
        n = min(int(asked.get("max_gen_toks", 256)), window - 1)
        tokens = self._tokens(context)[-(window - n) :]
        options: Dict[str, Any] = {"max_tokens": n, "stop": stop}
        if asked.get("do_sample"):
            options["temperature"] = float(asked.get("temperature", 1.0))
        with self.engine.plain().tokens(tokens).session(**options) as session:
            text = session.text()
            session.try_keep()
        return text
