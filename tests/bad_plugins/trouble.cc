// A task of one token that does what its options say: fail, crash, sleep, have no score. For tests of
// commands.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

#include <medley/task/losses.h>
#include <medley/task/plugin.h>
#include <medley/task/text_rows.h>

namespace medley::testing {

class Trouble final : public Task {
 public:
  static constexpr double kMost = 1e9;
  static constexpr TaskSpec kSpec{
      .name = "trouble",
      .passes = {{.name = "say", .text_width = 4}},
      .terms = {{.name = "answer", .max_items = 1}},
      .options = {{.name = "fails_at",
                   .value = 0,
                   .low = 0,
                   .high = kMost,
                   .summary = "first row of a range; 0: none"},
                  {.name = "dies_at",
                   .value = 0,
                   .low = 0,
                   .high = kMost,
                   .summary = "first row of a range; 0: none"},
                  {.name = "deadly_signal", .value = SIGSEGV, .low = 1, .high = 64, .summary = "raised"},
                  {.name = "sample_ms", .value = 0, .low = 0, .high = kMost, .summary = "of a Sample"},
                  {.name = "pass_ms", .value = 0, .low = 0, .high = kMost, .summary = "of a pass"},
                  {.name = "piece_ms", .value = 0, .low = 0, .high = kMost, .summary = "of an evaluation"},
                  {.name = "scores",
                   .value = 1,
                   .low = 0,
                   .high = 4,
                   .summary = "0: NaN, 2: throws; 3: losses of more than 8 rows are NaN, 4: every loss is"},
                  PathOption("checked", "a .jsonl, which is looked through and not used", false)},
      .inputs = {"tokens", "lengths", "supervised"},
      .outputs = {"logits"},
      .special_tokens = {"<pad>", "<eos>"},
      .score = {.name = "luck", .chance = 0.5},
  };
  static std::vector<std::string> Texts() { return {}; }

  explicit Trouble(const TaskContext& context) : eos_(context.tokenizer().eos()) {
    for (const auto& [name, value] : context.options) {
      if (const double* number = std::get_if<double>(&value)) options_[name] = *number;
    }
  }

  Batch Sample(const RowRange& rows) const override {
    Announce("/moment/sample");
    if (rows.count > 1) Sleep("sample_ms");  // not in the check of the first draw
    if (BeginsAt("fails_at", rows)) throw Error("these rows are meant to fail in a caf\xe9");  // Latin-1
    if (BeginsAt("dies_at", rows)) ::raise(static_cast<int>(options_.at("deadly_signal")));
    Batch batch(rows);
    const std::vector<std::vector<std::int64_t>> tokens(static_cast<std::size_t>(rows.count), {eos_, eos_});
    batch.Add("tokens", PadRows(tokens, 4, eos_));
    batch.Add("lengths", IntColumn(std::vector<std::int64_t>(tokens.size(), 2)));
    AddLearned(batch, "learned", "answer", std::vector<LearnedSpan>(tokens.size(), LearnedSpan{1, 2}));
    return batch;
  }

  Sums Run(std::string_view, PassContext& context) const override {
    Announce("/moment/pass");
    Sleep("pass_ms");
    const Batch& batch = context.batch();
    const ModelOutputs outputs =
        context.Forward({{"tokens", batch.Column("tokens"), ""},
                         {"lengths", batch.Column("lengths"), ""},
                         {"supervised", FlatPositions(batch.Ragged("learned"), 4), ""}},
                        {"logits"});
    const double scores = options_.at("scores");
    const bool is_nan = scores == 4 || (scores == 3 && batch.Column("tokens").size(0) > 8);
    const double factor = is_nan ? std::numeric_limits<double>::quiet_NaN() : 1;
    return {{"answer", SumCrossEntropy(outputs.at("logits").mul(factor), outputs.at("targets"))}};
  }

  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    if (options_.at("scores") == 2) throw Error("there is no score");
    context.ForEachPiece(rows, [&](EvalPass&) {
      Announce("/moment/piece");
      Sleep("piece_ms");
    });
    const double score = options_.at("scores") == 0 ? std::numeric_limits<double>::quiet_NaN() : 1;
    return {.score = std::vector<double>(static_cast<std::size_t>(rows.count), score)};
  }

  at::Tensor Constant(std::string_view) const override { return {}; }

 private:
  bool BeginsAt(const char* option, const RowRange& rows) const {
    const auto row = static_cast<std::int64_t>(options_.at(option));
    return row > 0 && row == rows.begin;
  }
  // By a call that whoever watches this process's calls stops it at (tests/crash).
  static void Announce(const char* moment) { ::access(moment, F_OK); }
  // Not where TROUBLE_IS_AWAKE is set: see tests/tools/trouble_run.h.
  void Sleep(const char* option) const {
    if (std::getenv("TROUBLE_IS_AWAKE") != nullptr) return;
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options_.at(option)));
  }

  std::map<std::string, double, std::less<>> options_;
  std::int64_t eos_;
};

MEDLEY_PLUGIN(Trouble)

}  // namespace medley::testing
