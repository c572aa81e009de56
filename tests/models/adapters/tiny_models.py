"""Tiny networks of transformers with random weights, built from their configs: one for each task, into a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="networks need torch")
transformers: Any = pytest.importorskip("transformers", reason="needs the extra vlm")

TALK = (
    "{% for m in messages %}{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<image>{% else %}{{ c['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}{% if add_generation_prompt %} So:{% endif %}"
)
SHAPES = ("cube", "sphere", "cylinder", "mug")


def tokenizer() -> Any:
    """One token a byte, but for yes and no."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    special = ["<pad>", "<s>", "</s>", "<image>"]
    words = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet()), "ye", "yes", "no"]
    merges = [("y", "e"), ("ye", "s"), ("n", "o")]
    made = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens=["<image>"],
    )


def vision_language(folder: Path) -> Path:
    """A LLaVA of a few thousand random weights."""
    words = tokenizer()
    small = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    seeing = transformers.CLIPVisionConfig(**small, num_hidden_layers=2, image_size=28, patch_size=14)
    telling = transformers.LlamaConfig(
        **small, num_hidden_layers=1, vocab_size=len(words), pad_token_id=0, bos_token_id=1, eos_token_id=2
    )
    model = random_weights(
        lambda: transformers.LlavaForConditionalGeneration(
            transformers.LlavaConfig(vision_config=seeing, text_config=telling, image_token_index=3)
        ),
        std=1.0,  # as they come they are so small that nothing matters
    )
    pictures = transformers.CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    processor = transformers.LlavaProcessor(
        image_processor=pictures,
        tokenizer=words,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TALK,
    )
    model.to(torch.bfloat16).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def random_weights(make: Callable[[], Any], std: float | None = None) -> Any:
    """A network with the same random weights every time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = make()
        for weight in model.parameters() if std is not None else ():
            torch.nn.init.normal_(weight, std=std)
    return model


def _labels(names: tuple[str, ...]) -> dict[str, Any]:
    return {"id2label": dict(enumerate(names)), "label2id": {name: i for i, name in enumerate(names)}}


def _backbone() -> Any:
    return transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], out_features=["stage4"]
    )


def detector(folder: Path) -> Path:
    """A DETR."""
    config = transformers.DetrConfig(
        use_timm_backbone=False,
        backbone_config=_backbone(),
        use_pretrained_backbone=False,
        backbone=None,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        num_queries=6,
        **_labels(("N/A", *SHAPES)),
    )
    random_weights(lambda: transformers.DetrForObjectDetection(config)).save_pretrained(folder)
    transformers.DetrImageProcessorPil(size={"shortest_edge": 32, "longest_edge": 64}).save_pretrained(folder)
    return folder


def zero_shot_detector(folder: Path) -> Path:
    """An OWL-ViT."""
    words = tokenizer()
    text = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1}
    config = transformers.OwlViTConfig(
        text_config={**text, "vocab_size": len(words), "max_position_embeddings": 32, "pad_token_id": 0},
        vision_config={**text, "image_size": 32, "patch_size": 16},
        projection_dim=16,
    )
    random_weights(lambda: transformers.OwlViTForObjectDetection(config)).save_pretrained(folder)
    pictures = transformers.OwlViTImageProcessorPil(size={"height": 32, "width": 32})
    words.model_max_length = 32
    transformers.OwlViTProcessor(image_processor=pictures, tokenizer=words).save_pretrained(folder)
    return folder


def grounded_detector(folder: Path) -> Path:
    """A Grounding DINO, whose words are tokens."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", "cube", "mug", "red", "cat"]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(known)}, unk_token="[UNK]"))
    made.pre_tokenizer, made.normalizer = pre_tokenizers.BertPreTokenizer(), normalizers.Lowercase()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    words = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, **names, mask_token="[MASK]", model_max_length=64
    )
    text = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=1040
    )
    seeing = transformers.SwinConfig(
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 1, 1],
        window_size=2,
        image_size=64,
        out_features=["stage2", "stage3", "stage4"],
    )
    config = transformers.GroundingDinoConfig(
        backbone_config=seeing,
        text_config=text,
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        num_queries=6,
        max_text_len=64,
        num_feature_levels=3,
        encoder_n_points=1,
        decoder_n_points=1,
    )
    random_weights(lambda: transformers.GroundingDinoForObjectDetection(config)).save_pretrained(folder)
    pictures = transformers.GroundingDinoImageProcessorPil(size={"shortest_edge": 64, "longest_edge": 96})
    transformers.GroundingDinoProcessor(image_processor=pictures, tokenizer=words).save_pretrained(folder)
    return folder


def depth(folder: Path) -> Path:
    """A GLPN: depth in metres."""
    config = transformers.GLPNConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 8, 8], num_attention_heads=[1, 1, 1, 1], decoder_hidden_size=8
    )
    random_weights(lambda: transformers.GLPNForDepthEstimation(config)).save_pretrained(folder)
    transformers.GLPNImageProcessorPil().save_pretrained(folder)
    return folder


def disparity(folder: Path) -> Path:
    """A DPT: larger is closer."""
    config = transformers.DPTConfig(
        hidden_size=16,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=32,
        patch_size=16,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8,
    )
    random_weights(lambda: transformers.DPTForDepthEstimation(config)).save_pretrained(folder)
    transformers.DPTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def segmenter(folder: Path) -> Path:
    """A SegFormer."""
    config = transformers.SegformerConfig(
        depths=[1, 1, 1, 1],
        hidden_sizes=[8, 8, 8, 8],
        num_attention_heads=[1, 1, 1, 1],
        decoder_hidden_size=8,
        **_labels(("background", *SHAPES)),
    )
    random_weights(lambda: transformers.SegformerForSemanticSegmentation(config), std=0.3).save_pretrained(folder)
    transformers.SegformerImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def upernet(folder: Path) -> Path:
    """A UperNet on a ConvNeXt."""
    backbone = transformers.ConvNextConfig(
        hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], out_features=["stage1", "stage2", "stage3", "stage4"]
    )
    config = transformers.UperNetConfig(
        backbone_config=backbone, hidden_size=8, use_auxiliary_head=False, pool_scales=[1, 2], **_labels(SHAPES)
    )
    random_weights(lambda: transformers.UperNetForSemanticSegmentation(config), std=0.3).save_pretrained(folder)
    transformers.SegformerImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(folder)
    return folder


def panoptic(folder: Path) -> Path:
    """A Mask2Former on a Swin."""
    backbone = transformers.SwinConfig(
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 1, 1],
        window_size=2,
        image_size=64,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    config = transformers.Mask2FormerConfig(
        backbone_config=backbone,
        feature_size=32,  # its normalisation has 32 groups
        mask_feature_size=32,
        hidden_dim=32,
        encoder_feedforward_dim=8,
        dim_feedforward=8,
        encoder_layers=1,
        decoder_layers=2,
        num_attention_heads=2,
        num_queries=4,
        **_labels(SHAPES),
    )
    random_weights(lambda: transformers.Mask2FormerForUniversalSegmentation(config)).save_pretrained(folder)
    transformers.Mask2FormerImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(folder)
    return folder


def classifier(folder: Path) -> Path:
    """A ViT."""
    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=32,
        patch_size=16,
        **_labels(SHAPES),
    )
    random_weights(lambda: transformers.ViTForImageClassification(config), std=0.3).save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


MODELS: dict[str, Callable[[Path], Path]] = {
    "object-detection": detector,
    "zero-shot-object-detection": zero_shot_detector,
    "grounded": grounded_detector,
    "depth-estimation": depth,
    "disparity": disparity,
    "semantic-segmentation": segmenter,
    "upernet": upernet,
    "panoptic-segmentation": panoptic,
    "image-classification": classifier,
    "image-text-to-text": vision_language,
}
"""Task, or what is special about a model → makes it in a folder."""
