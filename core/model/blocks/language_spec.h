#pragma once

#include <array>

#include <medley/model/blocks/language_config.h>
#include <medley/model/model_spec.h>

namespace medley {

// Fields of a group "language" in which architectures differ, as Qwen3 has them.
inline constexpr std::array<ModelField, 6> kLanguageForms = {
    SwitchField("language.qk_norm", true,
                "An RMSNorm over each head of queries and keys, as Qwen3 has it; Qwen2 and Llama do not"),
    WordField("language.attention_bias", {"none", "qkv", "qkvo"},
              "Maps of attention that have a bias: qkv as Qwen2, qkvo as attention_bias of the others"),
    NumberField("language.rope_factor", 1, 1, 1e6,
                "Slows the slowest rotary turns for longer texts, as Llama 3.1; 1: does not"),
    NumberField("language.rope_low_freq_factor", 1, 0, 1e6,
                "Turns of more positions than rope_original_positions by this are slowed wholly", true),
    NumberField("language.rope_high_freq_factor", 4, 0, 1e6,
                "Turns of fewer positions than rope_original_positions by this are not; above "
                "rope_low_freq_factor",
                true),
    IntegerField("language.rope_original_positions", 8192, 1, 1 << 24,
                 "Positions of the texts before they were made longer")};

// Of a model that gives the losses of a Language.
inline constexpr ModelField kLossBytesField = IntegerField(
    "language.loss_bytes", kLossBytes, 12, 1e15,
    "The most bytes of logits, and of what losses make of them, at a time; 12 for each word of the "
    "vocabulary or more");

}  // namespace medley
