#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <medley/task/spec.h>
#include <medley/task/task.h>

namespace medley {

// Of every driver that reads people's texts.
inline constexpr OptionSpec kSpecialTokensOption =
    SwitchOption("special_tokens", false,
                 "whether names of special tokens in texts of files, as <eos>, are these tokens; else text");

// Not where an author has one of that name, or as many as there can be.
constexpr OptionList WithSpecialTokens(OptionList options) {
  for (const OptionSpec& option : options) {
    if (option.name == kSpecialTokensOption.name) return options;
  }
  if (options.size() < OptionList::kMost) options.Add(kSpecialTokensOption);
  return options;
}

// The one way from a text of somebody's file to tokens. Names of special tokens in it are letters like any
// others, unless the option above says that they are meant, or the run began before this was so.
class FileTexts {
 public:
  explicit FileTexts(const TaskContext& context) : FileTexts(context.tokenizer(), context.NamesAreText()) {}
  FileTexts(const Tokenizer& tokenizer, bool names_are_text)
      : tokenizer_(tokenizer), names_are_text_(names_are_text) {}

  std::vector<std::int64_t> Encode(std::string_view text) const {
    return names_are_text_ ? tokenizer_.EncodeText(text) : tokenizer_.Encode(text);
  }

 private:
  const Tokenizer& tokenizer_;
  bool names_are_text_;
};

}  // namespace medley
