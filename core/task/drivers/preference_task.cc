#include <medley/task/drivers/preference_task.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <set>
#include <utility>

#include <medley/base/error.h>
#include <medley/task/losses.h>
#include <medley/task/tensors.h>
#include <medley/task/text_rows.h>

namespace medley {
namespace {

constexpr std::int64_t kPairRows = 4096;
constexpr double kNearestToOne = -1e-7;  // of a logarithm: the odds of a sure reply are finite

Conversation Answered(const Preference& preference, const std::string& reply) {
  Conversation conversation = preference.prompt;
  for (Turn& turn : conversation) turn.learned = false;
  conversation.push_back({"assistant", reply, /*learned=*/true});
  return conversation;
}

// log(p / (1 - p)) of log p.
at::Tensor LogOdds(const at::Tensor& log_p) {
  const at::Tensor below_one = log_p.clamp_max(kNearestToOne);
  return below_one - below_one.expm1().neg().log();
}

// 1 above 0, 0 below: 0.5 where nothing is preferred.
at::Tensor Preferred(const at::Tensor& margins) { return margins.sign().add(1).div(2); }

std::vector<double> HostDoubles(const at::Tensor& values) {
  const at::Tensor host = values.to(at::kCPU, at::kDouble).contiguous();
  const double* first = host.const_data_ptr<double>();
  return {first, first + host.numel()};
}

}  // namespace

PreferenceTokens TokensOf(const ChatRows& rows, const Preference& preference) {
  if (preference.prompt.empty() || preference.prompt.back().role != "user")
    throw InputError("the prompt: expected a user's turn at its end");
  const Conversation chosen = Answered(preference, preference.chosen),
                     rejected = Answered(preference, preference.rejected);
  const auto check = [&](const Conversation& conversation, const char* reply) {
    const auto problem = rows.format().ProblemOf(conversation);
    if (!problem) return;
    const bool is_reply = problem->turn + 1 == conversation.size();
    throw InputError((is_reply ? reply : "the prompt's turn " + std::to_string(problem->turn + 1)) + ": " +
                     problem->what);
  };
  check(chosen, "chosen");
  check(rejected, "rejected");
  PreferenceTokens tokens{rows.format().Encode(chosen), rows.format().Encode(rejected)};
  if (std::max(std::ssize(tokens.chosen.ids), std::ssize(tokens.rejected.ids)) > rows.width()) {
    tokens.cut = std::max(rows.TooMany(chosen), rows.TooMany(rejected));
    tokens.chosen = rows.format().Encode(ChatRows::Without(chosen, tokens.cut));
    tokens.rejected = rows.format().Encode(ChatRows::Without(rejected, tokens.cut));
  }
  if (tokens.chosen.ids == tokens.rejected.ids)
    throw InputError("chosen and rejected are the same; expected two replies");
  return tokens;
}

PreferenceTask::PreferenceTask(const TaskContext& context)
    : tokenizer_(context.tokenizer()),
      rows_(context),
      kind_(context.variant == "orpo"    ? Kind::kOrpo
            : context.variant == "simpo" ? Kind::kSimpo
                                         : Kind::kDpo),
      beta_(context.Option("beta")),
      gamma_(context.Option("gamma")) {
  if (beta_ == 0) beta_ = kind_ == Kind::kSimpo ? 2 : 0.1;
}

Batch PreferenceTask::Sample(const RowRange& rows) const {
  std::vector<ChatTokens> chosen, rejected;
  ForEachRow(rows, [&](Row& row) {
    try {
      PreferenceTokens tokens = TokensOf(rows_, Draw(row));
      for (ChatTokens* reply : {&tokens.chosen, &tokens.rejected}) {
        if (row.longest()) rows_.Lengthen(*reply);
      }
      chosen.push_back(std::move(tokens.chosen));
      rejected.push_back(std::move(tokens.rejected));
    } catch (const InputError& error) {
      throw InputError("row " + std::to_string(row.number) + ": " + error.what());
    }
  });
  Batch batch(rows);
  rows_.AddTo(batch, "chosen.", chosen);
  rows_.AddTo(batch, "rejected.", rejected);
  batch.SetItems("chosen", LearnedItems(chosen));
  for (const char* term : {"preference", "margin", "accuracy"}) batch.CountEach(term);
  return batch;
}

at::Tensor PreferenceTask::LogProbabilities(const ModelOutputs& outputs, const Batch& batch,
                                            const std::string& prefix) const {
  const at::Tensor& losses = outputs.at("losses");
  const at::Tensor& item_row = batch.Ragged(prefix + "learned").item_row;
  const at::Tensor sums = at::zeros({batch.size()}, losses.options()).index_add(0, item_row, losses.neg());
  if (kind_ == Kind::kDpo) return sums;
  const at::Tensor items =
      at::zeros({batch.size()}, losses.options()).index_add(0, item_row, at::ones_like(losses));
  return sums / items;
}

at::Tensor PreferenceTask::Margins(const at::Tensor& chosen, const at::Tensor& rejected) const {
  if (kind_ == Kind::kOrpo) return LogOdds(chosen) - LogOdds(rejected);
  return (chosen - rejected).mul(beta_);
}

at::Tensor PreferenceTask::Losses(const at::Tensor& margins) const {
  if (kind_ == Kind::kOrpo) return at::log_sigmoid(margins).mul(-beta_);
  return at::log_sigmoid(kind_ == Kind::kSimpo ? margins - gamma_ : margins).neg();
}

Sums PreferenceTask::Run(std::string_view pass, PassContext& context) const {
  const Batch& batch = context.batch();
  const std::string prefix = pass.ends_with("chosen") ? "chosen." : "rejected.";
  const ModelOutputs outputs = context.Forward(ChatRows::Inputs(batch, prefix), {"losses"});
  const at::Tensor found = LogProbabilities(outputs, batch, prefix);
  if (pass != "rejected") context.Carry(pass, found);
  if (pass == "chosen") return {{"chosen", SumLosses(outputs.at("losses"))}};
  if (pass != "rejected") return {};
  at::Tensor chosen = context.Carried("chosen"), rejected = found;
  if (kind_ == Kind::kDpo) {
    chosen = chosen - context.Carried("ref_chosen");
    rejected = rejected - context.Carried("ref_rejected");
  }
  const at::Tensor margins = Margins(chosen, rejected);
  return {{"preference", Losses(margins).sum()},
          {"margin", margins.detach().sum()},
          {"accuracy", Preferred(margins.detach()).sum()}};
}

void PreferenceTask::Show(const RowRange& rows, const std::vector<double>& preferred, std::size_t first,
                          Sheet& sheet) const {
  for (std::int64_t i = 0; i < rows.count && Sheet::Shows(first + static_cast<std::size_t>(i)); ++i) {
    Row row(rows, rows.begin + i);
    const Preference drawn = Draw(row);
    std::string question;
    for (const Turn& turn : drawn.prompt) question += turn.role + ": " + turn.text + "\n";
    const double is_preferred = preferred[static_cast<std::size_t>(i)];
    sheet.Add(first + static_cast<std::size_t>(i),
              {.question = question + "chosen: " + drawn.chosen + "\nrejected: " + drawn.rejected,
               .reply = is_preferred > 0.5   ? "chosen"
                        : is_preferred < 0.5 ? "rejected"
                                             : "neither",
               .right = "chosen",
               .is_right = is_preferred > 0.5});
  }
}

Outcomes PreferenceTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  Sheet sheet;
  std::vector<double>& figure = outcomes.figures["margin"].rows;
  std::vector<double>& longer = outcomes.trivial["the longer reply"];
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const Batch& batch = piece.batch();
    const auto of = [&](const std::string& prefix) {
      const ModelInputs inputs = ChatRows::Inputs(batch, prefix);
      const at::Tensor found = LogProbabilities(piece.Forward(inputs, {"losses"}), batch, prefix);
      if (kind_ != Kind::kDpo) return found;
      return found - LogProbabilities(piece.ForwardOf("start", inputs, {"losses"}), batch, prefix);
    };
    const at::Tensor margins = Margins(of("chosen."), of("rejected."));
    const std::vector<double> preferred = HostDoubles(Preferred(margins)), by_how_much = HostDoubles(margins);
    const std::vector<double> by_length = HostDoubles(
        Preferred((batch.Column("chosen.lengths") - batch.Column("rejected.lengths")).to(at::kDouble)));
    Show(batch.rows(), preferred, outcomes.score.size(), sheet);
    outcomes.score.insert(outcomes.score.end(), preferred.begin(), preferred.end());
    figure.insert(figure.end(), by_how_much.begin(), by_how_much.end());
    longer.insert(longer.end(), by_length.begin(), by_length.end());
  });
  sheet.MoveTo(outcomes);
  return outcomes;
}

Conversation PreferenceTask::Question(const JsonItem& line) const { return AskedMessages(line); }

AskForm PreferenceTask::Asks() const { return {.kind = AnswerKind::kWords, .talks = true}; }

Asked PreferenceTask::Ask(const Questions& questions) const {
  std::vector<Conversation> conversations;
  for (const JsonItem& line : questions.lines) conversations.push_back(Question(line));
  return rows_.Ask(std::move(conversations), questions);
}

std::vector<std::string> PreferenceTask::ShownTexts() const {
  std::set<std::string> texts;
  ForEachRow({.seed = 0, .begin = 0, .count = kPairRows}, [&](Row& row) {
    const Preference drawn = Draw(row);
    for (const std::string* reply : {&drawn.chosen, &drawn.rejected})
      texts.insert(rows_.format().Text(Answered(drawn, *reply)));
  });
  return {texts.begin(), texts.end()};
}

}  // namespace medley
