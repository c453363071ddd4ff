#include "data/collate.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include <medley/base/error.h>
#include <medley/task/text_rows.h>

#include "data/scan_file.h"

namespace medley_volumes {
namespace {

[[noreturn]] void Refuse(const std::string& what) { throw medley::InputError(what); }

std::string Words(at::IntArrayRef shape) {
  std::ostringstream out;
  out << shape;
  return out.str();
}

void CheckScan(const at::Tensor& voxels, Modality modality, const Geometry& geometry) {
  const std::vector<std::int64_t> shape = geometry.Shape(modality);
  if (voxels.sizes() != at::IntArrayRef(shape))
    Refuse(std::string("a ") + NameOf(modality) + " is " + Words(voxels.sizes()) + ", the model wants " +
           Words(shape) + "; set the option resize, or the model's sizes");
  RequireFinite(voxels, std::string("a ") + NameOf(modality));
}

}  // namespace

Collator::Collator(const medley::Tokenizer& tokenizer, const Limits& limits, const medley::FileTexts& texts)
    : tokenizer_(tokenizer),
      texts_(texts),
      limits_(limits),
      user_(tokenizer.Encode("user:")),
      assistant_(tokenizer.Encode("assistant:")),
      image_(tokenizer.Id("<image>")),
      image_end_(tokenizer.Id("</image>")) {}

void Collator::AddText(const std::string& text, std::vector<std::int64_t>& tokens) const {
  for (const std::int64_t id : texts_.Encode(text)) {
    if (id == image_ || id == image_end_)
      Refuse("a text holds " + tokenizer_.Piece(id) +
             ", which no scan belongs to; scans are items of their own: {\"image\": FILE}");
    if (id == tokenizer_.eos())
      Refuse("a text holds <eos>, which ends a turn; it is put behind each turn anyway");
    tokens.push_back(id);
  }
}

void Collator::AddScan(const Scan& scan, Line& line) const {
  const bool is_volume = scan.modality == Modality::kVolume;
  at::Tensor voxels = scan.voxels();
  CheckScan(voxels, scan.modality, limits_.geometry);
  (is_volume ? line.volume_at : line.series_at).push_back(std::ssize(line.tokens));
  (is_volume ? line.volumes : line.series).push_back(std::move(voxels));
  line.tokens.insert(line.tokens.end(), static_cast<std::size_t>(limits_.Tokens(scan.modality)), image_);
  line.tokens.push_back(image_end_);
}

void Collator::AddTurn(const Turn& turn, Line& line) const {
  const bool learned = turn.role == Role::kAssistant;
  const std::vector<std::int64_t>& header = learned ? assistant_ : user_;
  line.tokens.insert(line.tokens.end(), header.begin(), header.end());
  const std::int64_t begin = std::ssize(line.tokens);
  if (!learned) line.question = line.question_end = begin;
  const auto [asked, asked_end] = LastTexts(turn.items);
  for (std::size_t i = 0; i < turn.items.size(); ++i) {
    if (!learned && i == asked) line.question = std::ssize(line.tokens);
    if (const auto* text = std::get_if<std::string>(&turn.items[i])) {
      AddText(*text, line.tokens);
    } else {
      if (learned) Refuse(kAssistantsScan);
      AddScan(std::get<Scan>(turn.items[i]), line);
    }
    if (!learned && i + 1 == asked_end) line.question_end = std::ssize(line.tokens);
  }
  if (learned && std::ssize(line.tokens) == begin) Refuse("an assistant's turn says nothing");
  line.tokens.push_back(tokenizer_.eos());
  if (!learned) return;
  line.answer = std::ssize(line.tokens) - begin;
  line.learned.resize(line.learned.size() + static_cast<std::size_t>(line.answer));
  std::iota(line.learned.end() - static_cast<std::ptrdiff_t>(line.answer), line.learned.end(), begin);
}

// The last answer's last word again and again, and before that the last question's: what a row as long as can
// be has. `last_begin`: where the last turn's header begins, behind the <eos> of the question.
void Collator::DrawOut(Line& line, std::size_t last_begin) const {
  const std::int64_t of_scans = limits_.Tokens({std::ssize(line.volumes), std::ssize(line.series)});
  const std::int64_t missing = limits_.text - (std::ssize(line.tokens) - of_scans);
  const std::int64_t learned = limits_.learned - std::ssize(line.learned);
  if (learned < 0 || missing < learned) return;
  const auto words_end = line.tokens.begin() + static_cast<std::ptrdiff_t>(last_begin) - 1;
  line.tokens.insert(words_end, static_cast<std::size_t>(missing - learned), std::int64_t(*(words_end - 1)));
  const auto end = line.tokens.end() - 1;
  line.tokens.insert(end, static_cast<std::size_t>(learned), std::int64_t(*(end - 1)));
  line.answer += learned;
  line.learned.resize(static_cast<std::size_t>(limits_.learned));
  std::iota(line.learned.end() - line.answer, line.learned.end(), std::ssize(line.tokens) - line.answer);
}

void Collator::CheckSizes(const Line& line) const {
  const std::int64_t volumes = std::ssize(line.volumes), series = std::ssize(line.series);
  const std::string scans = std::to_string(volumes) + " volume(s) and " + std::to_string(series) + " series";
  if (volumes + series > kMostScans)
    Refuse(scans + ": a conversation has at most " + std::to_string(kMostScans) + " scans");
  const std::int64_t all = std::ssize(line.tokens);
  const std::int64_t text = all - limits_.Tokens({volumes, series});
  if (all > limits_.positions)
    Refuse(scans + " and " + std::to_string(text) + " tokens of text take " + std::to_string(all) +
           " positions, the model has " + std::to_string(limits_.positions) +
           "; show fewer scans, or raise the model's language.positions");
  if (text > limits_.text)
    Refuse(std::to_string(text) + " tokens of text, the option text has " + std::to_string(limits_.text));
  if (std::ssize(line.learned) > limits_.learned)
    Refuse(std::to_string(line.learned.size()) + " tokens of the assistant's, the option learned has " +
           std::to_string(limits_.learned));
}

Line Collator::LineOf(const Conversation& conversation, bool longest) const {
  if (conversation.turns.empty() || conversation.turns.back().role != Role::kAssistant)
    Refuse("a conversation ends without an assistant's turn: nothing in it can be learned");
  Line line;
  line.one_scan = conversation.one_scan;
  std::size_t last_begin = 0;
  for (const Turn& turn : conversation.turns) {
    last_begin = line.tokens.size();
    AddTurn(turn, line);
  }
  if (longest) DrawOut(line, last_begin);
  CheckSizes(line);
  return line;
}

Line Collator::PromptOf(const Conversation& conversation) const {
  if (conversation.turns.empty() || conversation.turns.back().role != Role::kUser)
    Refuse("a question ends without a user's turn: nobody is to be answered");
  Line line;
  for (const Turn& turn : conversation.turns) AddTurn(turn, line);
  line.tokens.insert(line.tokens.end(), assistant_.begin(), assistant_.end());
  line.learned.clear();
  line.answer = 0;
  // As if a token were there, the least that a reply has.
  line.tokens.push_back(tokenizer_.eos());
  CheckSizes(line);
  line.tokens.pop_back();
  return line;
}

void AddLines(medley::Batch& batch, const std::vector<Line>& lines, std::int64_t width, std::int64_t pad,
              const Geometry& geometry) {
  std::vector<std::vector<std::int64_t>> tokens, learned, answers, volume_at, series_at;
  std::vector<std::int64_t> lengths, questions, items;
  std::vector<double> one_scan;
  for (const Line& line : lines) {
    tokens.push_back(line.tokens);
    lengths.push_back(std::ssize(line.tokens));
    questions.insert(questions.end(), {line.question, line.question_end});
    one_scan.push_back(line.one_scan);
    learned.push_back(line.learned);
    items.push_back(std::ssize(line.learned));
    answers.emplace_back(line.learned.end() - line.answer, line.learned.end());
    volume_at.push_back(line.volume_at);
    series_at.push_back(line.series_at);
  }
  batch.Add("tokens", medley::PadRows(tokens, width, pad));
  batch.Add("lengths", medley::IntColumn(lengths));
  batch.Add("questions", medley::IntColumn(questions).view({-1, 2}));
  batch.Add("one_scan", at::tensor(one_scan, at::kDouble));
  batch.AddRagged("learned", learned);
  batch.AddRagged("answer", answers);
  batch.AddRagged("volume_at", volume_at);
  batch.AddRagged("series_at", series_at);
  batch.SetItems("reply", medley::IntColumn(items));
  for (const Modality modality : {Modality::kVolume, Modality::kSeries}) {
    const bool is_volume = modality == Modality::kVolume;
    std::vector<at::Tensor> scans;
    std::vector<std::int64_t> counts;
    for (const Line& line : lines) {
      const auto& own = is_volume ? line.volumes : line.series;
      scans.insert(scans.end(), own.begin(), own.end());
      counts.push_back(std::ssize(own));
    }
    std::vector<std::int64_t> none = geometry.Shape(modality);
    none.insert(none.begin(), 0);
    batch.AddRagged(is_volume ? "volumes" : "series", scans.empty() ? at::empty(none) : at::stack(scans),
                    counts);
  }
}

medley::ModelInputs PromptInputs(const medley::Batch& batch) {
  medley::ModelInputs inputs = InputsOf(batch, "learned");
  inputs.pop_back();  // what is learned
  return inputs;
}

medley::ModelInputs InputsOf(const medley::Batch& batch, std::string_view learned) {
  const at::Tensor& tokens = batch.Column("tokens");
  const auto flat = [&](std::string_view name) {
    return medley::FlatPositions(batch.Ragged(name), tokens.size(1));
  };
  return {{"volumes", batch.Ragged("volumes").values, ""},
          {"volume_at", flat("volume_at"), ""},
          {"series", batch.Ragged("series").values, ""},
          {"series_at", flat("series_at"), ""},
          {"tokens", tokens, ""},
          {"lengths", batch.Column("lengths"), ""},
          {"supervised", flat(learned), ""}};
}

}  // namespace medley_volumes
