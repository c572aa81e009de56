"""Ask vision-language models of the transformers library yes–no questions.

A folder is read and nothing else; only a model named by its hub id is fetched, by transformers. Code that comes
with a model is never run.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from sightline.errors import ConfigError, MissingExtraError, ModelError
from sightline.models.adapters.prompts import Prompt, PromptStyle, RegionStyle
from sightline.skills import ABSTAIN, Asked

Ids = tuple[int, ...]

_SPELLINGS: Final = (("yes", "no"), ("Yes", "No"), (" yes", " no"), (" Yes", " No"))


class VisionLanguage:
    """An image-text-to-text model of transformers.

    Args:
        path: Folder of the model, as ``save_pretrained`` leaves it. Either this or `hub`.
        hub: Its name on the hub, as in ``org/name``; fetched unless it is in transformers' cache.
        revision: Branch, tag or commit on the hub.
        device: ``cpu``, ``cuda``, ``cuda:1``…; ``auto`` takes the first GPU where there is one.
        dtype: Of the weights; ``auto`` as they are stored, but float32 on a CPU.
        decide: ``likelihood`` answers with the likelier word of yes and no; ``generate`` lets the model write,
            without chance, and reads what it wrote.
        region: How regions are pointed at: drawn on the picture, cropped to, or told in words.
        history: How many of the latest questions and true answers are told, or ``all``.
        max_new_tokens: The longest answer it may write.
        prompt: Text file with a prompt of one's own.
    """

    def __init__(
        self,
        path: Path | None = None,
        hub: str | None = None,
        revision: str | None = None,
        device: str = "auto",
        dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto",
        decide: Literal["likelihood", "generate"] = "likelihood",
        region: RegionStyle = "draw",
        history: int | Literal["all"] = 0,
        max_new_tokens: int = 16,
        prompt: Path | None = None,
    ) -> None:
        if (path is None) == (hub is None):
            raise ConfigError("vlm needs either path=FOLDER or hub=ORG/NAME")
        if revision is not None and hub is None:
            raise ConfigError("vlm: a revision is one of the hub's: give it with hub=ORG/NAME")
        if path is not None and not (path / "config.json").is_file():
            raise ModelError(f"{path}: not a folder with a model (it has no config.json)")
        if max_new_tokens < 1:
            raise ConfigError(f"vlm: max_new_tokens must be at least 1, found {max_new_tokens}")
        self.style = PromptStyle.with_template(region, history, prompt)
        self.decide, self.max_new_tokens = decide, max_new_tokens
        self.where = str(path if path is not None else hub)
        self._source: dict[str, Any] = {"local_files_only": True} if hub is None else {"revision": revision}
        self._torch, self._library = _package("torch"), _package("transformers")
        self.device = _device(self._torch, device)
        # CPUs are slow at half precision, and virtual ones may claim instructions for it that they do not have.
        self.dtype = "float32" if (dtype, self.device) == ("auto", "cpu") else dtype
        self._config = self._loaded("AutoConfig")
        self._check_kind()
        self.fingerprint = "" if hub is None else str(getattr(self._config, "_commit_hash", None) or "")
        """Commit on the hub; a folder's is taken of its files."""
        if self.fingerprint:  # the weights are to be of the same state
            self._source["revision"] = self.fingerprint

    def prepare(self, study: object) -> None:  # noqa: ARG002 — nothing is learned
        """Load the weights now, so that no deadline is spent on it."""
        for part in ("_processor", "_model", *(["_words"] if self.decide == "likelihood" else [])):
            getattr(self, part)

    def answer(self, asked: Asked) -> str:
        """The likelier word (an abstention where neither is), or what the model wrote."""
        from sightline.threads import computing

        inputs = self._inputs(self.style.prompt(asked))
        with self._torch.inference_mode(), computing(self._threads):
            if self.decide == "generate":
                return self._written(inputs)
            yes, no = self._likelihoods(inputs)
        if math.isnan(yes) or math.isnan(no):
            raise ModelError(f"{self.where}: its likelihoods are not numbers; try dtype=bfloat16 or float32")
        if yes == no:
            return ABSTAIN
        return "yes" if yes > no else "no"

    def facts(self) -> dict[str, Any]:
        """What shapes its answers."""
        return {
            "model_type": self._config.model_type,
            "decide": self.decide,
            "dtype": self.dtype,
            "device": self.device,
            "max_new_tokens": self.max_new_tokens,
            "commit": self.fingerprint or None,
            "transformers": self._library.__version__,
            **self.style.facts(),
        }

    @cached_property
    def _processor(self) -> Any:
        processor = self._loaded("AutoProcessor")
        if not hasattr(processor, "tokenizer"):
            raise ModelError(f"{self.where}: it comes without a processor for pictures and words")
        return processor

    @cached_property
    def _model(self) -> Any:
        model = self._loaded("AutoModelForImageTextToText", dtype=self.dtype)
        try:
            return model.to(self.device).eval()
        except RuntimeError as error:
            raise ModelError(f"{self.where}: cannot be put on {self.device}: {error}") from error

    @cached_property
    def _threads(self) -> int:
        from sightline.threads import suitable_threads

        return suitable_threads(sum(weight.numel() for weight in self._model.parameters()))

    @cached_property
    def _words(self) -> tuple[tuple[Ids, ...], tuple[Ids, ...]]:
        return spellings(self._processor.tokenizer, self.where)

    def _loaded(self, kind: str, **options: Any) -> Any:
        try:
            return getattr(self._library, kind).from_pretrained(
                self.where, trust_remote_code=False, **self._source, **options
            )
        except Exception as error:  # as many kinds as there are models
            raise ModelError(f"{self.where}: {kind} cannot load it: {error}") from error

    def _check_kind(self) -> None:
        if type(self._config) not in self._library.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
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
        return inputs.to(self.device, dtype=self._model.dtype)  # only what is not whole changes its dtype

    def _written(self, inputs: Any) -> str:
        tokens = self._generated(inputs, self.max_new_tokens).sequences[0]
        start = 0 if self._config.is_encoder_decoder else inputs["input_ids"].shape[1]
        return str(self._processor.tokenizer.decode(tokens[start:], skip_special_tokens=True))

    def _likelihoods(self, inputs: Any) -> tuple[float, float]:
        """Log-likelihoods of yes and of no, each over all its spellings; one pass where words are single tokens."""
        steps: dict[Ids, list[Any]] = {}
        likelihoods = []
        for word in self._words:
            logs = []
            for ids in word:
                before = ids[:-1]
                if before not in steps:
                    logits = self._generated(inputs, len(ids), before).logits
                    steps[before] = [step[0].float().log_softmax(dim=-1) for step in logits]
                logs.append(sum(float(step[token]) for step, token in zip(steps[before], ids, strict=True)))
            likelihoods.append(_log_sum(logs))
        return likelihoods[0], likelihoods[1]

    def _generated(self, inputs: Any, tokens: int, beginning: Ids = ()) -> Any:
        """Generate what comes after the inputs, greedily, whatever the model's own settings say of chance.

        A beginning is put into the model's mouth; going on from there is its own business, since architectures
        differ in what goes along with a token.
        """
        options: dict[str, Any] = {"max_new_tokens": tokens, "do_sample": False, "num_beams": 1}
        options |= dict.fromkeys(("temperature", "top_p", "top_k"))
        if beginning:
            length, everything = inputs["input_ids"].shape[1], list(range(len(self._processor.tokenizer)))

            def allowed(_: int, so_far: Any) -> list[int]:
                place = len(so_far) - length
                return [beginning[place]] if place < len(beginning) else everything

            options["prefix_allowed_tokens_fn"] = allowed
        return self._model.generate(**inputs, **options, return_dict_in_generate=True, output_logits=True)


def spellings(tokenizer: Any, where: str = "") -> tuple[tuple[Ids, ...], tuple[Ids, ...]]:
    """Tokens of yes and of no: of all spellings those with the fewest tokens, in pairs so that none has more.

    Raises:
        ModelError: The tokenizer cannot tell yes from no.
    """
    pairs = [tuple(tuple(tokenizer.encode(word, add_special_tokens=False)) for word in pair) for pair in _SPELLINGS]
    distinct = [pair for pair in pairs if all(pair) and pair[0] != pair[1]]
    if not distinct:
        raise ModelError(f"{where}: its tokenizer cannot tell yes from no; try decide=generate")
    least = min(len(yes) + len(no) for yes, no in distinct)
    shortest = [pair for pair in distinct if len(pair[0]) + len(pair[1]) == least]
    yes, no = (tuple(dict.fromkeys(side)) for side in zip(*shortest, strict=True))
    return yes, no


def _log_sum(logs: Sequence[float]) -> float:
    """Logarithm of the sum of what these are logarithms of."""
    top = max(logs)
    return top if math.isinf(top) else top + math.log(sum(math.exp(value - top) for value in logs))


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(name, extra="vlm") from None


def _device(torch: Any, name: str) -> str:
    """The device's name; ConfigError where it is none, or this machine has no such."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"vlm: no device {name!r} here: {str(error).splitlines()[0]}") from None
    return name
