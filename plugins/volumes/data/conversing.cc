#include "data/conversing.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

#include "data/judge.h"
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

ReadingForm FormOf(const medley::TaskContext& context, const Geometry& geometry) {
  const bool ras = context.Word("orientation") == "RAS";
  return {.scans = {.orientation = ras ? Orientation::kRas : Orientation::kStored,
                    .resize = context.Switch("resize"),
                    .geometry = geometry},
          .answer = context.Word("answer")};
}

std::unique_ptr<ConversationSource> SourceOf(const medley::TaskContext& context, MakeExample make,
                                             const Limits& limits, const ReadingForm& form) {
  if (context.Path("data").empty()) {
    if (context.Path("validation").empty()) return std::make_unique<MadeUpConversations>(std::move(make));
    throw medley::InputError("the option validation wants the option data, the file that is trained on");
  }
  auto source = std::make_unique<FileConversations>(
      context.Path("data"), context.HeldOut("held_out", "volumes"), limits, form, context.Path("validation"),
      std::llround(context.Option("cache") * (1 << 20)));
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

// What is had without a look at a scan, by what training was answered.
void AddTrained(const TrainingAnswers& answers, const std::vector<LastWords>& rows,
                medley::Outcomes& outcomes) {
  std::vector<double>& frequent = outcomes.trivial["most frequent answer"];
  frequent.clear();
  double chance = 0;
  for (const LastWords& last : rows) {
    frequent.push_back(answers.IsMostFrequent(last) ? 1 : 0);
    chance += answers.Chance(last.question);
  }
  if (!rows.empty()) outcomes.chance = chance / static_cast<double>(rows.size());
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
      form_(FormOf(context, collator_.limits().geometry)),
      width_(0),
      source_(SourceOf(context, std::move(make), collator_.limits(), form_)) {
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

medley::AskForm Conversing::Asks() const {
  return {.kind = medley::AnswerKind::kWords,
          .talks = true,
          .files = "scans, .nii, .nii.gz, or raw float32 of the model's shape"};
}

medley::Asked Conversing::Ask(const medley::Questions& questions) const {
  ReadingForm form = form_;
  form.are_questions = form.scans.shape_by_size = true;
  std::vector<Line> lines;
  medley::Asked asked;
  const Limits& limits = collator_.limits();
  std::int64_t width = 1;
  for (const medley::JsonItem& line : questions.lines) {
    const Conversation conversation = ConversationOf(line, questions.folder, form);
    try {
      lines.push_back(collator_.PromptOf(conversation));
    } catch (const medley::InputError& error) {
      line.Fail(error.what());
    }
    const std::int64_t length = std::ssize(lines.back().tokens);
    asked.room.push_back(std::min(limits.learned, limits.positions - length));
    width = std::max(width, length);
  }
  medley::Batch batch({.count = std::ssize(lines)});
  AddLines(batch, lines, width, tokenizer_.pad(), limits.geometry);
  asked.inputs = PromptInputs(batch);
  return asked;
}

medley::Sums Conversing::Run(std::string_view, medley::PassContext& context) const {
  const medley::ModelOutputs outputs =
      context.Forward(InputsOf(context.batch(), "learned"), {"logits", "targets"});
  return {{"reply", medley::SumCrossEntropy(outputs.at("logits"), outputs.at("targets"))}};
}

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
  const TrainingAnswers* answers = source_->Answers();
  if (answers == nullptr) return judge.Outcomes({});  // rows are made up
  std::vector<std::string> subjects;
  std::vector<LastWords> last;
  medley::ForEachRow(rows, [&](medley::Row& row) {
    Known known = source_->KnownOf(row);
    subjects.push_back(std::move(known.subject));
    last.push_back(known.last);
  });
  medley::Outcomes outcomes = judge.Outcomes(subjects);
  AddTrained(*answers, last, outcomes);
  return outcomes;
}

}  // namespace medley_volumes
