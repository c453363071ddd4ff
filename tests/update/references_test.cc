#include <gtest/gtest.h>
#include <medley/model/parameter_names.h>
#include <medley/update/references.h>

#include <cmath>
#include <numbers>

#include "tests/update/optimizer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

// Five parameters, of which a test may freeze some.
struct Referring {
  explicit Referring(at::ScalarType dtype = at::kFloat, const std::string& frozen = "bias")
      : model(Matrices(dtype)), optimizer(model, Freezing(frozen)) {
    for (const Parameter& parameter : model.parameters()) {
      if (parameter.tensor.requires_grad()) trained.insert(parameter.name);
    }
  }
  static OptimizerConfig Freezing(const std::string& frozen) {
    OptimizerConfig config = WithMuon();
    config.groups.push_back({.match = frozen, .frozen = true});
    return config;
  }
  References Asking(const ReferencesConfig& config) const {
    std::set<std::string> asked = {"start"};
    for (const auto& [name, reference] : config) asked.insert(name);
    return References(model, &optimizer.weights(), trained, config, asked, Further());
  }
  FurtherModel Further() const {
    return [this] {
      auto further = std::make_unique<ListedModel>(Matrices(FloatTypeOf(model)));
      for (const Parameter& parameter : further->parameters())
        at::Tensor(parameter.tensor).set_data(at::zeros({}).expand(parameter.tensor.sizes()));
      return further;
    };
  }
  void Step(int step) {
    SetGradients(model, step);
    for (const Parameter& parameter : model.parameters()) {
      if (!parameter.tensor.requires_grad()) at::Tensor(parameter.tensor).mutable_grad().reset();
    }
    optimizer.Step(0.02);
  }
  at::Tensor Master(const std::string& name) const { return TensorNamed(optimizer.weights().list(), name); }

  ListedModel model;
  Optimizer optimizer;
  std::set<std::string> trained;
};

at::Tensor Of(const References& references, const std::string& name, const std::string& parameter) {
  return TensorNamed(references.Of(name).parameters(), parameter);
}

TEST(References, StartStaysWhatItWasAndSharesWhatIsFrozen) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    Referring run(dtype);
    References references = run.Asking({});
    for (const Parameter& parameter : run.model.parameters()) parameter.tensor.detach().add_(1);  // init_from
    references.Begin();
    const auto before = Copies(run.model.parameters());
    for (int step = 1; step <= 20; ++step) {
      run.Step(step);
      references.Updated(step, 20);
    }
    std::int64_t own = 0;
    for (const Parameter& parameter : run.model.parameters()) {
      const at::Tensor start = Of(references, "start", parameter.name);
      EXPECT_TRUE(at::equal(start, before.at(parameter.name))) << parameter.name;
      EXPECT_FALSE(start.requires_grad());
      EXPECT_EQ(start.scalar_type(), dtype);
      const bool is_frozen = parameter.name == "bias";
      EXPECT_EQ(start.const_data_ptr() == parameter.tensor.const_data_ptr(), is_frozen) << parameter.name;
      EXPECT_EQ(at::equal(start, parameter.tensor), is_frozen) << parameter.name;
      if (!is_frozen) own += static_cast<std::int64_t>(start.nbytes());
    }
    EXPECT_EQ(references.Bytes(), own + run.model.TableBytes());
    EXPECT_EQ(references.Bytes(), ReferenceBytes(run.model, run.trained, {}, {"start"}));
    EXPECT_TRUE(references.State().empty()) << "no checkpoint has it";
  }
}

TEST(References, AnAverageIsThatOfALoop) {
  constexpr int kSteps = 12;
  const ReferencesConfig config = {{"slow", {.of = "average", .decay = 0.9, .to = 1.0}},
                                   {"plain", {.of = "average", .decay = 0.5}},
                                   {"copy", {.of = "average", .decay = 0, .every = 5}}};
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    Referring run(dtype);
    References references = run.Asking(config);
    references.Begin();
    std::map<std::string, std::map<std::string, at::Tensor>> expected;
    for (const auto& [name, reference] : config) expected[name] = Copies(run.optimizer.weights().list());
    for (int step = 1; step <= kSteps; ++step) {
      run.Step(step);
      references.Updated(step, kSteps);
      for (const std::string& name : run.trained) {
        const at::Tensor now = run.Master(name).detach();
        const double slow = 1 - 0.1 * (1 + std::cos(std::numbers::pi * step / kSteps)) / 2;
        at::Tensor& average = expected["slow"][name];
        average = slow * average + (1 - slow) * now;
        expected["plain"][name] = 0.5 * expected["plain"][name] + 0.5 * now;
        if (step % 5 == 0) expected["copy"][name] = now.clone();
      }
    }
    std::map<std::string, at::Tensor> state;
    for (const Parameter& average : references.State()) state[average.name] = average.tensor;
    EXPECT_EQ(state.size(), 3 * run.trained.size());
    for (const auto& [reference, parameters] : expected) {
      for (const std::string& name : run.trained) {
        const at::Tensor average = state.at(name + ".reference." + reference);
        EXPECT_EQ(average.scalar_type(), at::kFloat);
        EXPECT_TRUE(at::allclose(average, parameters.at(name), 0, 1e-6)) << reference << " " << name;
        EXPECT_TRUE(at::equal(Of(references, reference, name), average.to(dtype)))
            << reference << " " << name;
      }
    }
    std::int64_t numbers = 0;
    for (const std::string& name : run.trained) numbers += run.Master(name).numel();
    const std::int64_t each = dtype == at::kFloat ? 4 : 6, start = dtype == at::kFloat ? 4 : 2;
    EXPECT_EQ(references.Bytes() - 4 * run.model.TableBytes(), numbers * (3 * each + start));
  }
}

// Written to as a resume does it.
TEST(References, AverageGoesOnFromWhatACheckpointHad) {
  const ReferencesConfig config = {{"slow", {.of = "average", .decay = 0.9}}};
  Referring straight(at::kBFloat16), resumed(at::kBFloat16);
  References all = straight.Asking(config), part = resumed.Asking(config);
  all.Begin();
  for (int step = 1; step <= 4; ++step) straight.Step(step), all.Updated(step, 8);
  for (int step = 1; step <= 4; ++step) resumed.Step(step);
  const auto saved = Copies(all.State());
  for (const Parameter& average : part.State()) at::Tensor(average.tensor).copy_(saved.at(average.name));
  part.Restore("start", Copies(all.Kept("start")), resumed.Further());
  part.Round();
  for (int step = 5; step <= 8; ++step) {
    straight.Step(step), all.Updated(step, 8);
    resumed.Step(step), part.Updated(step, 8);
  }
  for (const char* name : {"start", "slow"}) {
    for (const Parameter& parameter : straight.model.parameters())
      EXPECT_TRUE(at::equal(Of(all, name, parameter.name), Of(part, name, parameter.name))) << name;
  }
}

TEST(References, AnotherRunsAreSharedWhereTheyAreTheModelsToTheByte) {
  Referring run;
  References references = run.Asking({{"teacher", {.of = "run", .run = "runs/a"}}});
  std::vector<Parameter> weights;
  for (const Parameter& parameter : run.model.parameters()) {
    at::Tensor values = parameter.tensor.detach().clone();
    if (parameter.name != "bias") values.add_(2);
    weights.push_back({.name = parameter.name, .tensor = values});
  }
  references.Take("teacher", weights, run.Further());
  references.Begin();
  EXPECT_EQ(references.Kept("teacher").size(), run.trained.size());
  for (const Parameter& weight : weights)
    EXPECT_TRUE(at::equal(Of(references, "teacher", weight.name), weight.tensor)) << weight.name;
  EXPECT_EQ(Of(references, "teacher", "bias").const_data_ptr(),
            TensorNamed(run.model.parameters(), "bias").const_data_ptr());
  EXPECT_EQ(references.fixed(), (std::vector<std::string>{"start", "teacher"}));
}

TEST(References, NamesWhatIsThereAndWhatWasFrozen) {
  Referring run;
  References references = run.Asking({});
  references.Begin();
  try {
    references.Of("target");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no reference 'target'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("start"), std::string::npos);
  }
  Referring frozen(at::kFloat, "tall");
  const auto kept = [&] {
    References other = frozen.Asking({});
    other.Begin();
    return Copies(other.Kept("start"));
  }();
  try {
    references.Restore("start", kept, run.Further());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "the reference 'start' was kept without 'tall', which was frozen, and is trained now; begin a "
              "new run with init_from");
  }
}

}  // namespace
}  // namespace medley
