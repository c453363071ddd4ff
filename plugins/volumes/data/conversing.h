#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/file_texts.h>
#include <medley/task/task.h>

#include "data/collate.h"
#include "data/examples.h"
#include "data/source.h"

namespace medley_volumes {

// Bounds of what options and a model's config may ask for.
inline constexpr int kMostPositions = 1 << 15, kMostLearned = 256;

constexpr medley::TaskSpec ConversationSpec(std::string_view name, std::string_view summary, double chance,
                                            medley::OptionList options = {}) {
  for (const medley::OptionSpec& option :
       {medley::PathOption("data",
                           "conversations: a .jsonl file, a .json list, or a folder of .json files; without "
                           "one they are made up",
                           false),
        medley::PathOption("validation", "the same, for evaluations alone", false),
        medley::TextOption("answer", "where an answer stands whose text is empty, as metadata.subject_label"),
        medley::OptionSpec{.name = "held_out",
        .value = 8,
        .low = 0,
        .high = 1e6,
        .summary = "without validation, subjects kept for evaluations: a share below 1, or so many"},
        medley::WordOption("orientation", {"stored", "RAS"},
                           "of .nii files: axes as they are stored, or turned to right, front, up"),
        medley::SwitchOption("resize", false,
                             "whether scans of files get the model's sizes, by means of their voxels"),
        medley::OptionSpec{.name = "cache",
        .value = 1024,
        .low = 0,
        .high = 1 << 20,
        .summary = "MiB of the machine's memory for scans of files that were read; 0: none"},
        medley::OptionSpec{.name = "images",
        .value = 0,
        .low = 0,
        .high = kMostScans,
        .summary = "scans of every made-up row; 0: as many as its question needs"},
        medley::OptionSpec{.name = "text",
        .value = 64,
        .low = 8,
        .high = 4096,
        .summary = "most tokens of a row beside its scans"},
        medley::OptionSpec{.name = "learned",
        .value = 16,
        .low = 2,
        .high = kMostLearned,
        .summary = "most tokens of a row that are learned"}})
    options.Add(option);
  options.Add(medley::kSpecialTokensOption);
  return {.name = name,
          .summary = summary,
          .passes = {{.name = "reply",
                      .text_width = kMostPositions,
                      .sizes = {{"volumes", kMostScans}, {"series", kMostScans}}}},
          .terms = {{.name = "reply", .max_items = kMostLearned}},
          .options = options,
          .inputs = {"volumes", "volume_at", "series", "series_at", "tokens", "lengths", "supervised"},
          .outputs = {"logits", "targets"},
          .special_tokens = {"<pad>", "<eos>", "<image>", "</image>"},
          .score = {.name = "accuracy", .chance = chance}};
}

// Learns what the assistant says in conversations about scans. A row's score is 1 where the last answer is
// right, word for word and to its end.
class Conversing : public medley::Task {
 public:
  // Of made-up conversations, or of the file.
  static std::vector<std::string> Texts(const medley::TextsContext& context);
  medley::Batch Sample(const medley::RowRange& rows) const final;
  medley::Sums Run(std::string_view pass, medley::PassContext& context) const final;
  medley::Outcomes Evaluate(medley::EvalContext& context, const medley::RowRange& rows) const final;
  const medley::ItemStream* Items() const final { return source_->Items(); }
  std::int64_t CacheBytes() const final { return source_->CacheBytes(); }
  medley::AskForm Asks() const final;
  medley::Asked Ask(const medley::Questions& questions) const final;

 protected:
  // `make`: for rows without a file.
  Conversing(const medley::TaskContext& context, MakeExample make);
  static Geometry GeometryOf(const medley::TaskContext& context);
  // The option "images"; an InputError where that is fewer than a question needs, and no 0.
  static std::int64_t ImagesOf(const medley::TaskContext& context, std::int64_t least);

 private:
  const medley::Tokenizer& tokenizer_;
  Collator collator_;
  ReadingForm form_;
  std::int64_t width_;  // of "tokens"
  std::unique_ptr<ConversationSource> source_;
};

}  // namespace medley_volumes
