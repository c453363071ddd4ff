#pragma once

// Four small tasks that are right (a regression, classes, a text, a picture with a carry), and ways to make
// each of them wrong: what a check of sums and gradients has to find.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <medley/step/step_executor.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/step/executor_fixture.h"

namespace medley::planted {

using testing_fixture::Fixture;
using testing_fixture::Script;

constexpr std::int64_t kIn = 6, kValues = 3, kClasses = 5, kWidth = 8, kWords = 7, kSide = 4, kWide = 16;

inline constexpr ModelSpec kModelSpec{
    .name = "planted_net",
    .sizes = {{.name = "images"}, {.name = "text_width"}},
    .inputs = {{.name = "x", .dimensions = {"rows", "6"}},
               {.name = "images", .dimensions = {"rows", "3", "4", "4"}, .times = "images"}},
    .outputs = {{.name = "values", .dimensions = {"rows", "3"}},
                {.name = "logits", .dimensions = {"rows", "5"}},
                {.name = "words", .dimensions = {"rows", "8", "7"}},
                {.name = "image", .dimensions = {"rows", "3", "4", "4"}}}};

// Two layers in front of each output. `has_rates`: its values are above 0.
class Net final : public Model {
 public:
  explicit Net(std::uint64_t seed, bool has_rates = false) : Model(kModelSpec), has_rates_(has_rates) {
    at::Generator generator = at::detail::createCPUGenerator(seed);
    const auto add = [&](const std::string& name, std::int64_t in, std::int64_t out) {
      const at::Tensor values = at::empty({in, out}).normal_(0, 1 / std::sqrt(in), generator);
      parameters_.push_back({name, values.set_requires_grad(true)});
    };
    add("x", kIn, kWide), add("images", 3 * kSide * kSide, kWide);
    add("values", kWide, kValues), add("logits", kWide, kClasses);
    add("words", kWide, kWidth * kWords), add("image", kWide, 3 * kSide * kSide);
  }

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext&) const override {
    at::Tensor hidden;
    for (const ModelInput& input : inputs) {
      const at::Tensor part =
          at::mm(input.tensor.flatten(1).to(Of(input.name).scalar_type()), Of(input.name));
      hidden = hidden.defined() ? hidden + part : part;
    }
    hidden = at::tanh(hidden);
    ModelOutputs outputs;
    for (const std::string_view name : wanted) {
      const at::Tensor made = at::mm(hidden, Of(name));
      outputs[std::string(name)] = name == "words"   ? made.view({-1, kWidth, kWords})
                                   : name == "image" ? at::sigmoid(made).view({-1, 3, kSide, kSide})
                                   : has_rates_      ? at::softplus(made) * 4
                                                     : made;
    }
    return outputs;
  }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  void To(at::Device, at::ScalarType dtype) override {
    for (Parameter& parameter : parameters_)
      parameter.tensor = parameter.tensor.detach().to(dtype).set_requires_grad(true);
  }

 private:
  const at::Tensor& Of(std::string_view name) const {
    for (const Parameter& parameter : parameters_) {
      if (parameter.name == name) return parameter.tensor;
    }
    throw Error("no such layer");
  }
  std::vector<Parameter> parameters_;
  bool has_rates_;
};

enum class Kind { kRegression, kClasses, kText, kPicture };
inline constexpr Kind kKinds[] = {Kind::kRegression, Kind::kClasses, Kind::kText, Kind::kPicture};
inline std::string NameOf(Kind kind) {
  constexpr const char* kNames[] = {"regression", "classes", "text", "picture"};
  return kNames[static_cast<int>(kind)];
}

// What a loss is made of, whatever the kind of task.
struct Parts {
  Kind kind;
  PassContext& context;
  at::Tensor output;  // of the model, rows first

  std::int64_t rows() const { return context.batch().size(); }
  at::Tensor Target() const {
    if (kind == Kind::kPicture) return context.Pixels("target").to(output.scalar_type());
    return context.batch().Column("target");
  }
  at::Tensor Weights() const { return context.batch().Column("weight").to(output.scalar_type()); }
  at::Tensor Lengths() const { return context.batch().Column("lengths"); }
  // [rows, positions]: where something is learned.
  at::Tensor Mask() const { return at::arange(kWidth).lt(Lengths().unsqueeze(1)); }
  // [rows]: the right loss of each row.
  at::Tensor Losses(const at::Tensor& output, const at::Tensor& target) const {
    switch (kind) {
      case Kind::kRegression:
        return (output - target).square().mean(1);
      case Kind::kClasses:
        return at::log_softmax(output, 1).gather(1, target.unsqueeze(1)).squeeze(1).neg();
      case Kind::kText:
        return (Nll(output, target) * Mask()).sum(1);
      case Kind::kPicture:
        return (output - target).square().mean({1, 2, 3});
    }
    return {};
  }
  // Of each position.
  static at::Tensor Nll(const at::Tensor& output, const at::Tensor& target) {
    return at::log_softmax(output, 2).gather(2, target.unsqueeze(2)).squeeze(2).neg();
  }
  at::Tensor Losses() const { return Losses(output, Target()); }
};

// A way to be wrong. What is not given is right.
struct Plant {
  std::string name;
  std::vector<Kind> kinds{std::begin(kKinds), std::end(kKinds)};
  std::function<at::Tensor(const Parts&)> loss = [](const Parts& parts) { return parts.Losses().sum(); };
  std::function<at::Tensor(const at::Tensor& x)> handed = [](const at::Tensor& x) { return x; };
  std::function<at::Tensor(const at::Tensor& made)> carried = [](const at::Tensor& made) { return made; };
  std::function<void(Batch&)> count{};
  std::function<Batch(const RowRange&, Batch)> rows{};  // of what is right, what it gives
  std::function<void(TaskInfo&)> spec{};
  bool needs_unlike_rows = false;  // which three neighbours need not be
};

inline TaskInfo InfoOf(Kind kind) {
  TaskInfo info;
  info.name = NameOf(kind);
  VariantInfo variant{.name = "default", .passes = {}, .terms = {{.name = "loss", .max_items = kWidth}}};
  if (kind == Kind::kPicture) {
    variant.passes = {{.name = "first", .images = {}, .decodes_image = true, .carries = {"canvas"}},
                      {.name = "second", .images = {"canvas"}, .decodes_image = true, .carries = {}}};
  } else {
    variant.passes = {{.name = "main", .images = {}, .carries = {}}};
  }
  info.variants = {variant};
  info.inputs =
      kind == Kind::kPicture ? std::vector<std::string>{"x", "images"} : std::vector<std::string>{"x"};
  info.outputs = {kind == Kind::kRegression ? "values"
                  : kind == Kind::kClasses  ? "logits"
                  : kind == Kind::kText     ? "words"
                                            : "image"};
  return info;
}

inline at::Tensor Made(const RowRange& rows, std::uint64_t stream, at::IntArrayRef shape, double below = 0) {
  std::vector<at::Tensor> all;
  for (std::int64_t row = 0; row < rows.count; ++row) {
    RowRandom random = rows.Random(rows.begin + row, stream);
    at::Tensor one = at::empty(shape, below > 0 ? at::kLong : at::kFloat).flatten();
    for (std::int64_t i = 0; i < one.numel(); ++i)
      below > 0 ? one[i].fill_(random.Below(static_cast<std::int64_t>(below)))
                : one[i].fill_(random.Uniform(-1, 1));
    all.push_back(one.view(shape));
  }
  return at::stack(all);
}

inline Batch RowsOf(Kind kind, const Plant& plant, const RowRange& rows) {
  Batch batch(rows);
  batch.Add("x", Made(rows, 1, {kIn}));
  batch.Add("weight", Made(rows, 2, {}).abs() + 0.5);
  at::Tensor lengths = 2 + Made(rows, 3, {}, kWidth - 1);
  if (rows.longest) lengths.fill_(kWidth);
  batch.Add("lengths", lengths);
  if (kind == Kind::kRegression) batch.Add("target", Made(rows, 4, {kValues}));
  if (kind == Kind::kClasses) batch.Add("target", Made(rows, 4, {}, kClasses));
  if (kind == Kind::kText) batch.Add("target", Made(rows, 4, {kWidth}, kWords));
  if (kind == Kind::kPicture) batch.Add("target", Made(rows, 4, {3, kSide, kSide}, 256).to(at::kByte));
  if (plant.count)
    plant.count(batch);
  else if (kind == Kind::kText)
    batch.SetItems("loss", lengths);
  else
    batch.SetItems("loss", at::full({rows.count}, kind == Kind::kPicture ? 2 : 1, at::kLong));
  return batch;
}

inline Script ScriptOf(Kind kind, const Plant& plant) {
  const auto run = [kind, plant](const std::string& pass, PassContext& context) -> Sums {
    const std::string output = InfoOf(kind).outputs.front();
    ModelInputs inputs{{.name = "x", .tensor = plant.handed(context.batch().Column("x")), .key = ""}};
    if (pass == "second") inputs.push_back(context.Image("canvas"));
    const Parts parts{kind, context, context.Forward(inputs, {output}).at(output)};
    if (pass == "first") context.Carry("canvas", plant.carried(parts.output));
    return {{"loss", plant.loss(parts)}};
  };
  const auto sample = [kind, plant](const RowRange& rows) {
    Batch batch = RowsOf(kind, plant, rows);
    return plant.rows ? plant.rows(rows, std::move(batch)) : std::move(batch);
  };
  return {.sample = sample, .run = run};
}

inline Fixture TaskOf(Kind kind, const Plant& plant) {
  TaskInfo info = InfoOf(kind);
  if (plant.spec) plant.spec(info);
  return Fixture(std::move(info), ScriptOf(kind, plant));
}

// A task whose mistake keeps something: each instance begins with a plant of its own.
inline Fixture InstancesOf(Kind kind, const std::function<Plant()>& make) {
  Fixture fixture = TaskOf(kind, make());
  const auto again = [kind, make] {
    return std::make_unique<testing_fixture::ScriptedTask>(ScriptOf(kind, make()));
  };
  fixture.task = std::make_unique<LoadedTask>(*fixture.info, fixture.info->variants.front(), "fixture",
                                              again(), false, again);
  return fixture;
}

}  // namespace medley::planted
