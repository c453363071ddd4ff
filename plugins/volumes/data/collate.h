#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <medley/model/model.h>
#include <medley/task/batch.h>
#include <medley/task/file_texts.h>
#include <medley/text/tokenizer.h>

#include "data/conversation.h"

namespace medley_volumes {

// How much of a model's input a row may take.
struct Limits {
  Geometry geometry;
  std::int64_t volume_tokens = 0, series_tokens = 0;  // that a scan becomes
  std::int64_t positions = 0;                         // of the model: tokens of text and scans
  std::int64_t text = 0;                              // tokens beside those of scans
  std::int64_t learned = 0;                           // of these, that are learned

  std::int64_t Tokens(Modality modality) const {
    return modality == Modality::kVolume ? volume_tokens : series_tokens;
  }
  // Positions of so many scans, each with what ends it.
  std::int64_t Tokens(const ScanCounts& scans) const {
    return scans.volumes * (volume_tokens + 1) + scans.series * (series_tokens + 1);
  }
};

// A conversation as one line of tokens. The scans of a turn stand where they stand in it, each as so many
// "<image>" and one "</image>". Learned is what an assistant says, and the <eos> behind it; neither what a
// user says, nor scans, nor the words that say whose turn it is.
struct Line {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> learned;  // positions in `tokens`
  std::int64_t answer = 0;            // of the learned ones, those of the last turn are the last so many
  std::int64_t question = 0, question_end = 0;     // positions of the last question's words
  std::vector<std::int64_t> volume_at, series_at;  // positions of their first tokens
  std::vector<at::Tensor> volumes, series;
  double one_scan = 0;  // the conversation's
};

class Collator {
 public:
  Collator(const medley::Tokenizer& tokenizer, const Limits& limits, const medley::FileTexts& texts);

  // InputError for a conversation that no model could learn from: no turn of an assistant, or none last; text
  // in which names of special tokens are these, with an image's or <eos>; a scan of another shape or with a
  // value that is not finite; more scans, tokens or learned tokens than the limits have. `longest`: text and
  // answer are drawn out to the limits.
  Line LineOf(const Conversation& conversation, bool longest = false) const;

  // What a model is asked with that is to answer the last words, a user's; nothing of it is learned. The same
  // InputErrors, of a reply that is to come also where text or positions leave it no room.
  Line PromptOf(const Conversation& conversation) const;

  const Limits& limits() const { return limits_; }

 private:
  void AddText(const std::string& text, std::vector<std::int64_t>& tokens) const;
  void AddScan(const Scan& scan, Line& line) const;
  void AddTurn(const Turn& turn, Line& line) const;
  void DrawOut(Line& line, std::size_t last_begin) const;
  void CheckSizes(const Line& line) const;

  const medley::Tokenizer& tokenizer_;
  medley::FileTexts texts_;
  Limits limits_;
  std::vector<std::int64_t> user_, assistant_;  // in front of their turns
  std::int64_t image_, image_end_;
};

// The columns of a batch: "tokens" [rows, width] padded, "lengths" [rows], "questions" [rows, 2] (begin and
// end of the last one's words), "one_scan" [rows] float64; ragged "learned", "answer" (positions of the last
// turn's learned tokens), "volumes" and "series" (scans of all rows behind one another), "volume_at" and
// "series_at" (the position of each one's first token in its row).
void AddLines(medley::Batch& batch, const std::vector<Line>& lines, std::int64_t width, std::int64_t pad,
              const Geometry& geometry);
// What the model is given of them; `learned`: "learned" or "answer".
medley::ModelInputs InputsOf(const medley::Batch& batch, std::string_view learned);
// What it is given of prompts.
medley::ModelInputs PromptInputs(const medley::Batch& batch);

}  // namespace medley_volumes
