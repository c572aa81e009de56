"""Vision-language models of the transformers library.

A folder is read and nothing else; only a model named by its hub id is fetched, by transformers. Code that comes
with a model is never run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal

from sightline.errors import ConfigError, ModelError
from sightline.models.adapters.language import YES_NO, Decide, LanguageModel, Reply
from sightline.models.adapters.prompts import Prompt, PromptStyle, RegionStyle
from sightline.models.adapters.transformers_files import HubFiles
from sightline.skills import ABSTAIN

Ids = tuple[int, ...]
Dtype = Literal["auto", "float32", "bfloat16", "float16"]

_FORMS: Final = ("{0}", "{1}", " {0}", " {1}")
"""How a word may be spelt: as it is, capitalised, after a blank."""


class VisionLanguage(LanguageModel):
    """An image-text-to-text model of transformers.

    Args:
        path: Folder of the model, as ``save_pretrained`` leaves it. Either this or `hub`.
        hub: Its name on the hub, as in ``org/name``; fetched unless it is in transformers' cache.
        revision: Branch, tag or commit on the hub.
        device: ``cpu``, ``cuda``, ``cuda:1``…; ``auto`` takes the first GPU where there is one.
        dtype: Of the weights; ``auto`` as they are stored, but float32 on a CPU.
        decide: ``likelihood`` answers with the likeliest of the words an answer may have; ``generate`` lets the
            model write and reads what it wrote.
        region: How regions and boxes are pointed at: drawn on the picture, cropped to, or told in words.
        history: How many of the latest questions and true answers are told, or ``all``.
        max_new_tokens: The longest answer it may write.
        prompt: Text file with a prompt of one's own, for yes–no questions.
        per: One prompt a pair or a predicate (see `LanguageModel`), as for `sections` and `elevation`.
        sections: Directions an object may face, 4 or 8.
        elevation: Degrees that go with an azimuth.
        temperature: 0 writes the likeliest reply; above it replies are drawn, seeded by prompt and picture.
        seed: Of what is drawn.
    """

    def __init__(
        self,
        path: Path | None = None,
        hub: str | None = None,
        revision: str | None = None,
        device: str = "auto",
        dtype: Dtype = "auto",
        decide: Decide = "likelihood",
        region: RegionStyle = "draw",
        history: int | Literal["all"] = 0,
        max_new_tokens: int = 32,
        prompt: Path | None = None,
        per: Literal["pair", "predicate"] | None = None,
        sections: int = 8,
        elevation: float = 10.0,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> None:
        if (path is None) == (hub is None):
            raise ConfigError("vlm needs either path=FOLDER or hub=ORG/NAME")
        if revision is not None and hub is None:
            raise ConfigError("vlm: a revision is one of the hub's: give it with hub=ORG/NAME")
        if path is not None and not (path / "config.json").is_file():
            raise ModelError(f"{path}: not a folder with a model (it has no config.json)")
        if max_new_tokens < 1:
            raise ConfigError(f"vlm: max_new_tokens must be at least 1, found {max_new_tokens}")
        style = PromptStyle.with_template(region, history, prompt)
        how: dict[str, Any] = {"per": per, "sections": sections, "elevation": elevation}
        super().__init__(style, decide=decide, temperature=temperature, **how)
        self.max_new_tokens = self.longest_reply = max_new_tokens
        self.seed = seed
        self.where = str(path if path is not None else hub)
        self.files = HubFiles.of(self.where, revision, device, dtype)
        self._torch, self._config = self.files.torch, self.files.config
        self._check_kind()
        self.fingerprint = self.files.commit

    def prepare(self, study: object) -> None:  # noqa: ARG002 — nothing is learned
        """Load the weights now, so that no deadline is spent on it."""
        for part in ("_processor", "_model", *(["_words"] if self.decide == "likelihood" else [])):
            getattr(self, part)

    def complete(self, prompt: Prompt, choices: tuple[str, ...], draw: int) -> Reply:
        """The likeliest word (an abstention where two are), or what the model wrote."""
        inputs = self._inputs(prompt)
        given = int(inputs["input_ids"].shape[1])
        with self.files.computing(self._model):
            if self.decide == "generate" or not choices:
                text, written = self._written(inputs, self._seed(prompt, draw))
                return Reply(text, given, written)
            likelihoods = self._likelihoods(inputs, choices)
        if any(math.isnan(value) for value in likelihoods):
            raise ModelError(f"{self.where}: its likelihoods are not numbers; try dtype=bfloat16 or float32")
        best = max(likelihoods)
        if likelihoods.count(best) > 1:
            return Reply(ABSTAIN, given, 1)
        share = min(1.0, math.exp(best - _log_sum(likelihoods))) if math.isfinite(best) else None
        return Reply(choices[likelihoods.index(best)], given, 1, share)

    @property
    def reply_identity(self) -> str:
        """Nothing is kept on disk: the model is here."""
        return self.where

    def facts(self) -> dict[str, Any]:
        """What shapes its answers."""
        return {
            "model_type": self._config.model_type,
            "max_new_tokens": self.max_new_tokens,
            **self.files.facts(),
            "seed": self.seed,
            **self._style_facts(),
        }

    @cached_property
    def _processor(self) -> Any:
        processor = self.files.loaded("AutoProcessor")
        if not hasattr(processor, "tokenizer"):
            raise ModelError(f"{self.where}: it comes without a processor for pictures and words")
        return processor

    @cached_property
    def _model(self) -> Any:
        return self.files.network("AutoModelForImageTextToText")

    @cached_property
    def _words(self) -> tuple[tuple[Ids, ...], ...]:
        return spellings(self._processor.tokenizer, self.where)

    @cached_property
    def _known(self) -> dict[tuple[str, ...], tuple[tuple[Ids, ...], ...]]:
        """Words that answers may have → their tokens."""
        return {}

    def _tokens(self, choices: tuple[str, ...]) -> tuple[tuple[Ids, ...], ...]:
        if choices == YES_NO:
            return self._words
        if choices not in self._known:
            self._known[choices] = spellings(self._processor.tokenizer, self.where, choices)
        return self._known[choices]

    def _seed(self, prompt: Prompt, draw: int) -> int | None:
        """Of what is drawn; None where nothing is."""
        if not self.temperature:
            return None
        digest = blake2b(f"{self.seed}|{draw}|{prompt.text}".encode(), digest_size=7)
        digest.update(prompt.picture.tobytes())
        return int.from_bytes(digest.digest())

    def _check_kind(self) -> None:
        if type(self._config) not in self.files.library.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
            kind = self._config.model_type
            raise ModelError(f"{self.where}: a {kind} model does not answer in words about a picture")
        if self._config.is_encoder_decoder and self.decide == "likelihood":
            raise ConfigError(f"{self.where}: an encoder–decoder model only writes: give decide=generate")

    def _inputs(self, prompt: Prompt) -> Any:
        processor = self._processor
        if getattr(processor, "chat_template", None):
            content = [{"type": "image", "image": prompt.picture}, {"type": "text", "text": prompt.text}]
            inputs = processor.apply_chat_template(
                [{"role": "user", "content": content}],
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
            )
        else:
            token = getattr(processor, "image_token", None)
            text = f"{token}\n" if isinstance(token, str) else ""
            inputs = processor(images=[prompt.picture], text=[f"{text}{prompt.text}\nAnswer:"], return_tensors="pt")
        inputs.pop("labels", None)  # some come ready for training
        return inputs.to(self.files.device, dtype=self._model.dtype)  # only what is not whole changes its dtype

    def _written(self, inputs: Any, seed: int | None = None) -> tuple[str, int]:
        """What it writes, and how many tokens that are."""
        if seed is None:
            tokens = self._generated(inputs, self.max_new_tokens).sequences[0]
        else:
            with self._torch.random.fork_rng():
                self._torch.manual_seed(seed)
                tokens = self._generated(inputs, self.max_new_tokens, drawn=True).sequences[0]
        start = 0 if self._config.is_encoder_decoder else inputs["input_ids"].shape[1]
        text = str(self._processor.tokenizer.decode(tokens[start:], skip_special_tokens=True))
        return text, len(tokens) - start

    def _likelihoods(self, inputs: Any, choices: tuple[str, ...] = YES_NO) -> list[float]:
        """Log-likelihood of each word over all its spellings; one pass where words are single tokens."""
        steps: dict[Ids, list[Any]] = {}
        likelihoods = []
        for word in self._tokens(choices):
            logs = []
            for ids in word:
                before = ids[:-1]
                if before not in steps:
                    logits = self._generated(inputs, len(ids), before).logits
                    steps[before] = [step[0].float().log_softmax(dim=-1) for step in logits]
                logs.append(sum(float(step[token]) for step, token in zip(steps[before], ids, strict=True)))
            likelihoods.append(_log_sum(logs))
        return likelihoods

    def _generated(self, inputs: Any, tokens: int, beginning: Ids = (), *, drawn: bool = False) -> Any:
        """Generate what comes after the inputs, greedily or drawn, whatever the model's own settings say of chance.

        A beginning is put into the model's mouth; going on from there is its own business, since architectures
        differ in what goes along with a token.
        """
        options: dict[str, Any] = {"max_new_tokens": tokens, "do_sample": False, "num_beams": 1}
        options |= dict.fromkeys(("temperature", "top_p", "top_k"))
        if drawn:
            options |= {"do_sample": True, "temperature": self.temperature, "top_p": 1.0, "top_k": 0}
        if beginning:
            length, everything = inputs["input_ids"].shape[1], list(range(len(self._processor.tokenizer)))

            def allowed(_: int, so_far: Any) -> list[int]:
                place = len(so_far) - length
                return [beginning[place]] if place < len(beginning) else everything

            options["prefix_allowed_tokens_fn"] = allowed
        return self._model.generate(**inputs, **options, return_dict_in_generate=True, output_logits=True)


def spellings(tokenizer: Any, where: str = "", choices: tuple[str, ...] = YES_NO) -> tuple[tuple[Ids, ...], ...]:
    """Tokens of each of the words: of all spellings those with the fewest tokens, the same spellings for all words.

    Raises:
        ModelError: The tokenizer cannot tell the words from each other.
    """
    forms = [[form.format(word, word.capitalize()) for word in choices] for form in _FORMS]
    sets = [tuple(tuple(tokenizer.encode(word, add_special_tokens=False)) for word in form) for form in forms]
    distinct = [one for one in sets if all(one) and len(set(one)) == len(choices)]
    if not distinct:
        told = f"{', '.join(choices[:-1])} from {choices[-1]}"
        raise ModelError(f"{where}: its tokenizer cannot tell {told}; try decide=generate")
    least = min(sum(map(len, one)) for one in distinct)
    shortest = [one for one in distinct if sum(map(len, one)) == least]
    return tuple(tuple(dict.fromkeys(side)) for side in zip(*shortest, strict=True))


def _log_sum(logs: Sequence[float]) -> float:
    """Logarithm of the sum of what these are logarithms of."""
    top = max(logs)
    return top if math.isinf(top) else top + math.log(sum(math.exp(value - top) for value in logs))
