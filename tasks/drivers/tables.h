#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/spec.h>

namespace medley::tasks {

// Widths in tokens. Passes are no wider than their tables need; these are the bounds that the specs declare.
inline constexpr int kPromptWidth = 16;
inline constexpr int kReplyWidth = 12;  // with its eos
inline constexpr int kQuestionWidth = 24;
inline constexpr int kControlWidth = 24;
// Of a forward whose rows make different passes.
inline constexpr int kMixedWidth = std::max({kPromptWidth, kQuestionWidth, kControlWidth});

// A constant: texts of one kind, one of which a row shows.
struct Table {
  std::string_view name;
  std::span<const std::string_view> texts;
  bool reply = false;  // ends with eos

  constexpr ConstantSpec Spec() const {
    return {
        .name = name, .rows = static_cast<int>(texts.size()), .width = reply ? kReplyWidth : kPromptWidth};
  }
};

// Replies of the questions that are answered by yes or no.
inline constexpr std::string_view kYesTexts[] = {"Yes.", "Yes, that is so.", "So it is."};
inline constexpr std::string_view kNoTexts[] = {"No.", "No, that is not so.", "It is not so."};

// An InputError where a question's longest prompt and reply have more tokens together than a row.
void CheckQuestionWidth(std::string_view question, std::int64_t width);

// What a task hands to the tokenizer; a text that two tables share stands once.
std::vector<std::string> TextsOf(std::span<const Table> tables);

}  // namespace medley::tasks
