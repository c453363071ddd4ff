#include <medley/text/tokenizer_trainer.h>

#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>

#include <medley/base/error.h>
#include <medley/text/special_tokens.h>

namespace medley {
namespace {

// Lines, because a piece never crosses one; the line break itself is written as a byte.
class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (end > begin) lines_.push_back(text.substr(begin, end - begin));
        begin = end + 1;
      }
    }
  }

  bool empty() const { return lines_.empty(); }
  bool done() const override { return next_ >= lines_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return lines_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> lines_;
  std::size_t next_ = 0;
};

std::unordered_map<std::string, std::string> Settings(std::int64_t size) {
  std::string special;
  for (const std::string_view name : kSpecialTokens) special.append(special.empty() ? "" : ",").append(name);
  return {{"model_type", "bpe"},
          {"vocab_size", std::to_string(size)},
          {"user_defined_symbols", special},  // found in any text, never cut
          {"unk_id", std::to_string(kSpecialTokens.size())},
          {"bos_id", "-1"},
          {"eos_id", "-1"},
          {"pad_id", "-1"},
          {"byte_fallback", "true"},
          {"character_coverage", "1.0"},
          {"split_digits", "true"},
          {"normalization_rule_name", "identity"},
          {"add_dummy_prefix", "false"},
          {"remove_extra_whitespaces", "false"},
          {"num_threads", "1"},
          {"input_sentence_size", "0"},
          {"shuffle_input_sentence", "false"},
          {"max_sentence_length", "1000000"},
          {"minloglevel", "2"}};
}

}  // namespace

std::string TrainTokenizer(const std::vector<std::string>& texts, std::int64_t size) {
  const std::int64_t least = static_cast<std::int64_t>(kSpecialTokens.size()) + 1 + 256;
  const std::string asked = "a vocabulary of " + std::to_string(size) + " tokens";
  if (size < least) {
    throw InputError(asked + " is too small: the special tokens and the 256 bytes take " +
                     std::to_string(least));
  }
  Lines lines(texts);
  if (lines.empty()) throw InputError("there is no text to learn a vocabulary from: the corpus has no line");
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(Settings(size), &lines, &model);
  if (!status.ok()) {
    const std::string reason = status.ToString();  // "Internal: file(line) [condition] what to do"
    const std::size_t words = reason.rfind("] ");
    throw InputError(asked + " cannot be learned from this corpus: " +
                     (words == std::string::npos ? reason : reason.substr(words + 2)));
  }
  return model;
}

}  // namespace medley
