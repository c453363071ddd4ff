#include "data/conversing.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/task/drawings.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

#include "model/volumes.h"

namespace medley_volumes {
namespace {

Limits LimitsOf(const medley::TaskContext& context, const Geometry& geometry) {
  const medley::ModelConfig& model = context.model();
  return {.geometry = geometry,
          .volume_tokens = VolumeTokens(model),
          .series_tokens = SeriesTokens(model),
          .positions = model.Integer("language.positions"),
          .text = static_cast<std::int64_t>(context.Option("text")),
          .learned = static_cast<std::int64_t>(context.Option("learned"))};
}

std::unique_ptr<ConversationSource> SourceOf(const medley::TaskContext& context, MakeExample make,
                                             const Limits& limits) {
  if (context.Path("data").empty()) {
    if (context.Path("validation").empty()) return std::make_unique<MadeUpConversations>(std::move(make));
    throw medley::InputError("the option validation wants the option data, the file that is trained on");
  }
  const bool ras = context.Word("orientation") == "RAS";
  const ReadingForm form{.scans = {.orientation = ras ? Orientation::kRas : Orientation::kStored,
                                   .resize = context.Switch("resize"),
                                   .geometry = limits.geometry},
                         .answer = context.Word("answer")};
  auto source = std::make_unique<FileConversations>(
      context.Path("data"), context.HeldOut("held_out", "volumes"), limits, form, context.Path("validation"));
  for (const std::string& words : source->Words()) context.Say(words);
  return source;
}

// Rows as long as can be are of two kinds at most, which take turns: see MultimodalExample.
std::int64_t WidthOf(const ConversationSource& source, const Limits& limits) {
  std::int64_t of_scans = 0;
  medley::ForEachRow({.count = 2, .longest = true}, [&](medley::Row& row) {
    of_scans = std::max(of_scans, limits.Tokens(CountScans(source.Draw(row))));
  });
  return of_scans + limits.text;
}

// Of the first volume of each row, the slice in its middle; nothing where one has none.
at::Tensor Shown(const medley::Batch& rows) {
  const medley::RaggedColumn& volumes = rows.Ragged("volumes");
  std::vector<std::int64_t> first;
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (volumes.offsets[at] == volumes.offsets[at + 1]) return {};
    first.push_back(volumes.offsets[at]);
  }
  return medley::DrawSlice(volumes.values.index_select(0, medley::IntColumn(first)));
}

}  // namespace

std::vector<std::string> Conversing::Texts(const medley::TextsContext& context) {
  if (context.Path("data").empty()) return ExampleTexts();
  const ConversationFile file(context.Path("data"), {.answer = context.Word("answer")});
  std::vector<std::string> texts;
  for (std::int64_t item = 0; item < file.size(); ++item) {
    for (const Turn& turn : file.Read(item).turns) {
      for (const Content& content : turn.items) {
        if (const auto* text = std::get_if<std::string>(&content)) texts.push_back(*text);
      }
    }
  }
  return texts;
}

Geometry Conversing::GeometryOf(const medley::TaskContext& context) {
  const medley::ModelConfig& model = context.model();
  if (model.kind() != Volumes::kSpec.name)
    throw medley::InputError("conversations about scans need the model volumes, not " + model.kind());
  return {.volume_side = model.Integer("volume.size"),
          .series_side = model.Integer("series.size"),
          .frames = model.Integer("series.frames")};
}

std::int64_t Conversing::ImagesOf(const medley::TaskContext& context, std::int64_t least) {
  const double images = context.Option("images");
  if (images == std::floor(images) && (images == 0 || images >= static_cast<double>(least)))
    return static_cast<std::int64_t>(images);
  throw medley::InputError("the option images: rows of this task have " + std::to_string(least) + " to " +
                           std::to_string(kMostScans) +
                           " scans; give one of these, or 0 for as many as a question needs");
}

Conversing::Conversing(const medley::TaskContext& context, MakeExample make)
    : tokenizer_(context.tokenizer()),
      collator_(tokenizer_, LimitsOf(context, GeometryOf(context)), medley::FileTexts(context)),
      width_(0),
      source_(SourceOf(context, std::move(make), collator_.limits())) {
  const Limits& limits = collator_.limits();
  if (limits.learned > limits.text / 2)
    throw medley::InputError("the option learned is " + std::to_string(limits.learned) +
                             ", more than half of text " + std::to_string(limits.text) + "; raise text");
  width_ = WidthOf(*source_, limits);
  if (width_ > limits.positions)
    throw medley::InputError("rows take up to " + std::to_string(width_) + " positions, " +
                             std::to_string(limits.text) + " of them text, the model has " +
                             std::to_string(limits.positions) +
                             "; raise its language.positions, or show fewer scans");
}

medley::Batch Conversing::Sample(const medley::RowRange& rows) const {
  std::vector<Line> lines;
  medley::ForEachRow(rows, [&](medley::Row& row) {
    const Conversation conversation = source_->Draw(row);
    try {
      lines.push_back(collator_.LineOf(conversation, row.longest()));
    } catch (const medley::InputError& error) {
      const std::string where = conversation.where ? " (" + conversation.where() + ")" : "";
      throw medley::InputError("row " + std::to_string(row.number) + where + ": " + error.what());
    }
  });
  medley::Batch batch(rows);
  AddLines(batch, lines, width_, tokenizer_.pad(), collator_.limits().geometry);
  return batch;
}

medley::Sums Conversing::Run(std::string_view, medley::PassContext& context) const {
  const medley::ModelOutputs outputs =
      context.Forward(InputsOf(context.batch(), "learned"), {"logits", "targets"});
  return {{"reply", medley::SumCrossEntropy(outputs.at("logits"), outputs.at("targets"))}};
}

// What the judge of an evaluation has seen so far.
class Conversing::Judge {
 public:
  explicit Judge(const medley::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // `said` and `right`: the tokens of all rows' last answers behind one another.
  void Add(const medley::Batch& batch, const std::vector<std::int64_t>& said,
           const std::vector<std::int64_t>& right) {
    if (medley::Sheet::Shows(outcomes_.score.size())) {
      if (const at::Tensor shown = Shown(batch); shown.defined()) sheet_.Add(shown.to(at::kFloat).div_(255));
    }
    const std::vector<std::int64_t>& offsets = batch.Ragged("answer").offsets;
    const at::Tensor& best = batch.Column("one_scan");
    for (std::int64_t row = 0; row < batch.size(); ++row) {
      const auto at = static_cast<std::size_t>(row);
      const auto part = [&](const std::vector<std::int64_t>& ids) {
        return tokenizer_.Decode({ids.begin() + offsets[at], ids.begin() + offsets[at + 1]});
      };
      const std::string question = QuestionOf(batch, row), reply = part(said), answer = part(right);
      asked_[question][answer].push_back(outcomes_.score.size());
      const auto scans = [&](std::string_view kind) {
        const std::vector<std::int64_t>& shown = batch.Ragged(kind).offsets;
        return shown[at + 1] - shown[at];
      };
      shown_[scans("volumes") + scans("series")].push_back(outcomes_.score.size());
      sheet_.Add(outcomes_.score.size(),
                 {.question = question, .reply = reply, .right = answer, .is_right = reply == answer});
      outcomes_.score.push_back(reply == answer ? 1 : 0);
      one_scan_.push_back(best[row].item<double>());
    }
  }

  medley::Outcomes Outcomes() {
    std::vector<double>& frequent = outcomes_.trivial["most frequent answer"];
    frequent.assign(outcomes_.score.size(), 0);
    for (const auto& [question, answers] : asked_) {
      const auto& most = *std::max_element(answers.begin(), answers.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
      for (const std::size_t row : most.second) frequent[row] = 1;
    }
    if (asked_.size() > 1 && asked_.size() <= kMostFigures) AddQuestions();
    if (shown_.size() > 1) AddScanCounts();
    const bool known =
        std::all_of(one_scan_.begin(), one_scan_.end(), [](double x) { return std::isfinite(x); });
    if (known) outcomes_.trivial["best of one scan"] = one_scan_;
    sheet_.MoveTo(outcomes_);
    return std::move(outcomes_);
  }

 private:
  static constexpr std::size_t kMostFigures = 8;

  // The score of these rows alone.
  void AddToFigure(const std::string& name, const std::vector<std::size_t>& rows) {
    std::vector<double>& figure = outcomes_.Share(name);
    figure.resize(outcomes_.score.size(), std::numeric_limits<double>::quiet_NaN());
    for (const std::size_t row : rows) figure[row] = outcomes_.score[row];
  }
  // Of each question, where there are a few.
  void AddQuestions() {
    for (const auto& [question, answers] : asked_) {
      const std::size_t begin = std::min(question.find_first_not_of(' '), question.size());
      const std::string name = begin < question.size() ? question.substr(begin) : "no words";
      for (const auto& [answer, rows] : answers) AddToFigure(name, rows);
    }
  }
  void AddScanCounts() {
    for (const auto& [count, rows] : shown_)
      AddToFigure(std::to_string(count) + (count == 1 ? " scan" : " scans"), rows);
  }
  std::string QuestionOf(const medley::Batch& batch, std::int64_t row) const {
    const std::vector<std::int64_t> span = medley::HostValues(batch.Column("questions")[row]);
    return tokenizer_.Decode(medley::HostValues(batch.Column("tokens")[row].slice(0, span[0], span[1])));
  }

  const medley::Tokenizer& tokenizer_;
  medley::Outcomes outcomes_;
  medley::Sheet sheet_;
  std::vector<double> one_scan_;
  std::map<std::string, std::map<std::string, std::vector<std::size_t>>> asked_;  // question: answer: rows
  std::map<std::int64_t, std::vector<std::size_t>> shown_;                        // scans: rows
};

// A greedy reply is the right one, and no other, where each of its tokens is the likeliest behind the right
// ones before it.
medley::Outcomes Conversing::Evaluate(medley::EvalContext& context, const medley::RowRange& rows) const {
  Judge judge(tokenizer_);
  context.ForEachPiece(rows, [&](medley::EvalPass& piece) {
    const medley::ModelOutputs outputs =
        piece.Forward(InputsOf(piece.batch(), "answer"), {"logits", "targets"});
    judge.Add(piece.batch().To(at::kCPU), medley::HostValues(outputs.at("logits").argmax(1)),
              medley::HostValues(outputs.at("targets")));
  });
  medley::Outcomes outcomes = judge.Outcomes();
  if (const TrainingAnswers* answers = source_->Answers()) AddTrained(*answers, rows, outcomes);
  return outcomes;
}

// What is had without a look at a scan: by what training was answered, of which a made-up row knows nothing.
void Conversing::AddTrained(const TrainingAnswers& answers, const medley::RowRange& rows,
                            medley::Outcomes& outcomes) const {
  std::vector<double>& frequent = outcomes.trivial["most frequent answer"];
  frequent.clear();
  double chance = 0;
  medley::ForEachRow(rows, [&](medley::Row& row) {
    const LastWords last = LastWordsOf(source_->Draw(row));
    frequent.push_back(answers.IsMostFrequent(last) ? 1 : 0);
    chance += answers.Chance(last.question);
  });
  if (rows.count > 0) outcomes.chance = chance / static_cast<double>(rows.count);
}

}  // namespace medley_volumes
