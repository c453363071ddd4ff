#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <medley/text/split_pattern.h>
#include <medley/text/tokenizer_json.h>

namespace medley {

// Cuts texts into the words that byte pairs are joined in. Safe to use from several threads.
class WordCutter {
 public:
  // `file`: for errors.
  WordCutter(const std::vector<SplitStep>& steps, const std::string& file);

  // Calls `take` with each word, in order; a word lives until `take` returns.
  template <typename Take>
  void Cut(std::string_view text, const Take& take, std::size_t step = 0) const {
    if (step == steps_.size()) return take(text);
    std::string spaced;
    if (steps_[step].prefix_space && !text.starts_with(' ')) text = spaced.assign(" ").append(text);
    for (const Span& span : steps_[step].Pieces(text))
      Cut(text.substr(span.begin, span.end - span.begin), take, step + 1);
  }

 private:
  struct Step {
    // None is empty.
    std::vector<Span> Pieces(std::string_view text) const;

    std::vector<SplitPattern> pattern;  // one, or none: only a space is put in front
    SplitBehavior behavior;
    bool invert, prefix_space;
  };

  std::vector<Step> steps_;
};

}  // namespace medley
