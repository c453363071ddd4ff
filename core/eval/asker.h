#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <medley/model/model.h>
#include <medley/model/model_config.h>
#include <medley/plugin/loaded_task.h>
#include <medley/report/picture.h>
#include <medley/text/tokenizer.h>

namespace medley {

// Who is asked: a task of a run, or its model as it is.
class Asker {
 public:
  virtual ~Asker();
  virtual AskForm form() const = 0;
  // See Task::Ask. All of the questions have as many pictures, see PictureCount.
  virtual Asked Ask(const Questions& questions) const = 0;
};

// The task outlives it.
class TaskAsker final : public Asker {
 public:
  explicit TaskAsker(const LoadedTask& task) : task_(task) {}
  AskForm form() const override { return task_.Asks(); }
  Asked Ask(const Questions& questions) const override { return task_.Ask(questions); }

 private:
  const LoadedTask& task_;
};

// A model that reads words as they stand, behind pictures where it looks at any, whatever its tasks are.
// Lines are {"prompt": TEXT, "images": [FILE ..]}; names of special tokens in the prompt are these.
class PlainAsker final : public Asker {
 public:
  // `pictures`: their size; nothing where the model looks at none. The tokenizer outlives it.
  PlainAsker(const Tokenizer& tokenizer, const std::optional<ImageGeometry>& pictures)
      : tokenizer_(tokenizer), pictures_(pictures) {}
  AskForm form() const override;
  Asked Ask(const Questions& questions) const override;

 private:
  // Floats [1, 3, size, size] each.
  std::vector<at::Tensor> PicturesOf(const JsonItem& line, const std::filesystem::path& folder) const;

  const Tokenizer& tokenizer_;
  std::optional<ImageGeometry> pictures_;
};

// How many files a line of questions names as "image" or "images", beside its words or in them.
std::size_t PictureCount(const JsonItem& line);

enum class ReplyEnd { kEnded, kCut, kInterrupted };

// What was said to one question.
struct Reply {
  std::string text;  // without what ended it; of classes the likeliest one's name
  std::vector<std::int64_t> tokens{};
  ReplyEnd end = ReplyEnd::kEnded;
  double log_probability = 0;  // of the likeliest class; of the reply with its end, where it was asked for
  std::vector<std::pair<std::string, double>> classes{};  // the five likeliest, with their probabilities
  std::optional<Picture> picture{};                       // where it was asked for
};

// How questions are put.
struct AskSetting {
  const Model& model;
  at::Device device;
  const Tokenizer* tokenizer = nullptr;  // null: nothing is said in words
  std::optional<std::int64_t> tokens{};  // most of a reply; nothing: see DefaultTokens
  double temperature = 0, top_p = 1;
  std::uint64_t seed = 0;          // question n draws from CombineSeeds(seed, n), whatever stands beside it
  bool draws = false;              // a picture too
  bool log_probabilities = false;  // of replies too
  std::int64_t rows_at_once = 16;
  bool cache = true;  // see GenerateOptions
  // Called behind each token with the replies of the present rows so far.
  std::function<bool(const Generated& so_far)> on_token{};
};

// The most tokens of a reply to a prompt where nobody says: what a row of the task has room for, 256 at most;
// of a model asked as it is 16.
std::int64_t DefaultTokens(const Asked& asked, std::size_t row);

// Appends what becomes of the questions, in their order, as many at a time as the setting says; fewer where
// they do not fit. `go_on`, where given, is asked behind each of these.
void AskAll(const Asker& asker, const Questions& questions, const AskSetting& setting,
            std::vector<Reply>& replies, const std::function<bool()>& go_on = {});

}  // namespace medley
