// The draws of a run for who trains elsewhere, and the losses of medley's tasks of somebody else's model.
#include <medley/session/draws.h>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include <medley/run/run.h>
#include <medley/step/callers_model.h>
#include <medley/step/passes/pass_runner.h>

#include "tests/session/session_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Has;

constexpr const char* kRows =
    "plan=false threads=1 hours=0 seed=5 steps=24 tensorboard=false eval.every=0 checkpoint.every=0 "
    "tasks.control.rows=3 tasks.arrow_to_gold.rows=3 tasks.position_qa.rows=5 tasks.zoom_agent.rows=3 "
    "tasks.zoom_gold.rows=4 tasks.zoom_halfway.rows=3";

DrawsRequest RequestFor(const std::string& overrides, std::int64_t rank = 0, std::int64_t world = 1) {
  const BeginRequest run = test::RequestOf("quickstart.json", overrides);
  return {.config = run.config, .overrides = run.overrides, .rank = rank, .world = world};
}

json WordsOf(const Draw& draw) { return {{"task", draw.task}, {"begin", draw.begin}, {"rows", draw.rows}}; }

std::vector<json> NextOf(Draws& draws, int count) {
  std::vector<json> next;
  for (int i = 0; i < count; ++i) next.push_back(WordsOf(draws.Next().draw));
  return next;
}

TEST(Draws, AreThoseThatARunOfTheConfigTrains) {
  const ScratchDirectory scratch;
  ASSERT_EQ(test::TrainToTheEnd(test::RequestOf("quickstart.json", kRows), scratch / "run").code,
            ExitCode::kDone);
  Draws draws(RequestFor(kRows));
  std::istringstream lines(ReadText(scratch / "run/metrics.jsonl"));
  int steps = 0;
  for (std::string line; std::getline(lines, line); ++steps) {
    const json trained = json::parse(line).at("draws");
    EXPECT_EQ(json(NextOf(draws, static_cast<int>(trained.size()))), trained) << "step " << steps + 1;
  }
  EXPECT_EQ(steps, 24);
}

TEST(Draws, GoOnFromTheStateOfEveryStep) {
  Draws straight(RequestFor(kRows)), other(RequestFor(kRows));
  for (int step = 0; step < 30; ++step) {
    const json state = json::parse(straight.Save().dump());
    EXPECT_TRUE(other.Load(state).empty());
    EXPECT_EQ(other.Save(), state);
    EXPECT_EQ(NextOf(other, 4),
              [&] {
                Draws copy(RequestFor(kRows));
                copy.Load(state);
                return NextOf(copy, 4);
              }())
        << "step " << step;
    const DrawnRows own = straight.Next();
    other.Load(state);
    const DrawnRows again = other.Next();
    EXPECT_EQ(WordsOf(again.draw), WordsOf(own.draw));
    for (const auto& [name, column] : own.rows.columns()) EXPECT_TRUE(again.rows.Column(name).equal(column));
  }
}

TEST(Draws, PartsOfAllProcessesMakeTheWhole) {
  for (const std::int64_t world : {1, 2, 3}) {
    Draws whole(RequestFor(kRows));
    std::vector<Draws> parts;
    for (std::int64_t rank = 0; rank < world; ++rank) parts.emplace_back(RequestFor(kRows, rank, world));
    for (int step = 0; step < 12; ++step) {
      const DrawnRows all = whole.Next();
      std::map<std::string, std::vector<at::Tensor>> columns, items;
      std::int64_t next = all.draw.begin;
      for (Draws& part : parts) {
        const DrawnRows own = part.Next();
        EXPECT_EQ(WordsOf(own.draw), WordsOf(all.draw)) << "the whole draw is everybody's";
        EXPECT_EQ(own.rows.rows().begin, next);
        next += own.rows.size();
        for (const auto& [name, column] : own.rows.columns()) columns[name].push_back(column);
        for (const auto& [name, counts] : own.rows.items()) items[name].push_back(counts);
      }
      EXPECT_EQ(next, all.draw.begin + all.draw.rows);
      EXPECT_EQ(columns.size(), all.rows.columns().size());
      for (const auto& [name, column] : all.rows.columns())
        EXPECT_TRUE(at::cat(columns.at(name)).equal(column)) << all.draw.task << " " << name;
      for (const auto& [name, counts] : all.rows.items())
        EXPECT_TRUE(at::cat(items.at(name)).equal(counts)) << all.draw.task << " " << name;
    }
    const json state = whole.Save();
    for (Draws& part : parts) EXPECT_EQ(part.Save(), state) << "another number of processes may go on";
  }
}

TEST(Draws, TakeOtherWeightsFromTheNextOneOn) {
  constexpr const char* kOthers = R"({"unit": "steps", "weights": {"zoom_gold": 1, "control": 1}})";
  Draws draws(RequestFor(kRows));
  NextOf(draws, 10);
  const json before = draws.Save();
  const std::string refused = test::MessageOf<InputError>(
      [&] { draws.SetWeights(R"({"unit": "steps", "weights": {"zoom_glod": 1}})"); });
  EXPECT_TRUE(Has(refused, "weights.zoom_glod: no such task; did you mean 'zoom_gold'?")) << refused;
  EXPECT_EQ(draws.Save(), before) << "an edit that is refused changes nothing";
  draws.SetWeights(kOthers);
  std::map<std::string, int> drawn;
  for (const json& draw : NextOf(draws, 20)) ++drawn[draw.at("task")];
  EXPECT_EQ(drawn.size(), 2U);
  EXPECT_NEAR(drawn["zoom_gold"], 10, 1);
  Draws other(RequestFor(kRows));
  other.Load(draws.Save());
  EXPECT_EQ(other.weights(), kOthers) << "the state has its weights";
  EXPECT_EQ(NextOf(other, 10), NextOf(draws, 10));
  draws.Load(before);
  other.Load(before);
  EXPECT_EQ(NextOf(draws, 10), NextOf(other, 10)) << "and so has an earlier one";
}

TEST(Draws, AreRefusedWhereNobodySaysHowManyRows) {
  const std::string open = std::string(kRows) + " plan=true tasks.zoom_gold.rows=auto";
  const std::string words = test::MessageOf<InputError>([&] { Draws draws(RequestFor(open)); });
  EXPECT_TRUE(Has(words, "tasks.zoom_gold.rows: a plan decides it, and who trains elsewhere has none"))
      << words;
  const ScratchDirectory scratch;
  WriteText(scratch / "plan.json", "{}");
  DrawsRequest planned = RequestFor(open);
  planned.plan = scratch / "plan.json";
  EXPECT_TRUE(Has(test::MessageOf<InputError>([&] { Draws draws(planned); }), "plan.json"));
  const std::string few = test::MessageOf<InputError>([&] { Draws draws(RequestFor(kRows, 0, 4)); });
  EXPECT_TRUE(Has(few, "tasks.control.rows is 3") && Has(few, "for 4 processes") && !Has(few, "position_qa"))
      << few;
  for (const auto& [rank, world] : {std::pair(2, 2), std::pair(-1, 2), std::pair(0, 0)})
    EXPECT_TRUE(Has(test::MessageOf<InputError>([&] { Draws draws(RequestFor(kRows, rank, world)); }),
                    "expected a rank from 0"));
  DrawsRequest staged = RequestFor(kRows);
  staged.stage = "late";
  EXPECT_TRUE(Has(test::MessageOf<InputError>([&] { Draws draws(staged); }), "no stage 'late'"));
}

TEST(Draws, TakeTheRowsOfAPlan) {
  const ScratchDirectory scratch;
  const std::string open =
      "threads=1 hours=0 seed=5 steps=3 tensorboard=false eval.every=0 budget=1GiB tasks.zoom_gold.rows=auto "
      "weights=" +
      (scratch / "weights.json").string();
  WriteText(scratch / "weights.json", R"({"unit": "steps", "weights": {"zoom_gold": 1}})");
  ASSERT_EQ(test::TrainToTheEnd(test::RequestOf("quickstart.json", open), scratch / "run").code,
            ExitCode::kDone);
  DrawsRequest request = RequestFor(open);
  request.plan = scratch / "run/plan.json";
  Draws draws(request);
  const json first = json::parse(ReadText(scratch / "run/metrics.jsonl")
                                     .substr(0, ReadText(scratch / "run/metrics.jsonl").find('\n')))
                         .at("draws");
  EXPECT_EQ(json(NextOf(draws, 1)), first);
}

TEST(Draws, RefuseAStateOfOtherRowsAndWhatIsNone) {
  Draws draws(RequestFor(kRows));
  NextOf(draws, 3);
  const json state = draws.Save();
  const auto refused = [&](const std::string& overrides) {
    Draws other(RequestFor(std::string(kRows) + " " + overrides));
    return test::MessageOf<InputError>([&] { other.Load(state); });
  };
  EXPECT_TRUE(Has(refused("seed=6"), "the state is of other rows: seed: 5 -> 6"));
  EXPECT_TRUE(Has(refused("tasks.arrow_to_gold.options.region_share=0.1"), "tasks.arrow_to_gold.options: "));
  Draws larger(RequestFor(std::string(kRows) + " tasks.control.rows=7"));
  const std::vector<std::string> words = larger.Load(state);
  ASSERT_EQ(words.size(), 1U);
  EXPECT_EQ(words[0], "tasks.control.rows: 3 -> 7") << "only the draws are larger";
  for (const char* key : {"version", "seed", "weights", "tasks", "mixer"}) {
    for (const json& wrong : {json(), json("?"), json(-1), json::array()}) {
      json damaged = state;
      damaged[key] = wrong;
      EXPECT_THROW(draws.Load(damaged), Error) << key << " " << wrong;
      damaged.erase(key);
      EXPECT_THROW(draws.Load(damaged), Error) << key;
    }
  }
  json newer = state;
  newer["version"] = 2;
  EXPECT_EQ(test::MessageOf<InputError>([&] { draws.Load(newer); }),
            "the state is of a newer medley (version 2, this one reads 1). Use that medley, or begin anew");
  for (const json& none : {json(), json("?"), json::array(), json::object()})
    EXPECT_THROW(draws.Load(none), Error) << none;
  EXPECT_EQ(draws.Save(), state);
}

TEST(Draws, LeaveLibtorchAsTheyFoundIt) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  generator.set_current_seed(3);
  const at::Tensor expected = at::rand({2});
  generator.set_current_seed(3);
  const int threads = at::get_num_threads();
  at::set_num_threads(3);
  Draws draws(RequestFor(kRows));
  NextOf(draws, 6);
  EXPECT_EQ(at::get_num_threads(), 3);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::rand({2}).equal(expected));
}

// medley's own model by way of a function, and the same without one.
class CallersModels : public ::testing::Test {
 protected:
  CallersModels() {
    const BeginRequest request = test::RequestOf("quickstart.json", kRows);
    run_ = BuildRun(CheckInputs(request.config, request.overrides), Purpose::kUse);
    run_->model->To(at::kCPU, at::kDouble);
  }
  CallersPasses PassesOf(const DrawnRows& drawn) const {
    return {.task = *drawn.task, .declared = draws_.model(), .device = at::kCPU, .dtype = at::kDouble};
  }
  CallersModel OwnModel() {
    return [this](const CallersForward& asked) {
      ForwardContext context;
      for (const std::string_view name : asked.wanted) wanted_.insert(std::string(name));
      return run_->model->Forward(asked.inputs, asked.wanted, context);
    };
  }
  std::map<std::string, at::Tensor> Own(const DrawnRows& drawn) {
    MicroBatch micro({.task = *drawn.task, .model = *run_->model, .device = at::kCPU}, drawn.rows);
    std::map<std::string, at::Tensor> sums;
    for (const PassInfo& pass : drawn.task->variant().passes) {
      for (const auto& [term, sum] : micro.RunPass(pass))
        sums[term] = sums.contains(term) ? sums.at(term).add(sum) : sum;
    }
    return sums;
  }
  std::vector<at::Tensor> GradientsOf(const std::vector<at::Tensor>& sums) {
    ClearGradients(*run_->model);
    at::Tensor all = sums.at(0);
    for (std::size_t i = 1; i < sums.size(); ++i) all = all.add(sums[i]);
    all.backward();
    std::vector<at::Tensor> gradients;
    for (const Parameter& parameter : run_->model->parameters()) {
      const at::Tensor& gradient = parameter.tensor.grad();
      gradients.push_back(gradient.defined() ? gradient.clone() : at::Tensor());
    }
    ClearGradients(*run_->model);
    return gradients;
  }

  std::unique_ptr<medley::Run> run_;
  Draws draws_{RequestFor(kRows)};
  std::set<std::string> wanted_;
};

TEST_F(CallersModels, HaveTheSumsAndGradientsOfMedleysOwnStep) {
  std::set<std::string> tasks;
  for (int i = 0; i < 20; ++i) {
    const DrawnRows drawn = draws_.Next();
    tasks.insert(drawn.draw.task);
    const auto sums = SumsOf(PassesOf(drawn), drawn.rows, OwnModel());
    const auto own = Own(drawn);
    ASSERT_EQ(sums.size(), own.size()) << drawn.draw.task;
    std::vector<at::Tensor> theirs, ours;
    for (const auto& [term, sum] : own) {
      EXPECT_NEAR(sums.at(term).sum.item<double>(), sum.item<double>(), 1e-10)
          << drawn.draw.task << " " << term;
      EXPECT_EQ(sums.at(term).items, drawn.rows.ItemCount(term));
      EXPECT_TRUE(drawn.term_weights.contains(term));
      theirs.push_back(sums.at(term).sum);
      ours.push_back(sum);
    }
    const auto found = GradientsOf(theirs), expected = GradientsOf(ours);
    for (std::size_t p = 0; p < expected.size(); ++p) {
      ASSERT_EQ(found[p].defined(), expected[p].defined());
      if (!expected[p].defined()) continue;
      EXPECT_LT((found[p] - expected[p]).abs().max().item<double>(), 1e-9);
    }
  }
  EXPECT_EQ(tasks.size(), 6U);
  EXPECT_FALSE(wanted_.contains("losses")) << "losses are made of logits";
  EXPECT_TRUE(wanted_.contains("logits"));
}

TEST_F(CallersModels, AreToldWhatTheyGaveWrong) {
  DrawnRows drawn = draws_.Next();
  while (drawn.draw.task != "position_qa") drawn = draws_.Next();
  const auto words = [&](const std::function<void(ModelOutputs&)>& spoil) {
    const CallersModel model = [&](const CallersForward& asked) {
      ModelOutputs outputs = OwnModel()(asked);
      spoil(outputs);
      return outputs;
    };
    return test::MessageOf<Error>([&] { SumsOf(PassesOf(drawn), drawn.rows, model); });
  };
  EXPECT_TRUE(Has(words([](ModelOutputs& outputs) { outputs.erase("logits"); }), "got no 'logits'"));
  EXPECT_TRUE(Has(words([](ModelOutputs& outputs) { outputs["logits"] = outputs["logits"].sum(); }),
                  "got a wrong 'logits' from the model: expected ["));
  EXPECT_TRUE(Has(words([](ModelOutputs&) { throw Error("my own mistake"); }), "my own mistake"));
}

TEST_F(CallersModels, SeeWhatAPassHandsIn) {
  DrawnRows drawn = draws_.Next();
  while (drawn.draw.task != "zoom_gold") drawn = draws_.Next();
  const std::string first = drawn.task->variant().passes.at(0).name;
  const PassInputs seen = InputsOf(PassesOf(drawn), drawn.rows, first);
  EXPECT_FALSE(seen.wanted.empty());
  ASSERT_NE(FindInput(seen.inputs, "tokens"), nullptr);
  EXPECT_EQ(FindInput(seen.inputs, "tokens")->size(0), drawn.rows.size());
  EXPECT_TRUE(Has(test::MessageOf<Error>([&] { InputsOf(PassesOf(drawn), drawn.rows, "none"); }),
                  "has no pass 'none'; its passes are"));
}

}  // namespace
}  // namespace medley
