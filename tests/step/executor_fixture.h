#pragma once

// A small model and scripted tasks for the executor's tests: every parameter is used once per pass, so that
// the modes can be compared bit for bit.

#include <gtest/gtest.h>
#include <medley/contract/contract_check.h>
#include <medley/model/blocks/dropout.h>
#include <medley/model/float_type.h>
#include <medley/plugin/plugin_host.h>
#include <medley/step/step_executor.h>
#include <medley/testing/gradients.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace medley::testing_fixture {

constexpr std::int64_t kSide = 2, kPixels = 3 * kSide * kSide, kWords = 4, kHidden = 7, kClasses = 5;

// Numbers that look random and depend on the name alone.
inline at::Tensor Numbers(const std::string& name, at::IntArrayRef shape, double scale) {
  RowRandom random(HashName(name));
  at::Tensor numbers = at::empty(shape, at::kDouble);
  double* value = numbers.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) value[i] = random.Uniform(-scale, scale);
  return numbers;
}

inline constexpr ModelSpec kFixtureSpec{
    .name = "fixture",
    .sizes = {{.name = "images"}, {.name = "text_width"}},
    .inputs = {{.name = "images", .dimensions = {"rows", "3", "2", "2"}, .times = "images"},
               {.name = "tokens", .dimensions = {"rows", "text_width"}}},
    .outputs = {{.name = "y", .dimensions = {"rows", "5"}},
                {.name = "image", .dimensions = {"rows", "3", "2", "2"}}}};

// y = head(mid(words + sum of encoder(image))), and a picture from the same hidden state.
class FixtureModel : public Model {
 public:
  explicit FixtureModel(bool share = true) : Model(kFixtureSpec), share_(share) {
    for (const auto& [name, in, out] :
         std::vector<std::tuple<std::string, std::int64_t, std::int64_t>>{{"encoder", kPixels, kHidden},
                                                                          {"words", kWords, kHidden},
                                                                          {"mid", kHidden, kHidden},
                                                                          {"head", kHidden, kClasses},
                                                                          {"picture", kHidden, kPixels}}) {
      parameters_.push_back({name + ".weight", Numbers(name, {in, out}, 0.7).set_requires_grad(true)});
      parameters_.push_back({name + ".bias", Numbers(name + ".bias", {out}, 0.3).set_requires_grad(true)});
    }
  }

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override {
    at::Tensor hidden;
    for (const ModelInput& input : inputs) {
      at::Tensor part;
      if (input.name == "tokens") {
        part = Linear("words", input.tensor);
      } else {
        const auto encode = [&] {
          ++encodings_made;
          return RunLayer(0, "encoder", input.tensor.flatten(1), context);
        };
        part = share_ && !input.key.empty() ? context.Shared("encoder/" + input.key, encode) : encode();
      }
      hidden = hidden.defined() ? hidden + part : part;
    }
    if (noise > 0) hidden = hidden + noise * at::rand_like(hidden);
    seeds.push_back(context.Seed("mid"));
    hidden = RunLayer(1, "mid", hidden, context);
    ModelOutputs outputs;
    for (const std::string_view name : wanted) {
      const at::Tensor made = name == "y"
                                  ? Linear("head", hidden)
                                  : at::sigmoid(Linear("picture", hidden)).reshape({-1, 3, kSide, kSide});
      outputs[std::string(name)] = made.to(AtLeastFloat(made.scalar_type()));
    }
    return outputs;
  }
  Generated Generate(const ModelInputs&, const GenerateOptions&, ForwardContext&) const override {
    return {};
  }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  void To(at::Device, at::ScalarType dtype) override {
    for (Parameter& parameter : parameters_)
      parameter.tensor = parameter.tensor.detach().to(dtype).set_requires_grad(true);
  }

  bool drops = false;  // half of the hidden values
  double noise = 0;    // of the default generator, added to them
  mutable int encodings_made = 0, layers_run = 0;
  mutable std::vector<std::uint64_t> seeds;  // one a forward

 private:
  at::Tensor RunLayer(int index, const std::string& name, const at::Tensor& x,
                      ForwardContext& context) const {
    const Dropout drop(drops ? 0.5 : 0, name, context);
    return context.Layer("body", index, x, [this, name, drop](const at::Tensor& in) {
      ++layers_run;
      return drop(at::tanh(Linear(name, in)));
    });
  }
  at::Tensor Linear(const std::string& name, const at::Tensor& x) const {
    for (std::size_t i = 0; i < parameters_.size(); i += 2) {
      if (parameters_[i].name == name + ".weight") {
        return at::addmm(parameters_[i + 1].tensor, x.to(parameters_[i].tensor.scalar_type()),
                         parameters_[i].tensor);
      }
    }
    throw Error("no layer " + name);
  }

  std::vector<Parameter> parameters_;
  bool share_;
};

// A task whose parts a test writes down.
struct Script {
  std::function<Batch(const RowRange&)> sample;
  std::function<Sums(const std::string&, PassContext&)> run;
  std::function<at::Tensor(const std::string&)> constant = [](const std::string&) {
    return Numbers("table", {6, kWords}, 1.0).to(at::kFloat);
  };
  std::int64_t cache = 0;
};

class ScriptedTask : public Task {
 public:
  explicit ScriptedTask(Script script) : script_(std::move(script)) {}
  Batch Sample(const RowRange& rows) const override { return script_.sample(rows); }
  Sums Run(std::string_view pass, PassContext& context) const override {
    return script_.run(std::string(pass), context);
  }
  Outcomes Evaluate(EvalContext&, const RowRange&) const override { return {}; }
  at::Tensor Constant(std::string_view name) const override { return script_.constant(std::string(name)); }
  std::int64_t CacheBytes() const override { return script_.cache; }

 private:
  Script script_;
};

// A scripted task with its spec, loaded from no plugin.
struct Fixture {
  Fixture(TaskInfo task_info, Script script)
      : info(std::make_unique<TaskInfo>(std::move(task_info))),
        task(std::make_unique<LoadedTask>(*info, info->variants.front(), "fixture",
                                          std::make_unique<ScriptedTask>(std::move(script)))) {}

  static RowRange Range(std::int64_t begin, std::int64_t count = 1) {
    return {.seed = 11, .begin = begin, .count = count};
  }
  Batch Rows(std::int64_t begin, std::int64_t count) const { return task->Sample(Range(begin, count)); }

  std::unique_ptr<TaskInfo> info;
  std::unique_ptr<LoadedTask> task;
};

inline at::Tensor Bytes(const RowRange& rows, std::uint64_t stream) {
  at::Tensor bytes = at::empty({rows.count, 3, kSide, kSide}, at::kByte);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    RowRandom random = rows.Random(rows.begin + row, stream);
    std::uint8_t* pixel = bytes.mutable_data_ptr<std::uint8_t>() + row * kPixels;
    for (std::int64_t i = 0; i < kPixels; ++i) pixel[i] = static_cast<std::uint8_t>(random.Below(256));
  }
  return bytes;
}

inline at::Tensor Ints(const RowRange& rows, std::uint64_t stream, std::int64_t below) {
  at::Tensor ints = at::empty({rows.count}, at::kLong);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    ints.mutable_data_ptr<std::int64_t>()[row] = rows.Random(rows.begin + row, stream).Below(below);
  }
  return ints;
}

// Questions about one picture: `passes` passes, each with words of its own from a table and a ragged number
// of answers a row (none to `most`); two terms.
inline TaskInfo QaInfo(const std::string& name, int passes, int most = 9) {
  VariantInfo variant{.name = "default", .passes = {}, .terms = {}};
  for (int p = 0; p < passes; ++p) {
    variant.passes.push_back(
        {.name = "q" + std::to_string(p), .text_width = kWords, .images = {"picture"}, .carries = {}});
  }
  variant.terms = {{.name = "answer", .weight = 1.0, .max_items = most * passes},
                   {.name = "size", .weight = 0.3, .max_items = passes}};
  TaskInfo info;
  info.name = name;
  info.variants = {variant};
  info.constants = {{.name = "table", .rows = 6, .width = kWords, .dtype = "float32"}};
  info.inputs = {"images", "tokens"};
  info.outputs = {"y"};
  return info;
}

inline Batch QaRows(const RowRange& rows, int passes, int most = 9) {
  Batch batch(rows);
  batch.Add("picture", Bytes(rows, 1));
  at::Tensor answers = at::zeros({rows.count}, at::kLong);
  for (int p = 0; p < passes; ++p) {
    const std::string pass = "q" + std::to_string(p);
    batch.Add("words_" + pass, Ints(rows, 10 + p, 6));
    std::vector<std::vector<std::int64_t>> targets(rows.count);
    for (std::int64_t row = 0; row < rows.count; ++row) {
      RowRandom random = rows.Random(rows.begin + row, 20 + p);
      targets[row].resize(rows.longest ? most : random.Below(most + 1));
      for (std::int64_t& target : targets[row]) target = random.Below(kClasses);
      answers[row] += static_cast<std::int64_t>(targets[row].size());
    }
    batch.AddRagged("targets_" + pass, targets);
  }
  batch.SetItems("answer", answers);
  batch.SetItems("size", at::full({rows.count}, passes, at::kLong));
  return batch;
}

inline Sums QaPass(const std::string& pass, PassContext& context) {
  const at::Tensor words = context.Constant("table").index_select(0, context.batch().Column("words_" + pass));
  const at::Tensor y =
      context.Forward({context.Image("picture"), {.name = "tokens", .tensor = words, .key = ""}}, {"y"})
          .at("y");
  const RaggedColumn& targets = context.batch().Ragged("targets_" + pass);
  const at::Tensor picked = y.index({targets.item_row, targets.values});
  return {{"answer", (picked - targets.values.to(y.scalar_type()) * 0.1).pow(2).sum()},
          {"size", y.pow(2).sum()}};
}

inline Fixture Qa(const std::string& name, int passes) {
  return Fixture(QaInfo(name, passes),
                 {.sample = [passes](const RowRange& rows) { return QaRows(rows, passes); }, .run = QaPass});
}

// A chain and more: the third pass reads the pictures that the first and the second made.
inline Fixture Canvas() {
  TaskInfo info;
  info.name = "canvas";
  info.variants = {
      {.name = "default",
       .passes = {{.name = "first", .images = {"picture"}, .decodes_image = true, .carries = {"c1"}},
                  {.name = "second", .images = {"picture", "c1"}, .decodes_image = true, .carries = {"c2"}},
                  {.name = "third", .images = {"c1", "c2"}, .decodes_image = true, .carries = {}}},
       .terms = {{.name = "error", .weight = 2.0, .max_items = 3}}}};
  info.inputs = {"images"};
  info.outputs = {"image"};
  const auto sample = [](const RowRange& rows) {
    Batch batch(rows);
    batch.Add("picture", Bytes(rows, 1));
    batch.Add("target", Bytes(rows, 2));
    batch.SetItems("error", at::full({rows.count}, 3, at::kLong));
    return batch;
  };
  const auto run = [](const std::string& pass, PassContext& context) -> Sums {
    ModelInputs inputs;
    if (pass != "third") inputs.push_back(context.Image("picture"));
    if (pass != "first") inputs.push_back(context.Image("c1"));
    if (pass == "third") inputs.push_back(context.Image("c2"));
    const at::Tensor image = context.Forward(inputs, {"image"}).at("image");
    if (pass != "third") context.Carry(pass == "first" ? "c1" : "c2", image);
    return {{"error", (image - context.Pixels("target")).pow(2).sum()}};
  };
  return Fixture(std::move(info), {.sample = sample, .run = run});
}

using check::Distance;
using check::Gradient;
using check::TakeGradient;

inline Gradient Sum(const Gradient& a, const Gradient& b) {
  Gradient sum;
  for (std::size_t i = 0; i < a.size(); ++i) sum.push_back(a[i] + b[i]);
  return sum;
}

// The gradient of one draw.
inline Gradient DrawGradient(const Model& model, Fixture& fixture, const Batch& batch, Mode mode,
                             std::int64_t micro_rows = 0, StepLosses* losses = nullptr,
                             int recompute_every = 0) {
  ContractCheck check(model, at::kCPU);
  StepExecutor executor(model, at::kCPU, &check);
  const Execution plan{.way = {mode, recompute_every}, .micro_rows = micro_rows};
  StepLosses found = executor.Run({{.task = fixture.task.get(), .batch = &batch, .execution = &plan}});
  if (losses != nullptr) *losses = std::move(found);
  return TakeGradient(model);
}

// The same with an executor of the test, which may have a check.
inline Gradient DrawGradient(StepExecutor& executor, const Model& model, Fixture& fixture, const Batch& batch,
                             const Execution& plan) {
  executor.Run({{.task = fixture.task.get(), .batch = &batch, .execution = &plan}});
  return TakeGradient(model);
}

// Counts what ran, by task.
struct PassCounter final : StepObserver {
  void PassRan(const PassRun& run) override {
    ++forwards[run.task];
    tokens[run.task] += run.tokens;
  }

  std::map<std::string, std::int64_t> forwards, tokens;
};

// What the passes saved for their backwards: by pass, as often as it ran with a graph.
struct SavedBytesMeter final : StepObserver {
  bool WantsSavedBytes() const override { return true; }
  void PassRan(const PassRun& run) override {
    if (run.saved) saved[run.task][run.pass].push_back(*run.saved);
  }

  std::map<std::string, std::map<std::string, std::vector<std::int64_t>>> saved;
};

// Of the terms that had items.
inline double WeightedLoss(const StepLosses& losses) {
  double total = 0;
  for (const auto& [task, terms] : losses) {
    for (const auto& [term, loss] : terms) total += loss.weighted().value_or(0);
  }
  return total;
}

inline ::testing::AssertionResult SameBits(const Gradient& got, const Gradient& expected) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!at::equal(got[i], expected[i]))
      return ::testing::AssertionFailure() << "parameter " << i << " differs";
  }
  return ::testing::AssertionSuccess();
}

// The message of the exception that fn throws.
template <typename E = Error, typename Fn>
std::string MessageOf(const Fn& fn) {
  try {
    fn();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Does the message hold all these parts?
inline ::testing::AssertionResult Says(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (message.find(part) == std::string::npos) {
      return ::testing::AssertionFailure() << "\"" << part << "\" is not in: " << message;
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace medley::testing_fixture
