#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include <medley/model/blocks/language.h>
#include <medley/model/model.h>

namespace medley {

// Prompts as the layers of a language read them, with whatever stands among or before their words.
struct PromptStates {
  at::Tensor states;      // [rows, width, hidden]; width is the longest one's
  at::Tensor lengths;     // [rows] int64, on the CPU: of a row's positions, behind which is anything
  TextInput seen{};       // what stands before them
  std::int64_t room = 0;  // positions behind `seen` for which keys and values are kept: width and new tokens
};

// Of the ids that may be chosen, [0, count), the one that ends a text.
struct ReplyWords {
  std::int64_t count = 0, eos = 0;
};

// Replies to the prompts, token by token: all but Generated::image. `room` 0: as much as is needed.
Generated WriteReplies(const Language& language, PromptStates prompts, const ReplyWords& words,
                       const GenerateOptions& options);

// Prompts with their replies and what ended them behind them, padded at the end, on the CPU.
struct WrittenTexts {
  at::Tensor tokens;   // [rows, width]
  at::Tensor lengths;  // [rows]
};
// `prompts` [rows, n] with `lengths` [rows], of any device; `width`: at least the longest text's.
WrittenTexts TextsOf(const at::Tensor& prompts, const at::Tensor& lengths, const Generated& replies,
                     std::int64_t width, std::int64_t pad);

}  // namespace medley
