#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/spec.h>
#include <medley/task/text_rows.h>
#include <medley/text/tokenizer.h>

namespace medley {

// Widths in tokens, where a task does not say otherwise. Passes are no wider than their texts need; these are
// the bounds that specs declare.
inline constexpr int kPromptWidth = 16;
inline constexpr int kReplyWidth = 12;  // with its eos
inline constexpr int kQuestionWidth = 24;
inline constexpr int kControlWidth = 24;
// The width of a forward whose rows make different passes.
inline constexpr int kMixedWidth = std::max({kPromptWidth, kQuestionWidth, kControlWidth});

// A constant: texts of one kind, one of which a row shows.
struct TextList {
  std::string_view name;
  std::span<const std::string_view> texts;
  bool reply = false;   // ends with eos
  int most_tokens = 0;  // of a text, its eos included; 0: kPromptWidth or kReplyWidth

  constexpr int Width() const { return most_tokens > 0 ? most_tokens : reply ? kReplyWidth : kPromptWidth; }
  constexpr ConstantSpec Spec() const {
    return {.name = name, .rows = static_cast<int>(texts.size()), .width = Width()};
  }
};

// The widest of the lists that are named.
template <typename Lists, typename Names>
constexpr int ReplyWidth(const Lists& lists, const Names& names) {
  int width = 1;
  for (const TextList& list : lists) {
    for (const std::string_view name : names) {
      if (name == list.name) width = std::max(width, list.Width());
    }
  }
  return width;
}

// Replies of the questions that are answered by yes or no.
inline constexpr std::string_view kYesTexts[] = {"Yes.", "Yes, that is so.", "So it is."};
inline constexpr std::string_view kNoTexts[] = {"No.", "No, that is not so.", "It is not so."};

// Its texts as tokens; InputErrors as TextTable's.
TextTable TableOf(const Tokenizer& tokenizer, const TextList& list);

// What a task hands to the tokenizer; a text that two lists share stands once.
std::vector<std::string> TextsOf(std::span<const TextList> lists);

}  // namespace medley
